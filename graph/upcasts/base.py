"""What a run that sleeps is, as far as a new version of the workflow can mislead it, and what a version's upcast is."""

from collections.abc import Callable
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from ledger.questions import Kind


class Next(BaseModel):
    """A step that the run is about to take: the node, and what was sent to it alone, None where it reads the state."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    node: str
    sent: Any = None


class Asked(BaseModel):
    """A review that the run waits for: `shown` is all that a person saw, `decided` whether they have answered already.

    Whoever changes `shown` has it asked again, with what changed; unchanged, the answer counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    review_id: str
    kind: Kind
    shown: Any
    decided: bool


class Planned(BaseModel):
    """A task of the plan."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    question: str
    depends_on: tuple[str, ...]
    status: str


class Sleeping(BaseModel):
    """A run at the checkpoint that it would go on from, free of LangGraph's and PostgreSQL's forms.

    `values` are the channels of the graph by name. Steps that were under way begin anew: their calls stand in the
    journal, so that nothing is asked twice. `options` are the run's own, `schema_version` that of the state's body.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    values: dict[str, Any]
    next: tuple[Next, ...]
    reviews: tuple[Asked, ...] = ()
    plan: tuple[Planned, ...] = ()
    options: dict[str, Any] = {}


#: From one version to the next. Pure: the same run gives the same, nothing is asked, read or written.
Upcast: TypeAlias = Callable[[Sleeping], Sleeping]
