"""Only sentences that are otherwise the same disagree, and a sentence is judged by its quotes."""

from nodes.material import Claim, Verdict
from nodes.researchers.contradictions import disagreeing
from nodes.researchers.verdicts import judge

LIMIT = "The server accepts at most {} concurrent connections from local clients."


def claims(*texts: str) -> list[Claim]:
    return [Claim(f"f{n}", "t1", text, (f"e{n}",), (text,), 1.0) for n, text in enumerate(texts)]


def pairs(*texts: str) -> list[tuple[str, str]]:
    return [found.finding_ids for found in disagreeing(claims(*texts))]


def test_two_numbers_for_the_same_thing_disagree() -> None:
    found = disagreeing(claims(LIMIT.format(100), "Unrelated words.", LIMIT.format(200)))
    assert [one.finding_ids for one in found] == [("f0", "f2")]
    assert "100" in found[0].reason


def test_a_statement_and_its_denial_disagree() -> None:
    assert pairs(
        "The built-in sort of the library is stable for every list.",
        "The built-in sort of the library is not stable for every list.",
    ) == [("f0", "f1")]
    assert pairs(
        "The running server allows connections from remote hosts by default.",
        "The running server does not allow connections from remote hosts by default.",
    ) == [("f0", "f1")]


def test_parallel_sentences_about_different_things_do_not_disagree() -> None:
    assert not pairs(
        "The type smallint takes 2 bytes of storage on every platform.",
        "The type bigint takes 8 bytes of storage on every platform.",
    )
    assert not pairs(
        "In version 3.4 the default protocol for pickling objects was 3.",
        "In version 3.8 the default protocol for pickling objects was 4.",
    )
    assert not pairs("The default is 3.", "The default is 100.")
    assert not pairs(LIMIT.format(100), LIMIT.format(100))


def test_a_sentence_is_supported_by_the_words_of_its_quote() -> None:
    quote = "The `port`\n    is 5432\n    by default."
    assert judge("The port is 5432 by default.", [quote]) is Verdict.SUPPORTED
    assert judge("The port is 5433 by default.", [quote]) is Verdict.INSUFFICIENT
    assert judge("", [quote]) is Verdict.INSUFFICIENT
    assert judge("Anything.", []) is Verdict.INSUFFICIENT


def test_a_sentence_with_another_number_than_its_quote_is_contradicted() -> None:
    assert judge(LIMIT.format(200), [LIMIT.format(100)]) is Verdict.CONTRADICTED


def test_numbers_that_are_written_out_disagree_too() -> None:
    warranty = "The warranty of the pump in the garden pond is {} years."
    assert pairs(warranty.format("three"), warranty.format("five")) == [("f0", "f1")]
    assert not pairs(warranty.format("three"), warranty.format("three"))
