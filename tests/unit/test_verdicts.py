"""A sentence stands where a quote says it by itself, and its numbers and names are those of its quotes."""

import pytest

from nodes.material import Verdict
from nodes.researchers.verdicts import judge, unfounded

SOWN = "Runner beans are sown in May."
WIDE = "The lock of Ostby is 9 metres wide."


def stands(sentence: str, *quotes: str) -> bool:
    return judge(sentence, quotes) is Verdict.SUPPORTED


@pytest.mark.parametrize(
    "quote",
    [
        "Runner  beans\n   are sown in May.",
        "*Runner beans* are **sown** in `May`.",
        r"Runner beans are sown in \*May\*.",
        "# Sowing\n\nRunner beans are sown in May.\n\nNot before the last frost.",
        f"{WIDE} {SOWN} Only the brave sow earlier.",
        "- “Runner beans are sown in May”",
        "Runner beans are sown in May; peas are sown in March.",
        "Peas are sown in March; runner beans are sown in May.",
    ],
)
def test_what_a_quote_says_by_itself_stands(quote: str) -> None:
    assert stands(SOWN, quote)
    assert stands(SOWN.removesuffix("."), WIDE, quote)


@pytest.mark.parametrize(
    "quote",
    [
        "It is not true that runner beans are sown in May.",
        "Never believe that: runner beans are sown in May.",
        "If the frost is over, runner beans are sown in May.",
        "Runner beans are sown in May, unless it snows.",
        "Runner beans are sown in May or in June.",
        "Runner beans are sown in May; this holds only in the north.",
        "The old books are wrong; runner beans are sown in May.",
        "Dwarf Runner beans are sown in May.",
        "Runner beans are sown in Mayenne.",
        "Are you sure? Runner beans are sown in May?",
        f"The following is not true. {SOWN}",
        f"{SOWN} This is a common mistake.",
        f"{SOWN} That is wrong.",
    ],
)
def test_what_a_quote_says_otherwise_does_not_stand(quote: str) -> None:
    assert not stands(SOWN, quote)


def test_signs_that_mean_something_are_no_markup() -> None:
    assert not stands("Two cubed is 2 * 3.", "Two cubed is 2 ** 3.")
    assert not stands("The name is init.", "The name is __init__.")
    assert not stands("It may fall to 5 degrees.", "It may fall to -5 degrees.")
    assert not stands("5 metres are enough.", "2.5 metres are enough.")
    assert stands("The names *args and **kwargs are usual.", "The names `*args` and `**kwargs` are usual.")  # fmt: skip


def test_sentences_of_two_quotes_stand_together_unless_one_would_speak_of_the_other() -> None:
    assert stands(f"{SOWN} {WIDE}", WIDE, SOWN)
    berries = "Nightshade grows in the shade. It is poisonous."
    assert stands(berries, berries)
    assert not stands(f"{SOWN} It is poisonous.", SOWN, berries)
    assert not stands("Runner beans are 9 metres wide.", SOWN, WIDE)


@pytest.mark.parametrize(
    ("sentence", "quotes", "missing"),
    [
        ("It took 7 years.", ["It was built in 1847."], ["7"]),
        ("It was built in 1847.", ["It took 7 years, until 1847."], []),
        ("It cost 12,500 crowns.", ["It cost 12500 crowns."], []),
        ("It cost 12500 crowns.", ["It cost 12,500 crowns."], []),
        ("It cost 2,500 crowns.", ["It cost 12,500 crowns."], ["2,500"]),
        ("Version 3.1 has it.", ["Version 3.11 has it."], ["3.1"]),
        ("It is 5 metres long.", ["It is 2.5 metres long."], ["5"]),
        ("Steps 1, 2 and 3 follow.", ["Steps 1,2,3 follow."], []),
        ("It fell to -5 degrees.", ["It rose to 5 degrees."], ["-5"]),
        ("From 10-20 metres.", ["From 10 to 20 metres."], []),
    ],
)
def test_a_number_is_founded_by_the_same_number_only(
    sentence: str, quotes: list[str], missing: list[str]
) -> None:
    assert unfounded(sentence, quotes) == missing


@pytest.mark.parametrize(
    ("sentence", "quotes", "missing"),
    [
        ("The town of Bern decided.", ["Bernard decided for the town."], ["Bern"]),
        ("The engineer Ada Berg built it.", ["Ada Holm built it."], ["Berg"]),
        ("The UN met in Österby.", ["They met."], ["UN", "Österby"]),
        ("The house (Berg & Sons) built it.", ["Berg built it with her sons."], []),
        ("According to Berg's book it holds.", ["Berg wrote so."], []),
        ("However, it holds. Surely it does: Always.", ["It holds."], []),
        ("The Server listens.", ["the server listens"], []),
        ("“Nobody came”, she wrote.", ["She wrote that no one came."], []),
    ],
)
def test_a_name_is_founded_by_the_same_word_only(
    sentence: str, quotes: list[str], missing: list[str]
) -> None:
    assert unfounded(sentence, quotes) == missing
