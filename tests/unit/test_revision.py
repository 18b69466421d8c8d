"""A report's text that a person edited is checked again, and what code cannot vouch for is marked."""

from collections.abc import Sequence

import pytest

from nodes.material import Verdict
from nodes.options import BadInput
from nodes.revision import Base, Revised, body_of, check_text, revise_text

BEFORE = """# Why \\[x\\]?

> Made without a model.

## Part

- Water boils at 100 degrees. It is clear. [1]
- Ice floats. [2][3]

## Citations

1. “Water boils at 100 degrees.”
"""
BASE = Base(BEFORE, ("evd_a", "evd_b", "evd_c"), frozenset({"evd_a", "evd_b", "evd_c"}))
QUOTES = {
    "evd_a": "Water boils at 100 degrees. It is clear.",
    "evd_b": "Ice floats.",
    "evd_c": "ice",
}


async def judge(sentence: str, cited: Sequence[str]) -> Verdict:
    """Support what stands in a quote."""
    held = any(sentence in QUOTES[name] for name in cited)
    return Verdict.SUPPORTED if held else Verdict.INSUFFICIENT


async def revised(text: str, base: Base = BASE, who: str = "ada") -> Revised:
    check_text(text, len(base.citations))
    return await revise_text(text, base, who, judge)


async def test_a_text_that_nobody_changed_stays_as_it_is() -> None:
    same = await revised(BEFORE)
    assert same.text == body_of(BEFORE)
    assert dict(same.numbers) == {"evd_a": 1, "evd_b": 2, "evd_c": 3}
    assert (same.doubted, same.added, same.left_out) == (0, 0, 0)


async def test_words_without_a_citation_are_marked_with_who_added_them() -> None:
    text = BEFORE.replace(
        "- Ice floats. [2][3]", "- Ice floats. [2][3] I like it.\n\nSo do others."
    )
    done = await revised(text, who="Ada (chief) [1]")
    assert "[2][3] I like it. *(added by Ada chief \\[1\\])*" in done.text
    assert "So do others. *(added by Ada" in done.text
    assert done.added == 2


async def test_a_sentence_that_was_there_before_is_nobodys_addition_though_the_next_was_changed() -> (
    None
):
    done = await revised(BEFORE.replace("It is clear. [1]", "It is thick. [1]"))
    assert "- Water boils at 100 degrees. It is thick. [1] *(the quotes do not support" in done.text
    assert (done.added, done.doubted) == (0, 1)


async def test_a_sentence_that_its_quotes_do_not_support_is_marked() -> None:
    done = await revised(BEFORE.replace("Ice floats.", "Ice sinks."))
    assert "- Ice sinks. [2][3] *(the quotes do not support this: insufficient)*" in done.text
    assert done.doubted == 1


async def test_only_the_sentence_before_a_citation_is_covered_by_it() -> None:
    done = await revised(BEFORE.replace("- Ice floats.", "- Snow is warm. Ice floats."))
    assert "- Snow is warm. *(added by ada)* Ice floats. [2][3]" in done.text
    assert done.doubted == 0


async def test_a_mark_is_neither_repeated_nor_believed() -> None:
    once = await revised(BEFORE.replace("Ice floats.", "Snow is warm. Ice sinks."))
    base = Base(once.text, tuple(once.numbers), BASE.citable)
    again = await revised(once.text, base, "bob")
    assert again.text == once.text
    taken_away = once.text.replace(" *(the quotes do not support this: insufficient)*", "")
    assert (await revised(taken_away, base, "bob")).text == once.text
    claimed = once.text.replace("Snow is warm.", "Snow is hot.")
    assert "Snow is hot. *(added by bob)*" in (await revised(claimed, base, "bob")).text


async def test_numbers_are_given_anew_in_the_order_of_the_text() -> None:
    done = await revised(
        "# Title\n\n- Ice floats. [2]\n- Water boils at 100 degrees. It is clear. [1]"
    )
    assert "- Ice floats. [1]" in done.text
    assert dict(done.numbers) == {"evd_b": 1, "evd_a": 2}


async def test_what_rests_on_evidence_that_fell_is_left_out() -> None:
    base = Base(BEFORE, BASE.citations, frozenset({"evd_b", "evd_c"}))
    done = await revised(BEFORE, base)
    assert "Water" not in done.text
    assert "- Ice floats. [1][2]" in done.text
    assert done.left_out == 1


@pytest.mark.parametrize("number", [0, 4, 99])
def test_a_number_that_the_report_does_not_have_is_refused(number: int) -> None:
    with pytest.raises(BadInput, match=rf"cites \[{number}\]"):
        check_text(f"- Ice floats. [{number}]", 3)
    check_text(f"- Ice floats. \\[{number}\\] [1]\n\n## Citations\n\n[{number}]", 3)


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_a_text_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="no text"):
        check_text(text, 3)


def test_a_second_list_of_citations_is_refused_as_what_follows_it_would_be_dropped() -> None:
    with pytest.raises(BadInput, match="twice"):
        check_text(BEFORE.replace("## Part", "## Citations"), 3)
