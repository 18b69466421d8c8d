"""Who thinks for a run: the one that its options name."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ledger.db import Ledger
from ledger.runs import Run
from nodes.clock import Clock, SystemClock
from nodes.models.courses import Patience
from nodes.models.endpoints import Endpoint, Endpoints
from nodes.options import RunOptions
from nodes.researchers.base import Researcher
from nodes.researchers.extractive import NAME, VERSION, ExtractiveResearcher
from nodes.researchers.model import ModelResearcher
from nodes.thinking import Allowance, Thinker

#: The steps that write and check the report: they may use what branches leave.
_OF_THE_RUN = frozenset({"@plan", "@dispatch", "@compact", "@synthesize", "@check", "@revise"})
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class KnownResearchers:
    """The researchers that this process can offer: the extractive one, and one for each model."""

    ledger: Ledger
    endpoints: Endpoints
    patience: Patience = field(default_factory=Patience)
    clock: Clock = field(default_factory=SystemClock)

    def of(self, run: Run, task_id: str, retry: int = 0) -> Researcher:
        """Return who thinks about a task of a run; raises BadInput for a model that nobody here knows."""
        options = RunOptions.model_validate(run.options)
        if options.model == NAME:
            return ExtractiveResearcher()
        branch = None if task_id in _OF_THE_RUN else options.branch_budget
        endpoint = self.endpoints.of(options.model)
        thinker = Thinker(
            self.ledger,
            run.run_id,
            task_id,
            retry,
            endpoint,
            Allowance(options.budget, branch),
            self.patience,
            self.clock,
        )
        return ModelResearcher(thinker, leaves=_leaves(endpoint))

    def check(self, model: str) -> str:
        """Say who thinks under this name; raises BadInput."""
        if model == NAME:
            return f"{model} {VERSION}"
        profile = self.endpoints.of(model).model.profile
        return f"{model} at {urlsplit(profile.base_url).hostname}"


def _leaves(endpoint: Endpoint) -> bool:
    """Tell whether what is asked goes to another machine."""
    return urlsplit(endpoint.model.profile.base_url).hostname not in _HERE
