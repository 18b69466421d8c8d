"""Quotes from one edition of a real manual found again in the next: which stand there, which changed, which went, none wrongly.

Every sentence of the pages whose text changed is anchored, and a sample of the others. Where each word went is judged by
an alignment of the whole pages (tests/support/editions.py). The figures are printed; nodes/anchoring.py has them.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from ledger.evidence import Evidence, Position, cut
from nodes.anchoring import Anchor, anchor
from nodes.tools.documents import HTML
from nodes.tools.extract import extract
from nodes.tools.sentences import sentences
from tests.support.debian_docs import POSTGRESQL_DOC, two_editions
from tests.support.editions import Editions

_VERSION = re.compile(rb"15\.\d+")
RUN = UUID(int=1)
QUOTE_CHARACTERS_MIN = 20
# Of pages that did not change one sentence in so many is anchored.
SAMPLED = 20
CHANGED_FOUND_SHARE_MIN = 0.7
GONE_THOUGH_THERE_SHARE_MAX = 0.01


def evidence_in(text: str) -> Iterator[Evidence]:
    """Cut each sentence that is long enough to be quoted; none crosses a line."""
    start = 0
    for line in text.splitlines(keepends=True):
        for begin, end in sentences(text, start, start + len(line)):
            if end - begin >= QUOTE_CHARACTERS_MIN:
                yield cut(text, RUN, Position("source", "text", begin, end))
        start += len(line)


def pages(folder: Path) -> dict[str, Path]:
    found = (path for path in sorted(folder.rglob("*.html")) if path.is_file())
    return {path.name: path for path in found}


def text_of(path: Path) -> str:
    return extract(path.read_bytes(), HTML).text


def differ(one: Path, other: Path) -> bool:
    """Tell whether two editions of a page differ in more than the version that each names."""
    bodies = [_VERSION.sub(b"", path.read_bytes()) for path in (one, other)]
    return bodies[0] != bodies[1]


@pytest.fixture(scope="module")
def editions() -> list[Editions]:
    folders = two_editions(POSTGRESQL_DOC)
    if folders is None:
        pytest.skip(f"two versions of {POSTGRESQL_DOC} cannot be downloaded here")
    older, newer = (pages(folder) for folder in folders)
    names = [name for name in older if name in newer]
    # Every page names its version, so all bytes differ; those that differ in nothing else are sampled.
    chosen = [
        name
        for place, name in enumerate(names)
        if differ(older[name], newer[name]) or place % SAMPLED == 0
    ]
    return [Editions(text_of(older[name]), text_of(newer[name])) for name in chosen]


@pytest.mark.slow
def test_no_quote_is_anchored_wrongly_and_every_changed_one_is_told(
    editions: list[Editions],
) -> None:
    told: Counter[str] = Counter()
    wrong: list[tuple[str, str]] = []
    changed = [pair for pair in editions if pair.old != pair.new]
    for pair in changed:
        for quote in evidence_in(pair.old):
            found = anchor(quote, pair.new)
            is_there = not pair.changed((quote.start, quote.end))
            told[f"{'there' if is_there else 'not there'}, {found.state}"] += 1
            if not is_right(pair, quote, found):
                wrong.append((quote.exact, pair.new[found.start : found.end]))
    print(f"\n{len(changed)} pages changed, {told.total()} quotes: {dict(sorted(told.items()))}")
    assert wrong == []
    there, not_there = (of(told, kind) for kind in ("there", "not there"))
    assert not_there.keys() <= {"changed", "gone"}
    assert not_there["changed"] >= CHANGED_FOUND_SHARE_MIN * not_there.total() > 0
    assert there.keys() <= {"same", "moved", "gone", "changed"}
    assert there["gone"] + there["changed"] <= GONE_THOUGH_THERE_SHARE_MAX * there.total()


@pytest.mark.slow
def test_quotes_of_a_page_that_did_not_change_stay_where_they_are(editions: list[Editions]) -> None:
    told: Counter[str] = Counter()
    for pair in (each for each in editions if each.old == each.new):
        for quote in list(evidence_in(pair.old))[::SAMPLED]:
            told[anchor(quote, pair.new).state] += 1
    print(f"\nof pages that did not change: {dict(told)}")
    assert told.keys() <= {"same", "gone"}
    assert told["gone"] <= GONE_THOUGH_THERE_SHARE_MAX * told.total()


def is_right(pair: Editions, quote: Evidence, found: Anchor) -> bool:
    if found.state == "gone":
        return True
    there = pair.new[found.start : found.end]
    if (found.state == "changed") == (there == quote.exact):
        return False
    if found.state == "same" and found.start != quote.start:
        return False
    return pair.is_right((quote.start, quote.end), (found.start, found.end))


def of(told: Counter[str], kind: str) -> Counter[str]:
    named = {name: count for name, count in told.items() if name.startswith(f"{kind}, ")}
    return Counter({name.rpartition(", ")[2]: count for name, count in named.items()})
