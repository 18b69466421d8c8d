"""A corpus made searchable: BM25 over passages, with the titles and headings of each counted in.

Holds positions and addresses, never the texts. Given the same documents in the same order it is the same index, and
equal scores keep the order of the corpus. A saved index is read through memory maps, so that many processes share one.
"""

import json
import math
import shutil
import tempfile
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import bm25s  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]
import numpy as np
from numpy.typing import NDArray

from nodes.material import Document, Hit, SearchResult
from nodes.tools.passages import Readable, merge_hits, path, split_passages
from nodes.tools.terms import terms, word_terms, words

# Raised whenever an index made before would answer differently; belongs into the name of a saved folder.
INDEX_VERSION = "2"
# A question names what a passage is about, and that is often said in a heading only.
_HEADING_WEIGHT = 2
# Passages are short and of like length, so neither repetition nor length says much (Anserini's defaults for passages).
_K1, _B = 0.9, 0.4
# Directories of links, indexes and bare code name everything and explain nothing.
_LISTING_WORTH = 0.7
_LISTING_LINES_MIN = 6
_LISTING_WORDS_MAX = 4
# As many passages as it takes for their own frequencies to count as much as the assumption that all terms are alike.
_PRIOR_PASSAGES = 50


@dataclass(frozen=True, slots=True)
class CorpusIndex:
    """Finds passages. `places` has one row (document, start, end, heading) for each passage.

    `model` is the `bm25s.BM25` of the passages, which has no types, or None where there is nothing to find.
    """

    documents: tuple[tuple[str, str], ...]
    headings: tuple[str, ...]
    places: NDArray[np.int64]
    worth: NDArray[np.float32]
    vocabulary: Mapping[str, int]
    model: Any

    @classmethod
    def build(cls, documents: Iterable[tuple[Document, str]]) -> Self:
        """Index the passages of documents and their texts, taking one text at a time."""
        builder = _Builder()
        for document, text in documents:
            builder.add(document, text)
        places = np.frombuffer(builder.places, dtype=np.int64).reshape(-1, 4)
        return cls(
            tuple(builder.documents),
            tuple(builder.headings),
            places,
            np.array(builder.worth, dtype=np.float32),
            builder.vocabulary,
            builder.model(),
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
        model: Any = None
        if names["has_model"]:
            model = cast("Any", bm25s).BM25.load(
                str(folder / "bm25"), mmap=True, load_vocab=False, show_progress=False
            )
        return cls(
            tuple((uri, title) for uri, title in names["documents"]),
            tuple(names["headings"]),
            places,
            np.load(folder / "worth.npy"),
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
        scores = np.asarray(self.model.get_scores_from_ids(known)) * self.worth
        return SearchResult(
            tuple(self._hit(at, scores) for at in _best(scores, limit)), rarity, missing
        )

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term, scaled so that a term that occurs nowhere has 1.0.

        In a few passages frequencies say little, so there the rarity of a term that occurs is drawn towards a half.
        """
        passages = len(self.places)
        number = self.vocabulary.get(term)
        if number is None or self.model is None:
            return 1.0
        bounds = self.model.scores["indptr"]
        holding = int(bounds[number + 1]) - int(bounds[number])
        scaled = _idf(passages, holding) / _idf(passages, 0)
        return (passages * scaled + _PRIOR_PASSAGES * 0.5) / (passages + _PRIOR_PASSAGES)

    def _hit(self, at: int, scores: NDArray[np.float32]) -> Hit:
        document, start, end, heading = (int(value) for value in self.places[at])
        uri, _ = self.documents[document]
        return Hit(uri, self.headings[heading], float(scores[at]), start, end)

    def _write(self, folder: Path) -> None:
        np.save(folder / "places.npy", self.places)
        np.save(folder / "worth.npy", self.worth)
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


def search_texts(readable: Sequence[Readable], queries: Sequence[str], limit: int) -> SearchResult:
    """Search texts that no index holds, such as pages just fetched: the merged hits of all queries, with positions."""
    index = CorpusIndex.build((given.document, given.text) for given in readable)
    results = [index.search(query, limit) for query in queries]
    return merge_results(results, limit)


def merge_results(results: Sequence[SearchResult], limit: int) -> SearchResult:
    """Merge the results of several queries over one corpus into one."""
    rarity = {term: value for result in results for term, value in result.rarity.items()}
    missing = dict.fromkeys(term for result in results for term in result.missing)
    return SearchResult(merge_hits([r.hits for r in results], limit), rarity, tuple(missing))


class _Builder:
    """Takes in one document after the other and keeps numbers only."""

    def __init__(self) -> None:
        self.documents: list[tuple[str, str]] = []
        self.headings: dict[str, int] = {}
        self.places = array("q")
        self.worth = array("f")
        self.vocabulary: dict[str, int] = {}
        self._term_ids: list[list[int]] = []
        self._word_ids: dict[str, tuple[int, ...]] = {}

    def add(self, document: Document, text: str) -> None:
        number = len(self.documents)
        self.documents.append((document.uri, document.title))
        for piece in split_passages(text):
            heading = path(document.title, piece.headings)
            ids = self._ids(heading) * _HEADING_WEIGHT + self._ids(text[piece.start : piece.end])
            self._term_ids.append(ids)
            heading_number = self.headings.setdefault(heading, len(self.headings))
            self.worth.append(_worth(text[piece.start : piece.end]))
            self.places.extend((number, piece.start, piece.end, heading_number))

    def model(self) -> Any:
        if not self.vocabulary:
            return None
        model = cast("Any", bm25s).BM25(method="lucene", k1=_K1, b=_B, auto_compile=False)
        tokens = cast("Any", bm25s).tokenization.Tokenized(
            ids=self._term_ids, vocab=self.vocabulary
        )
        model.index(tokens, create_empty_token=False, show_progress=False)
        return model

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = []
        for word in words(text):
            known = self._word_ids.get(word)
            if known is None:
                known = self._word_ids[word] = self._numbered(word)
            ids.extend(known)
        return ids

    def _numbered(self, word: str) -> tuple[int, ...]:
        numbers = self.vocabulary
        return tuple(numbers.setdefault(term, len(numbers)) for term in word_terms(word))


def _worth(passage: str) -> float:
    lines = [line for line in passage.split("\n") if line.strip()]
    short = sum(len(line.split()) <= _LISTING_WORDS_MAX for line in lines)
    is_listing = len(lines) >= _LISTING_LINES_MIN and short > len(lines) / 2
    return _LISTING_WORTH if is_listing else 1.0


def _idf(passages: int, holding: int) -> float:
    return math.log1p((passages - holding + 0.5) / (holding + 0.5))


def _best(scores: NDArray[np.float32], limit: int) -> list[int]:
    """Return where the highest scores above zero are, equal ones in corpus order on every machine."""
    # Zeros first go away: selecting among thousands of equal values is slow.
    found = np.flatnonzero(scores > 0)
    if len(found) > limit:
        positive = scores[found]
        least = np.partition(positive, len(found) - limit)[len(found) - limit]
        found = found[positive >= least]
    order = np.lexsort((found, -scores[found]))
    return [int(at) for at in found[order][:limit]]


def _rename_unless_there(unfinished: Path, folder: Path) -> None:
    try:
        unfinished.rename(folder)
    except OSError:
        # Somebody else was first; anything else that went wrong leaves no folder and must be heard.
        if not folder.exists():
            raise
