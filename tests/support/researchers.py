"""A small real researcher that remembers what it was given, and whose reading leaves this machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from typing_extensions import override

from graph.runtime import Runtime
from ledger.runs import Run
from nodes.material import ClaimDraft, Passage, Task, TaskDraft
from nodes.researchers.base import Researcher
from nodes.researchers.extractive import ExtractiveResearcher


@dataclass
class Attentive(ExtractiveResearcher):
    """Thinks as the extractive researcher does."""

    #: Each question that it planned, with the instruction.
    planned: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])
    #: Each text that it read.
    read: list[str] = field(default_factory=list[str])

    @property
    @override
    def outside(self) -> bool:
        return True

    @override
    async def plan(
        self, question: str, tasks_max: int, instruction: str | None = None
    ) -> tuple[TaskDraft, ...]:
        self.planned.append((question, instruction))
        return await super().plan(question, tasks_max, instruction)

    @override
    async def extract(
        self, task: Task, passages: Sequence[Passage], rarity: Mapping[str, float]
    ) -> tuple[ClaimDraft, ...]:
        self.read += [passage.text for passage in passages]
        return await super().extract(task, passages, rarity)


@dataclass(frozen=True)
class Always:
    """Has one researcher think for every run."""

    researcher: Researcher

    def of(self, run: Run, task_id: str, retry: int = 0) -> Researcher:
        """Return that one."""
        return self.researcher

    def check(self, model: str) -> str:
        """Say its name."""
        return self.researcher.name

    def leaves(self, model: str) -> bool:
        """Say where it thinks."""
        return self.researcher.outside

    async def check_now(self, model: str) -> str:
        """Say its name."""
        return self.check(model)


def thinking(runtime: Runtime, researcher: Attentive) -> Runtime:
    """Return the runtime with another researcher."""
    return replace(runtime, resources=replace(runtime.resources, researchers=Always(researcher)))
