"""Hits become passages, whether the tool knew where they stand or only the page."""

from nodes.material import Document, Hit
from nodes.tools.passages import Readable
from nodes.tools.reading import passages_of

TEXT = "# Locks\n\nThe northern lock opens at noon.\n\n# Ferries\n\nThe ferry leaves the harbour at dawn.\n"


def _page(uri: str, text: str = TEXT) -> Readable:
    return Readable(Document(uri, "Page", "sha256:c", f"sha256:{uri}", "x/1"), text)


def test_a_hit_without_a_place_gives_the_passages_of_its_page_that_fit_the_queries() -> None:
    pages = {"http://a": _page("http://a"), "http://b": _page("http://b", "Nothing of the kind.")}
    hits = [Hit("http://b", "B", 1.0), Hit("http://a", "A", 0.5)]
    passages, rarity = passages_of(hits, {}, pages, ["ferry dawn"])
    assert "ferry leaves" in passages[0].text
    assert TEXT[passages[0].start : passages[0].end] == passages[0].text
    assert set(rarity) == {"ferri", "dawn"}


def test_the_rarity_that_the_corpus_knows_stays() -> None:
    _, rarity = passages_of(
        [Hit("http://a", "A", 1.0)], {"dawn": 0.25}, {"http://a": _page("http://a")}, ["dawn"]
    )
    assert rarity["dawn"] == 0.25


def test_a_page_that_could_not_be_read_gives_nothing() -> None:
    assert passages_of([Hit("http://gone", "Gone", 1.0)], {}, {}, ["dawn"]) == ((), {})
