"""Who thinks for a run: the one that its options name."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ledger import endpoints
from ledger.db import Ledger
from ledger.runs import Run
from nodes.clock import Clock, SystemClock
from nodes.models.courses import Patience
from nodes.models.endpoints import Endpoints
from nodes.models.errors import UnknownModel
from nodes.models.listing import known_now
from nodes.models.outcomes import QUESTIONS
from nodes.models.profile import Profile, is_here
from nodes.options import BadInput, RunOptions
from nodes.researchers.base import Researcher
from nodes.researchers.extractive import NAME, VERSION, ExtractiveResearcher
from nodes.researchers.model import ModelResearcher
from nodes.thinking import Allowance, Thinker

#: The steps that write and check the report: they may use what branches leave.
_OF_THE_RUN = frozenset({"@plan", "@dispatch", "@compact", "@synthesize", "@check", "@revise"})


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
        return ModelResearcher(thinker, leaves=not is_here(endpoint.model.profile.place))

    def check(self, model: str) -> str:
        """Say who thinks under this name; raises BadInput."""
        if model == NAME:
            return f"{model} {VERSION}"
        profile = self.endpoints.of(model).model.profile
        return f"{model} at {urlsplit(profile.base_url).hostname}"

    def leaves(self, model: str) -> bool:
        """Tell whether what this model reads goes to another machine; raises BadInput."""
        return model != NAME and not is_here(self.endpoints.of(model).model.profile.place)

    async def check_now(self, model: str) -> str:
        """Ask the endpoint for model and key, and say what `perdure doctor` found out about it.

        Raises BadInput for a model that it does not know, CredentialRefused for a key that it refuses.
        """
        said = self.check(model)
        if model == NAME:
            return said
        asked = self.endpoints.of(model).model
        try:
            now = await known_now(asked)
        except UnknownModel as error:
            raise BadInput(error.reason) from None
        return f"{said}, {now}; {await self._verified(asked.profile)}"

    async def _verified(self, profile: Profile) -> str:
        async with self.ledger.transaction() as tx:
            kept = await endpoints.kept(tx, profile.endpoint)
        told = [f"{name} {kept[name].verdict}" for name in QUESTIONS if name in kept]
        left = [name for name in QUESTIONS if name not in kept]
        return ", ".join([*told, *(f"{name} not verified" for name in left)])
