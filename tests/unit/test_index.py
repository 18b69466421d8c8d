"""The index finds passages, knows how rare words are, and survives being saved by many."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nodes.material import Document
from nodes.tools.index import CorpusIndex, merge_results, search_texts
from nodes.tools.passages import Readable

TEXTS = {
    "port.html": ("Connections", "# port\n\nThe server listens on 5432.\n"),
    "memory.html": ("Memory", "# shared_buffers\n\nA quarter of the memory is a good start.\n"),
    "both.html": ("Overview", "The server needs memory. More memory is better.\n"),
}


def documents() -> Iterator[tuple[Document, str]]:
    for uri, (title, text) in TEXTS.items():
        yield Document(uri, title, f"bytes:{uri}", f"text:{uri}", "test 1"), text


def found(index: CorpusIndex, query: str) -> list[str]:
    return [hit.uri for hit in index.search(query, 10).hits]


def test_words_of_text_title_and_heading_find_a_passage() -> None:
    index = CorpusIndex.build(documents())
    assert found(index, "listens") == ["port.html"]
    assert found(index, "connections") == ["port.html"]
    assert found(index, "shared_buffers") == ["memory.html"]


def test_a_hit_says_where_in_the_text_it_stands() -> None:
    hit = CorpusIndex.build(documents()).search("5432", 1).hits[0]
    assert TEXTS["port.html"][1][hit.start : hit.end] == "The server listens on 5432."
    assert hit.title == "Connections › port"


def test_rare_terms_weigh_more_and_unknown_ones_are_missing() -> None:
    result = CorpusIndex.build(documents()).search("memory quarter zebra", 5)
    assert 0 < result.rarity["memori"] < result.rarity["quarter"] < result.rarity["zebra"] == 1.0
    assert result.missing == ("zebra",)


def test_a_saved_index_answers_as_before(tmp_path: Path) -> None:
    index = CorpusIndex.build(documents())
    index.save(tmp_path / "index")
    loaded = CorpusIndex.load(tmp_path / "index")
    for query in ("memory server", "5432", "nothing"):
        assert loaded.search(query, 5) == index.search(query, 5)


def test_saving_at_once_leaves_one_whole_index_and_nothing_else(tmp_path: Path) -> None:
    index = CorpusIndex.build(documents())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: index.save(tmp_path / "index"), range(8)))
    assert [entry.name for entry in tmp_path.iterdir()] == ["index"]
    assert found(CorpusIndex.load(tmp_path / "index"), "5432") == ["port.html"]


def test_loading_what_nobody_saved_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        CorpusIndex.load(tmp_path / "index")


@pytest.mark.parametrize("texts", [[], [""], ["..."], ["the of and"], ["One sentence."]])
def test_tiny_and_empty_corpora_are_searched_without_harm(texts: list[str], tmp_path: Path) -> None:
    made = [(Document(f"{n}", "", "", f"text:{n}", ""), text) for n, text in enumerate(texts)]
    index = CorpusIndex.build(made)
    index.save(tmp_path / "index")
    for known in (index, CorpusIndex.load(tmp_path / "index")):
        assert found(known, "sentence") == (["0"] if texts == ["One sentence."] else [])
        assert found(known, "") == []


def test_equal_scores_keep_the_order_of_the_corpus() -> None:
    made = [(Document(f"{n:03}", "", "", "", ""), "Same words here.") for n in range(50)]
    assert found(CorpusIndex.build(made), "same words") == [f"{n:03}" for n in range(10)]


def test_other_scripts_are_found() -> None:
    made = [
        (Document("ar", "", "", "", ""), "قاعدة البيانات سريعة."),
        (Document("zh", "", "", "", ""), "数据库很快。"),
    ]
    index = CorpusIndex.build(made)
    assert found(index, "البيانات") == ["ar"]
    assert found(index, "数据库") == ["zh"]


def test_fetched_texts_are_searched_without_an_index() -> None:
    readable = [Readable(document, text) for document, text in documents()]
    result = search_texts(readable, ["listens port", "5432"], 3)
    assert (result.hits[0].uri, result.hits[0].start is not None) == ("port.html", True)
    assert merge_results([], 3).hits == ()
