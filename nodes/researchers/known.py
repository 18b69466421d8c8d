"""Who thinks for a run: the one that its options name."""

from dataclasses import dataclass

from ledger.runs import Run
from nodes.options import BadInput, RunOptions
from nodes.researchers.base import Researcher
from nodes.researchers.extractive import ExtractiveResearcher


@dataclass(frozen=True, slots=True)
class KnownResearchers:
    """The researchers that this process can offer."""

    def of(self, run: Run, task_id: str, retry: int = 0) -> Researcher:
        """Return who thinks about a task of a run; raises BadInput for a model that nobody here knows."""
        return self.named(RunOptions.model_validate(run.options).model)

    def named(self, model: str) -> Researcher:
        """Return who thinks under this name; raises BadInput."""
        if model != ExtractiveResearcher.name:
            raise BadInput(
                f"no model is called {model!r}; this version has: {ExtractiveResearcher.name}"
            )
        return ExtractiveResearcher()
