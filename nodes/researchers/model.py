"""The researcher that asks a language model, through the journal, and lets code write what must be exact.

The model names evidence by number out of what it was shown; quotes, addresses and titles are cut by code. Where it cannot be
asked (its budget is used up, its answer is refused or of no use) the work goes on by the words alone, and `notes` says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from typing_extensions import override

from ledger.canonical import canonical, digest
from nodes.material import (
    Assessment,
    Claim,
    ClaimDraft,
    Disagreement,
    Draft,
    Hit,
    Passage,
    Statement,
    Task,
    TaskDraft,
    Verdict,
)
from nodes.researchers import answers, said
from nodes.researchers.base import MATERIAL_CHARACTERS_MAX, Researcher
from nodes.researchers.extractive import ExtractiveResearcher
from nodes.researchers.noting import Noting
from nodes.researchers.numbered import (
    claim_lines,
    hit_lines,
    named,
    one_line,
    quote_lines,
    sentences_of,
)
from nodes.researchers.verdicts import judge, unfounded
from nodes.thinking import Wanted

QUERIES_MAX, CLAIMS_MAX, GAPS_MAX, PAIRS_MAX, SENTENCES_MAX, ROUNDS_MAX = 4, 8, 4, 12, 12, 2
STATEMENTS_MAX = 8
# Tokens of an answer: a list of short lines, a list of sentences, a report.
_SHORT, _LONG, _REPORT = 512, 2_048, 8_192


@dataclass
class ModelResearcher(Noting, Researcher):
    """Thinks with a language model about one task of a run, or about the whole of it."""

    _plain: ExtractiveResearcher = field(default_factory=ExtractiveResearcher)

    @property
    @override
    def version(self) -> str:
        """The version of this way of asking."""
        return "1"

    @property
    @override
    def disclosure(self) -> str:
        """Say that a model wrote it, and what stands for its sentences."""
        return (
            f"This report was written by the language model {self.name}: each sentence was checked against the exact quotes"
            " that it cites, and what they do not support was left out."
        )

    @property
    @override
    def material_characters(self) -> int:
        """Return what the prompt of a report holds: claims and, about as long, their quotes; three bytes to a token."""
        context = self.thinker.endpoint.model.profile.context_tokens
        room = context - min(_REPORT, self.thinker.answer_tokens_max)
        return min(MATERIAL_CHARACTERS_MAX, room * 3 // 4)

    @override
    async def plan(
        self, question: str, tasks_max: int, instruction: str | None = None
    ) -> tuple[TaskDraft, ...]:
        wanted = Wanted(
            "plan",
            {"question": question, "instruction": instruction, "most": tasks_max},
            lambda _: answers.plan(tasks_max),
            _LONG,
            {
                "question": question,
                "instruction": said.of_a_person(instruction),
                "tasks_max": str(tasks_max),
            },
        )
        if (answer := await self._ask(wanted)) is None:
            return await self._plain.plan(question, tasks_max, instruction)
        return said.plan(answer.value["tasks"])

    @override
    async def queries(self, task: Task) -> tuple[str, ...]:
        wanted = Wanted(
            "queries",
            {"task": task.question},
            lambda _: answers.queries(QUERIES_MAX),
            _SHORT,
            {"task": task.question, "question": task.run_question, "queries_max": str(QUERIES_MAX)},
        )
        plain = await self._plain.queries(task)
        if (answer := await self._ask(wanted)) is None:
            return plain
        # The words of the task are searched too: a model may leave out the one that counts.
        return tuple(dict.fromkeys([*answer.value["queries"], plain[0]]))

    @override
    async def choose(self, task: Task, hits: Sequence[Hit]) -> tuple[str, ...]:
        found = {hit.uri: hit for hit in reversed(hits)}
        uris = self._nameable(list(dict.fromkeys(hit.uri for hit in hits)))
        if len(uris) <= 1:
            return tuple(uris)
        wanted = Wanted(
            "choose",
            {"task": task.question, "documents": list(uris)},
            answers.choice,
            _SHORT,
            {"task": task.question},
            hit_lines(uris, found),
        )
        if (answer := await self._ask(wanted)) is None:
            return tuple(uris)
        return tuple(uris[answers.place(name)] for name in dict.fromkeys(answer.value["documents"]))

    @override
    async def extract(
        self, task: Task, passages: Sequence[Passage], rarity: Mapping[str, float]
    ) -> tuple[ClaimDraft, ...]:
        shown = self._nameable(sentences_of(passages))
        if not shown:
            return ()
        most = answers.fitting(CLAIMS_MAX, self.thinker.answer_tokens_max)
        wanted = Wanted(
            "extract",
            {"task": task.question, "evidence": [sentence.body for sentence in shown]},
            lambda count: answers.claims(most, count),
            _LONG,
            {"task": task.question, "question": task.run_question, "claims_max": str(most)},
            [f"E{at}: {sentence.text}" for at, sentence in enumerate(shown, start=1)],
        )
        if (answer := await self._ask(wanted)) is None:
            return ()
        return tuple(said.claim(each, shown) for each in answer.value["claims"])

    @override
    async def assess(self, task: Task, claims: Sequence[Claim], round_number: int) -> Assessment:
        wanted = Wanted(
            "assess",
            {
                "task": task.question,
                "claims": [claim.finding_id for claim in claims],
                "round": round_number,
            },
            lambda _: answers.assessment(QUERIES_MAX, GAPS_MAX),
            _SHORT,
            {"task": task.question, "round": str(round_number)},
            claim_lines(claims) or ["No claim was found."],
        )
        if (answer := await self._ask(wanted)) is None:
            return await self._plain.assess(task, claims, round_number)
        judged = answer.value
        # What has no claim is not answered, whatever is said of it.
        answered = bool(judged["answered"]) and bool(claims)
        queries = () if answered or round_number >= ROUNDS_MAX else tuple(judged["queries"])
        named = tuple(judged["gaps"]) if claims else (judged["gaps"] or [task.question])
        return Assessment(answered, queries, () if answered else tuple(named))

    @override
    async def gap_tasks(
        self, question: str, gaps: Sequence[str], tasks_max: int
    ) -> tuple[TaskDraft, ...]:
        wanted = Wanted(
            "gaps",
            {"question": question, "gaps": list(gaps)},
            lambda _: answers.gaps(tasks_max),
            _LONG,
            {"question": question, "tasks_max": str(tasks_max)},
            [f"- {one_line(gap)}" for gap in gaps],
        )
        if (answer := await self._ask(wanted)) is None:
            return ()
        return said.tasks(answer.value["tasks"])

    @override
    async def disagreements(self, claims: Sequence[Claim]) -> tuple[Disagreement, ...]:
        plain = await self._plain.disagreements(claims)
        shown = self._nameable(claims)
        if len(shown) <= 1:
            return plain
        wanted = Wanted(
            "conflicts",
            {"claims": [claim.finding_id for claim in shown]},
            lambda count: answers.pairs(count, PAIRS_MAX),
            _LONG,
            {},
            claim_lines(shown),
        )
        if (answer := await self._ask(wanted)) is None:
            return plain
        known = {frozenset(pair.finding_ids) for pair in plain}
        return plain + said.pairs(answer.value["pairs"], shown, known)

    @override
    async def condense(self, question: str, claims: Sequence[Claim], keep: int) -> tuple[str, ...]:
        shown = self._nameable(claims)
        wanted = Wanted(
            "summary",
            {"question": question, "claims": [claim.finding_id for claim in shown]},
            answers.kept,
            _LONG,
            {"question": question, "keep": str(keep)},
            claim_lines(shown),
        )
        if (answer := await self._ask(wanted)) is None:
            return await self._plain.condense(question, claims, keep)
        named = [shown[answers.place(name)].finding_id for name in answer.value["keep"]]
        rest = await self._plain.condense(question, claims, keep)
        return tuple(dict.fromkeys([*named, *rest]))

    @override
    async def summarize(self, task: Task, claims: Sequence[Claim]) -> tuple[Statement, ...]:
        shown = self._nameable(claims)
        most = answers.fitting(STATEMENTS_MAX, self.thinker.answer_tokens_max)
        wanted = Wanted(
            "statements",
            {"task": task.question, "claims": [claim.finding_id for claim in shown]},
            lambda count: answers.statements(count, most),
            _LONG,
            {"task": task.question, "question": task.run_question, "statements_max": str(most)},
            claim_lines(shown),
        )
        if (answer := await self._ask(wanted)) is None:
            return ()
        kept, dropped = said.statements(answer.value["statements"], task, shown)
        if dropped:
            self._notes.append(
                f"{dropped} statements of the working summary of task {task.task_id} were dropped: its claims do not say them"
            )
        return kept

    @override
    async def synthesize(
        self, question: str, tasks: Sequence[Task], claims: Sequence[Claim], gaps: Sequence[str]
    ) -> Draft:
        recorded = [claim for claim in claims if not claim.sums_up]
        plain = await self._plain.synthesize(question, tasks, recorded, gaps)
        shown = self._nameable(claims)
        if not shown or not tasks:
            return plain
        most = answers.fitting(SENTENCES_MAX, self.thinker.answer_tokens_max // len(tasks))
        wanted = Wanted(
            "synthesize",
            {
                "question": question,
                "tasks": [task.task_id for task in tasks],
                "claims": [named(claim) for claim in shown],
                "gaps": list(gaps),
            },
            lambda count: answers.report(len(tasks), count, most),
            _REPORT,
            {"question": question, "tasks": said.numbered("T", [task.question for task in tasks])},
            claim_lines(shown),
        )
        if (answer := await self._ask(wanted)) is None:
            return Draft(plain.sections, plain.disagreements, plain.gaps, tuple(self.notes))
        sections = said.sections(answer.value["sections"], tasks, shown)
        return Draft(sections, plain.disagreements, plain.gaps, tuple(self.notes))

    @override
    async def check(self, sentence: str, quotes: Sequence[str]) -> Verdict:
        """Ask the model; what stands word for word needs no model, and what code sees contradicted none can clear."""
        plain = judge(sentence, quotes)
        if plain is not Verdict.INSUFFICIENT or unfounded(sentence, quotes):
            return plain
        wanted = Wanted(
            "check",
            {"sentence": sentence, "quotes": digest(canonical(list(quotes)))},
            lambda _: answers.verdict(),
            _SHORT,
            {"sentence": sentence},
            quote_lines(quotes),
        )
        answer = await self._ask(wanted)
        # Whoever was not shown all of the quotes has not checked the sentence.
        if answer is None or answer.left_out:
            return Verdict.NOT_CHECKED
        return Verdict(answer.value["verdict"])
