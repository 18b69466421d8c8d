"""What is made untrue is not reported as supported, and what is true is: sentences of a real manual, spoilt in every way.

An error is never a verdict: one fails the test. The table is printed.
"""

from collections import Counter
from collections.abc import Sequence

import pytest

from nodes.material import Verdict
from nodes.researchers.extractive import ExtractiveResearcher
from tests.support.mutations import Case, honest, real_sentences, untrue

# Of 1,802 sentences.
EVERY, OF_EACH_KIND = 6, 40
CASES_MIN, CAUGHT_SHARE_MIN = 200, 0.95


async def passed(cases: Sequence[Case]) -> tuple[Counter[str], list[Case]]:
    """Return how many cases of each kind there are, and those whose sentences the checker lets stand."""
    check = ExtractiveResearcher().check
    verdicts = [(case, await check(case.sentence, case.quotes)) for case in cases]
    return Counter(case.kind for case in cases), [
        case for case, verdict in verdicts if verdict is Verdict.SUPPORTED
    ]


def print_table(title: str, kinds: Counter[str], let_through: Sequence[Case]) -> None:
    through = Counter(case.kind for case in let_through)
    print(f"\n{title}: kind, cases, supported")
    for kind, cases in kinds.items():
        print(f"  {kind:32} {cases:5} {through[kind]:5}")
    print(f"  {'all':32} {kinds.total():5} {through.total():5}")


async def test_what_was_made_untrue_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    kinds, let_through = await passed(untrue(real_sentences(EVERY), OF_EACH_KIND))
    with capsys.disabled():
        print_table("Made untrue", kinds, let_through)
    assert kinds.total() >= CASES_MIN
    assert min(kinds.values()) >= 5, "a kind that hardly occurs proves nothing"
    assert 1 - len(let_through) / kinds.total() >= CAUGHT_SHARE_MIN, let_through[:5]


async def test_what_is_true_is_supported(capsys: pytest.CaptureFixture[str]) -> None:
    cases = honest(real_sentences(EVERY))
    kinds, supported = await passed(cases)
    with capsys.disabled():
        print_table("Left as it is", kinds, supported)
    assert [case for case in cases if case not in supported][:5] == []
