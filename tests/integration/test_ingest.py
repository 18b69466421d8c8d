"""A corpus from files to manifest: what is kept, what is not read again, what is skipped."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from ledger.documents import Extraction, NewExtraction
from nodes.material import Skipped
from nodes.tools.corpus_files import PYDOC_TOPICS, CorpusEmpty, CorpusMissing, uri_of
from nodes.tools.documents import artifact_of
from nodes.tools.ingest import ingest
from nodes.tools.manifest import Manifest
from tests.support.memory_store import MemoryStore
from tests.support.readers import readers
from tests.support.sample_documents import page, pdf, scanned_pdf


class Shown:
    """A progress that remembers, and runs what it is given at a document."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int, str]] = []

    def __call__(self, done: int, total: int, uri: str) -> None:
        self.seen.append((done, total, uri))


async def ingested(store: MemoryStore, *paths: Path | str) -> Manifest:
    return await ingest([str(path) for path in paths], store, Shown(), workers=1)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.html").write_bytes(page("<h1>Alpha</h1><p>The first document.</p>", title="A"))
    (folder / "b.pdf").write_bytes(pdf("The second document.", title="B"))
    (folder / "c.md").write_bytes(b"Words without a heading.")
    (folder / "sub" / "copy.html").write_bytes((folder / "a.html").read_bytes())
    (folder / "sub" / "scan.pdf").write_bytes(scanned_pdf())
    (folder / "sub" / "secret.pdf").write_bytes(pdf("x", password="x"))
    (folder / "sub" / "empty.txt").write_bytes(b"")
    (folder / "sub" / "photo.png").write_bytes(b"\x89PNG")
    return folder


async def test_documents_are_kept_with_their_bytes_and_text(corpus: Path) -> None:
    store = MemoryStore()
    manifest = await ingested(store, corpus)
    assert [(document.uri, document.title) for document in manifest.documents] == [
        (uri_of(corpus / "a.html"), "A"),
        (uri_of(corpus / "b.pdf"), "B"),
        (uri_of(corpus / "c.md"), "c.md"),
        (uri_of(corpus / "sub" / "copy.html"), "A"),
    ]
    first, *_, copy = manifest.documents
    assert store.artifacts[first.content_artifact] == (corpus / "a.html").read_bytes()
    assert store.artifacts[first.text_artifact] == b"# Alpha\n\nThe first document."
    assert (copy.content_artifact, copy.text_artifact) == (
        first.content_artifact,
        first.text_artifact,
    )
    assert sum(store.batches) == 6


async def test_what_cannot_be_read_is_listed_with_its_reason(corpus: Path) -> None:
    manifest = await ingested(MemoryStore(), corpus)
    assert manifest.skipped == (
        Skipped(uri_of(corpus), "1 entry of kind .png: not read"),
        Skipped(uri_of(corpus / "sub" / "empty.txt"), "it is empty"),
        Skipped(
            uri_of(corpus / "sub" / "scan.pdf"),
            "the PDF has no text, only images; run OCR on it and add the result",
        ),
        Skipped(
            uri_of(corpus / "sub" / "secret.pdf"),
            "the PDF is encrypted; add a copy that was saved without a password",
        ),
    )


async def test_a_second_run_reads_nothing_again_and_starts_no_worker(corpus: Path) -> None:
    """Refusals are remembered too."""
    store = MemoryStore()
    first = await ingested(store, corpus)
    batches = list(store.batches)
    started: set[int] = set()

    def watch(done: int, total: int, uri: str) -> None:
        started.update(child.pid for child in readers())

    second = await ingest([str(corpus)], store, watch, workers=1)
    assert second.to_json() == first.to_json()
    assert store.batches == batches
    assert not started


async def test_only_a_changed_document_is_read_again(corpus: Path) -> None:
    store = MemoryStore()
    first = await ingested(store, corpus)
    (corpus / "c.md").write_bytes(b"Other words.")
    second = await ingested(store, corpus)
    assert store.batches[-1] == 1
    assert second.digest != first.digest
    assert second.documents[:2] == first.documents[:2]


async def test_the_manifest_is_the_same_whatever_was_known_before(corpus: Path) -> None:
    fresh, partly = MemoryStore(), MemoryStore()
    await ingested(partly, corpus / "sub" / "copy.html")
    assert (await ingested(fresh, corpus)).digest == (await ingested(partly, corpus)).digest


async def test_a_manifest_comes_back_from_its_json(corpus: Path) -> None:
    manifest = await ingested(MemoryStore(), corpus)
    assert Manifest.from_json(manifest.to_json()) == manifest
    assert manifest.digest == artifact_of(manifest.to_json())


async def test_progress_counts_every_document_once(corpus: Path) -> None:
    shown = Shown()
    await ingest([str(corpus)], MemoryStore(), shown, workers=2)
    assert [done for done, _, _ in shown.seen] == [1, 2, 3, 4, 5, 6, 7]
    assert {total for _, total, _ in shown.seen} == {7}
    assert len({uri for _, _, uri in shown.seen}) == 7


async def test_the_language_reference_inside_python_is_ingested() -> None:
    store = MemoryStore()
    manifest = await ingested(store, PYDOC_TOPICS)
    document = next(each for each in manifest.documents if each.uri == "pydoc:topics#assert")
    assert document.title == 'The "assert" statement'
    assert store.artifacts[document.text_artifact].startswith(b'# The "assert" statement\n\n')


async def test_a_missing_corpus_is_an_error_before_anything_is_read(corpus: Path) -> None:
    store = MemoryStore()
    with pytest.raises(CorpusMissing):
        await ingested(store, corpus, corpus / "nowhere")
    assert not store.batches


async def test_a_corpus_without_a_readable_document_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusEmpty):
        await ingested(MemoryStore(), tmp_path)
    (tmp_path / "empty.txt").write_bytes(b"")
    with pytest.raises(CorpusEmpty, match="it is empty"):
        await ingested(MemoryStore(), tmp_path)


class FullStore(MemoryStore):
    """A store whose disk is full."""

    @override
    async def keep(self, batch: Sequence[NewExtraction]) -> list[Extraction]:
        raise OSError(28, "No space left on device")


async def test_an_error_of_the_store_ends_the_ingest_and_its_workers(corpus: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        await ingested(FullStore(), corpus)
    assert readers() == []


class StoppingStore(MemoryStore):
    """A store that says when it has kept something."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = asyncio.Event()

    @override
    async def keep(self, batch: Sequence[NewExtraction]) -> list[Extraction]:
        extractions = await super().keep(batch)
        self.kept.set()
        return extractions


async def test_a_cancelled_ingest_keeps_what_it_kept_and_leaves_no_worker(tmp_path: Path) -> None:
    for number in range(400):
        (tmp_path / f"{number}.html").write_bytes(page(f"<h1>{number}</h1><p>Some words.</p>"))
    store = StoppingStore()
    running: asyncio.Task[Any] = asyncio.create_task(
        ingest([str(tmp_path)], store, Shown(), workers=2)
    )
    await store.kept.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert readers() == []
    kept = len(store.extractions)
    assert 0 < kept < 400
    assert len((await ingested(store, tmp_path)).documents) == 400
    assert sum(store.batches) == 400
