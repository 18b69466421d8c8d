"""A quote is found where its words and their surroundings say so, and nowhere else."""

from uuid import UUID

from ledger.evidence import Evidence, Position, cut
from nodes.anchoring import GONE, anchor

FIRST = "The lock opens at six in the morning. "
QUOTED = "A ferry may wait for ten minutes before the gate."
LAST = " The keeper writes down every passage."
PAGE = FIRST + QUOTED + LAST


def quote(text: str, exact: str) -> Evidence:
    start = text.index(exact)
    return cut(text, UUID(int=1), Position("source", "text", start, start + len(exact)))


def test_the_same_text_has_it_at_the_same_place() -> None:
    found = anchor(quote(PAGE, QUOTED), PAGE)
    assert (found.state, PAGE[found.start : found.end]) == ("same", QUOTED)


def test_words_that_stand_elsewhere_with_their_surroundings_have_moved() -> None:
    newer = "A new chapter begins here.\n\n" + PAGE
    found = anchor(quote(PAGE, QUOTED), newer)
    assert (found.state, newer[found.start : found.end]) == ("moved", QUOTED)


def test_other_words_between_the_same_surroundings_have_changed() -> None:
    newer = PAGE.replace("ten minutes", "twenty minutes")
    found = anchor(quote(PAGE, QUOTED), newer)
    assert found.state == "changed"
    assert newer[found.start : found.end] == QUOTED.replace("ten", "twenty")
    assert 0 < found.similarity < 100


def test_what_was_removed_is_gone() -> None:
    assert anchor(quote(PAGE, QUOTED), FIRST + LAST) == GONE
    assert anchor(quote(PAGE, QUOTED), "") == GONE


def test_the_same_words_about_something_else_are_not_the_quote() -> None:
    elsewhere = "Pike are caught with spoons in spring. " + QUOTED + " Nets are forbidden all year."
    twice = f"{elsewhere}\n\n{elsewhere.replace('Pike', 'Perch')}"
    assert anchor(quote(PAGE, QUOTED), twice) == GONE


def test_of_two_places_that_cannot_be_told_apart_neither_is_taken() -> None:
    assert anchor(quote(PAGE, QUOTED), f"{PAGE}\n{PAGE}\n{PAGE}") == GONE
