"""The contract of a researcher: who plans, chooses what to look for, extracts claims, judges and writes.

Every method is pure in its arguments: the same material gives the same answer, so that a step that is run again after
a crash finds its own rows. A researcher that asks a model asks through the journal, which makes the same true of it.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

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

#: About twenty printed pages of claims: what a report can be written from.
MATERIAL_CHARACTERS_MAX = 40_000


class Researcher(Protocol):
    """Thinks for a run."""

    @property
    def name(self) -> str:
        """The name that a run is started with."""
        ...

    @property
    def version(self) -> str:
        """The version of its way of working."""
        ...

    @property
    def disclosure(self) -> str:
        """One sentence for the report that says how it was made."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What it could not do so far, in words for the report."""
        ...

    @property
    def outside(self) -> bool:
        """Whether what it reads leaves this machine: then what policy calls sensitive is withheld from it."""
        ...

    @property
    def material_characters(self) -> int:
        """How many characters of claims it can write a report from."""
        ...

    async def used_up(self) -> str | None:
        """Say which budget leaves nothing for another branch, or None."""
        ...

    async def plan(
        self, question: str, tasks_max: int, instruction: str | None = None
    ) -> tuple[TaskDraft, ...]:
        """Split a question into tasks: at least one, at most `tasks_max`, acyclic.

        `instruction` is what a person said of the plan before, whole, when they rejected it.
        """
        ...

    async def queries(self, task: Task) -> tuple[str, ...]:
        """Return the searches to begin a task with, most specific first."""
        ...

    async def choose(self, task: Task, hits: Sequence[Hit]) -> tuple[str, ...]:
        """Return the addresses to read for a task out of those of the hits, best first; none if none is worth it."""
        ...

    async def extract(
        self, task: Task, passages: Sequence[Passage], rarity: Mapping[str, float]
    ) -> tuple[ClaimDraft, ...]:
        """Return the claims in the passages that answer the task, best first; none if they do not answer it."""
        ...

    async def assess(self, task: Task, claims: Sequence[Claim], round_number: int) -> Assessment:
        """Judge whether a task is answered after `round_number` rounds (from 1) and what to try next."""
        ...

    async def gap_tasks(
        self, question: str, gaps: Sequence[str], tasks_max: int
    ) -> tuple[TaskDraft, ...]:
        """Propose tasks worth another wave for what stayed unanswered; none if nothing is worth it."""
        ...

    async def disagreements(self, claims: Sequence[Claim]) -> tuple[Disagreement, ...]:
        """Return the pairs of claims that cannot both hold."""
        ...

    async def condense(self, question: str, claims: Sequence[Claim], keep: int) -> tuple[str, ...]:
        """Return all claims' finding ids, those first that a report of about `keep` claims needs most."""
        ...

    async def summarize(self, task: Task, claims: Sequence[Claim]) -> tuple[Statement, ...]:
        """Return statements on these claims of a task, which a report has no room for; none where it writes none."""
        ...

    async def synthesize(
        self, question: str, tasks: Sequence[Task], claims: Sequence[Claim], gaps: Sequence[str]
    ) -> Draft:
        """Arrange the claims into a report; every sentence cites evidence of a claim given here."""
        ...

    async def check(self, sentence: str, quotes: Sequence[str]) -> Verdict:
        """Judge one sentence against the exact quotes that it cites."""
        ...
