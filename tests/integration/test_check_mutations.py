"""What is made untrue is not reported as supported, and what is true is: sentences of a real manual, spoilt in every way.

An error is never a verdict: one fails the test. The table is printed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from graph.runs import start_run
from nodes.material import Claim, Draft, DraftSection, Task, Verdict
from nodes.report import escaped
from nodes.researchers.extractive import ExtractiveResearcher
from tests.support.mutations import Case, honest, real_sentences, spoilt, untrue
from tests.support.researchers import Attentive, thinking
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus

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


class Careless(Attentive):
    """Writes each sentence as it stands, spoilt in every way, and with the evidence of another."""

    @property
    @override
    def outside(self) -> bool:
        return False

    @override
    async def synthesize(
        self, question: str, tasks: Sequence[Task], claims: Sequence[Claim], gaps: Sequence[str]
    ) -> Draft:
        draft = await super().synthesize(question, tasks, claims, gaps)
        true = [each for section in draft.sections for each in section.sentences]
        words = [replace(each, text=text) for each in true for text in spoilt(each.text)]
        pairs = zip(true, [*true[1:], true[0]], strict=True)
        swapped = [replace(one, evidence_ids=other.evidence_ids) for one, other in pairs]
        return replace(draft, sections=(DraftSection("All", (*true, *words, *swapped)),))


async def test_a_run_cites_nothing_for_what_was_made_untrue(
    database_url: str, tmp_path: Path
) -> None:
    corpus, researcher = write_corpus(tmp_path / "garden"), Careless()
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        done = await start_run(thinking(runtime, researcher), QUESTION, options(corpus))
    assert done.report_path is not None
    report = done.report_path.read_text()
    stands, _, doubted = report.partition("## What the quotes do not support")
    true = [line[2:].rpartition(" [")[0] for line in stands.splitlines() if line[:2] == "- "]
    assert len(true) >= 3
    assert all(f"“{each}”" in report for each in true), "each stands as a quote below"
    for each in true:
        assert f"- {each} (insufficient)" in doubted, "with the evidence of another"
        for text in spoilt(each):
            assert f"- {escaped(text)} (" in doubted
