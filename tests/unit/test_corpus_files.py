"""Finding documents and reading their bytes, however odd the files are."""

import os
import socket
from pathlib import Path

import pytest

from graph.runs import located
from nodes.tools.corpus_files import PYDOC_TOPICS, CorpusEmpty, CorpusMissing, find, uri_of
from nodes.tools.documents import DOCUMENT_BYTES_MAX, HTML, PDF, RST, Unreadable


def write(path: Path, content: bytes = b"words") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def uris(*paths: Path | str) -> list[str]:
    return [found.uri for found in find([str(path) for path in paths])[0]]


def reasons(*paths: Path | str) -> dict[str, str]:
    return {skipped.uri: skipped.reason for skipped in find([str(path) for path in paths])[1]}


def refusal(path: Path) -> str:
    (found,) = find([str(path)])[0]
    with pytest.raises(Unreadable) as refused:
        found.read()
    return refused.value.reason


def test_paths_keep_their_order_and_folders_are_sorted(tmp_path: Path) -> None:
    for name in ("b/z.md", "b/a/x.txt", "b/B.HTML", "a.rst"):
        write(tmp_path / name)
    expected = [tmp_path / name for name in ("b/B.HTML", "b/z.md", "b/a/x.txt", "a.rst")]
    assert uris(tmp_path / "b", tmp_path / "a.rst") == [uri_of(path) for path in expected]


def test_a_document_is_listed_once_however_it_is_reached(tmp_path: Path) -> None:
    page = write(tmp_path / "a.html")
    assert uris(page, tmp_path, tmp_path / ".." / tmp_path.name, page) == [uri_of(page)]
    assert reasons(page, tmp_path, tmp_path) == {}


def test_what_is_not_read_in_a_folder_is_counted_once_per_kind(tmp_path: Path) -> None:
    for name in (
        "a.png",
        "b/c.PNG",
        "b/README",
        "d.tar.gz",
        ".git/x.txt",
        "e.weird name",
        "a.html",
    ):
        write(tmp_path / name)
    found, skipped = find([str(tmp_path)])
    assert [each.uri for each in found] == [uri_of(tmp_path / "a.html")]
    assert [(each.uri, each.reason) for each in skipped] == [
        (uri_of(tmp_path), "1 entry of kind .gz: not read"),
        (uri_of(tmp_path), "2 entries of kind .png: not read"),
        (uri_of(tmp_path), "1 entry of kind hidden: not read"),
        (uri_of(tmp_path), "2 entries of kind without suffix: not read"),
    ]


@pytest.mark.parametrize(("content", "media_type"), [(b"%PDF-1.7 ...", PDF), (b"<html>...", HTML)])
def test_a_file_that_is_named_itself_is_read_by_its_content(
    tmp_path: Path, content: bytes, media_type: str
) -> None:
    (found,) = find([str(write(tmp_path / "README", content))])[0]
    assert found.read() == (content, media_type)


def test_a_link_back_to_its_folder_ends_the_walk_there(tmp_path: Path) -> None:
    write(tmp_path / "a" / "x.html")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "self.html").symlink_to("self.html")
    assert uris(tmp_path) == [uri_of(tmp_path / "a" / "x.html")]
    assert reasons(tmp_path) == {
        uri_of(tmp_path / "a" / "loop"): f"the same folder is read as {uri_of(tmp_path)}",
        uri_of(tmp_path / "self.html"): "it cannot be read (too many levels of symbolic links)",
    }


def test_a_folder_with_two_names_is_read_under_its_real_one(tmp_path: Path) -> None:
    page = write(tmp_path / "real" / "deep" / "x.html")
    (tmp_path / "alias").symlink_to(page.parent)
    assert uris(tmp_path) == [uri_of(page)]
    assert list(reasons(tmp_path)) == [uri_of(tmp_path / "alias")]


def test_a_dangling_link_is_skipped_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "gone.html").symlink_to(tmp_path / "nowhere")
    (tmp_path / "gone.js").symlink_to(tmp_path / "nowhere")
    assert reasons(tmp_path) == {
        uri_of(tmp_path / "gone.html"): "it cannot be read (no such file or directory)",
        uri_of(tmp_path): "1 entry of kind .js: not read",
    }


def test_the_copies_of_sources_that_sphinx_makes_are_left_out(tmp_path: Path) -> None:
    for name in ("_sources/a.rst.txt", "_static/x.css", "a.html", "b/_sources/own.txt"):
        write(tmp_path / name)
    sources = tmp_path / "_sources"
    assert uris(tmp_path) == [uri_of(tmp_path / "a.html"), uri_of(tmp_path / "b/_sources/own.txt")]
    assert "beside it" in reasons(tmp_path)[uri_of(sources)]
    assert uris(sources) == [uri_of(sources / "a.rst.txt")]


def test_a_folder_that_is_called_like_a_page_is_a_folder(tmp_path: Path) -> None:
    page = write(tmp_path / "manual.html" / "index.html")
    assert uris(tmp_path) == [uri_of(page)]


def test_special_files_are_refused_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.txt")
    assert refusal(tmp_path / "fifo.txt") == "it is not a regular file"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.txt"))
        assert refusal(tmp_path / "s.txt") == "it cannot be read (no such device or address)"
    assert refusal(Path("/dev/zero")) == "it is not a regular file"


def test_a_file_over_the_limit_is_refused_without_being_read(tmp_path: Path) -> None:
    """The file is sparse: reading 200 GB of it would not end within this test."""
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(200 * 1024**3)
    assert DOCUMENT_BYTES_MAX < 200 * 1024**3
    assert refusal(tmp_path / "large.txt") == "it is larger than 64 MB"


def test_a_file_that_changes_while_it_is_read_is_refused() -> None:
    """This one has another length than it says whenever it is read."""
    assert refusal(Path("/proc/self/status")) == "it changed while it was read"


def test_a_file_that_is_gone_since_it_was_found_is_refused(tmp_path: Path) -> None:
    (found,) = find([str(write(tmp_path / "a.txt"))])[0]
    (tmp_path / "a.txt").unlink()
    with pytest.raises(Unreadable, match="no such file"):
        found.read()


def test_a_name_that_is_not_utf8_has_an_exact_uri(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 100%.txt")
    write(tmp_path / name)
    (found,) = find([str(tmp_path)])[0]
    assert found.uri == f"{uri_of(tmp_path)}/caf%E9%20100%25.txt"
    assert found.name == "caf� 100%.txt"
    assert found.read()[0] == b"words"


@pytest.mark.parametrize("path", ["/nowhere/at/all", "", "a\0b", "x" * 5000])
def test_a_path_that_does_not_exist_is_an_error(path: str) -> None:
    with pytest.raises(CorpusMissing) as missing:
        find([path])
    assert missing.value.path == path


def test_the_language_reference_is_a_corpus() -> None:
    found, skipped = find([PYDOC_TOPICS, PYDOC_TOPICS])
    assert len(found) == len({each.uri for each in found}) > 70
    assert not skipped
    asserts = next(each for each in found if each.uri == "pydoc:topics#assert")
    content, media_type = asserts.read()
    assert content.startswith(b'The "assert" statement\n')
    assert media_type == RST


def test_an_empty_corpus_says_what_is_read_and_what_was_skipped(tmp_path: Path) -> None:
    write(tmp_path / "a.png")
    message = str(CorpusEmpty(find([str(tmp_path)])[1]))
    assert ".html" in message
    assert "1 entry of kind .png" in message


def test_an_empty_path_is_not_the_working_folder() -> None:
    """A variable that is not set on a command line must not have everything read."""
    with pytest.raises(CorpusMissing):
        located([""])
