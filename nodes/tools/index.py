"""A corpus made searchable: BM25 over passages, with the titles and headings of each counted in.

Holds positions and addresses, never the texts. Given the same documents in the same order it is the same index, and
equal scores keep the order of the corpus. A saved index is read through memory maps, so that many processes share one.
"""

import json
import math
import os
import shutil
import tempfile
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import bm25s
import numpy as np
from bm25s.tokenization import Tokenized
from numpy.typing import NDArray

from nodes.material import Document, Hit, SearchResult
from nodes.tools.passages import path, split_passages
from nodes.tools.terms import terms

# Raised whenever an index made before would answer differently; belongs into the name of a saved folder.
INDEX_VERSION = "1"
# A question names what a passage is about, and that is often said in a heading only.
_HEADING_WEIGHT = 2


@dataclass(frozen=True, slots=True)
class CorpusIndex:
    """Finds passages. `places` has one row (document, start, end, heading) for each passage."""

    documents: tuple[tuple[str, str], ...]
    headings: tuple[str, ...]
    places: NDArray[np.int64]
    vocabulary: Mapping[str, int]
    model: bm25s.BM25 | None

    @classmethod
    def build(cls, documents: Iterable[tuple[Document, str]]) -> Self:
        """Index the passages of documents and their texts, taking one text at a time."""
        builder = _Builder()
        for document, text in documents:
            builder.add(document, text)
        places = np.frombuffer(builder.places, dtype=np.int64).reshape(-1, 4)
        return cls(
            tuple(builder.documents), tuple(builder.headings), places, builder.vocabulary, builder.model()
        )

    def save(self, folder: Path) -> None:
        """Write the index to a folder that nobody has written yet, all of it or nothing.

        Name the folder for what it holds (a digest of the corpus and `INDEX_VERSION`): of two processes that save
        the same at once one is first, and the other keeps what it finds.
        """
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            self._write(unfinished)
            if not folder.exists():
                _rename_unless_there(unfinished, folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open a saved index without reading it whole; raises FileNotFoundError where none was saved."""
        names = json.loads((folder / "names.json").read_text(encoding="utf-8"))
        places = np.load(folder / "places.npy", mmap_mode="r" if names["passages"] else None)
        model = None
        if names["has_model"]:
            model = bm25s.BM25.load(str(folder / "bm25"), mmap=True, load_vocab=False, show_progress=False)
        return cls(
            tuple((uri, title) for uri, title in names["documents"]),
            tuple(names["headings"]),
            places,
            names["vocabulary"],
            model,
        )

    def search(self, query: str, limit: int) -> SearchResult:
        """Return the best passages for a query and how rare each of its terms is in this corpus."""
        asked = tuple(dict.fromkeys(terms(query)))
        rarity = {term: self.rarity(term) for term in asked}
        missing = tuple(term for term in asked if term not in self.vocabulary)
        known = [self.vocabulary[term] for term in asked if term in self.vocabulary]
        if self.model is None or not known or limit < 1:
            return SearchResult((), rarity, missing)
        scores = np.asarray(self.model.get_scores_from_ids(known))
        return SearchResult(tuple(self._hit(at, scores) for at in _best(scores, limit)), rarity, missing)

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term, scaled so that a term that occurs nowhere has 1.0."""
        passages = len(self.places)
        number = self.vocabulary.get(term)
        if number is None or self.model is None:
            return 1.0
        bounds = self.model.scores["indptr"]
        holding = int(bounds[number + 1]) - int(bounds[number])
        return _idf(passages, holding) / _idf(passages, 0)

    def _hit(self, at: int, scores: NDArray[np.float32]) -> Hit:
        document, start, end, heading = (int(value) for value in self.places[at])
        uri, _ = self.documents[document]
        return Hit(uri, self.headings[heading], float(scores[at]), start, end)

    def _write(self, folder: Path) -> None:
        np.save(folder / "places.npy", self.places)
        names = {
            "documents": self.documents,
            "headings": self.headings,
            "vocabulary": dict(self.vocabulary),
            "passages": len(self.places),
            "has_model": self.model is not None,
        }
        (folder / "names.json").write_text(json.dumps(names), encoding="utf-8")
        if self.model is not None:
            self.model.save(str(folder / "bm25"), show_progress=False)


class _Builder:
    """Takes in one document after the other and keeps numbers only."""

    def __init__(self) -> None:
        self.documents: list[tuple[str, str]] = []
        self.headings: dict[str, int] = {}
        self.places = array("q")
        self.vocabulary: dict[str, int] = {}
        self._term_ids: list[list[int]] = []

    def add(self, document: Document, text: str) -> None:
        number = len(self.documents)
        self.documents.append((document.uri, document.title))
        for piece in split_passages(text):
            heading = path(document.title, piece.headings)
            ids = self._ids(heading) * _HEADING_WEIGHT + self._ids(text[piece.start : piece.end])
            self._term_ids.append(ids)
            heading_number = self.headings.setdefault(heading, len(self.headings))
            self.places.extend((number, piece.start, piece.end, heading_number))

    def model(self) -> bm25s.BM25 | None:
        if not self.vocabulary:
            return None
        model = bm25s.BM25(method="lucene", auto_compile=False)
        tokens: Any = Tokenized(ids=self._term_ids, vocab=self.vocabulary)
        model.index(tokens, create_empty_token=False, show_progress=False)
        return model

    def _ids(self, text: str) -> list[int]:
        numbers = self.vocabulary
        return [numbers.setdefault(term, len(numbers)) for term in terms(text)]


def _idf(passages: int, holding: int) -> float:
    return math.log1p((passages - holding + 0.5) / (holding + 0.5))


def _best(scores: NDArray[np.float32], limit: int) -> list[int]:
    """Return where the highest scores above zero are, equal ones in corpus order on every machine."""
    limit = min(limit, len(scores))
    least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    candidates = np.flatnonzero((scores >= least) & (scores > 0))
    order = np.lexsort((candidates, -scores[candidates]))
    return [int(at) for at in candidates[order][:limit]]


def _rename_unless_there(unfinished: Path, folder: Path) -> None:
    try:
        os.rename(unfinished, folder)
    except OSError:
        # Somebody else was first; anything else that went wrong leaves no folder and must be heard.
        if not folder.exists():
            raise
