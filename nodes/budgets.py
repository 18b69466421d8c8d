"""Budgets: how much a run, or one of its branches, may ask of a language model.

What calls cost is read from the journal, so that a run that was killed and resumed has spent what it has spent.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ledger.errors import OperationFailed
from ledger.spending import Spent

#: The part of a run's budget that branches leave, so that what they found can still be written and checked.
RESERVE: Final = 0.25


class BudgetSpent(OperationFailed):
    """No further call may be made: the budget of the run or of the branch is used up."""

    def __init__(self, what: str, used: str, left: str = "") -> None:
        super().__init__(f"the budget of the {what} is used up ({used}){left}", transient=False)


class Budget(BaseModel):
    """How much may be used; what is not given has no limit. Tokens are those of prompts and answers together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens: int | None = Field(default=None, ge=1)
    usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    calls: int | None = Field(default=None, ge=1)
    minutes: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        """Read `tokens=200000,usd=2.5`, as it is typed."""
        if not isinstance(value, str):
            return value
        pairs = [part.split("=", 1) for part in value.split(",") if part.strip()]
        if any(len(pair) == 1 for pair in pairs):
            raise ValueError("give a budget like tokens=200000,usd=2.5,calls=50,minutes=90")
        return {name.strip(): amount.strip() for name, amount in pairs}

    def used_up(self, spent: Spent, minutes: float, part: float = 1.0) -> str | None:
        """Say what of it is used up, or None; `part` is how much of it counts as all."""
        used = {
            "tokens": spent.prompt_tokens + spent.completion_tokens,
            "usd": spent.cost_usd,
            "calls": spent.calls,
            "minutes": minutes,
        }
        limits: Mapping[str, float | None] = self.model_dump()
        for name, limit in limits.items():
            if limit is not None and used[name] >= limit * part:
                return f"{used[name]:,.6g} of {limit:,.6g} {name}"
        return None
