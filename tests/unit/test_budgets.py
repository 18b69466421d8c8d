"""What a budget allows, and how it is typed."""

import pytest
from pydantic import ValidationError

from ledger.spending import Spent
from nodes.budgets import Budget, BudgetSpent
from nodes.thinking import Allowance

SPENT = Spent(calls=8, prompt_tokens=600, completion_tokens=200, cost_usd=0.5)


def test_a_budget_is_read_as_it_is_typed() -> None:
    typed = Budget.model_validate(" tokens=200000, usd=2.5,minutes=90")
    assert typed == Budget(tokens=200_000, usd=2.5, minutes=90)
    assert Budget.model_validate("") == Budget()


@pytest.mark.parametrize("typed", ["5", "tokens", "tokens=0", "usd=-1", "euro=5", "calls=two"])
def test_what_is_no_budget_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        Budget.model_validate(typed)


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        (Budget(tokens=800), "800 of 800 tokens"),
        (Budget(usd=0.5), "0.5 of 0.5 usd"),
        (Budget(calls=8), "8 of 8 calls"),
        (Budget(minutes=3), "3 of 3 minutes"),
        (Budget(tokens=801, usd=0.51, calls=9, minutes=4), None),
        (Budget(), None),
    ],
)
def test_each_limit_counts_by_itself(budget: Budget, told: str | None) -> None:
    assert budget.used_up(SPENT, minutes=3) == told


def test_a_branch_leaves_a_quarter_of_the_budget_for_the_report() -> None:
    spent = {"t1": Spent(calls=5), "t2": Spent(calls=3)}
    whole = Allowance(Budget(calls=10))
    branch = Allowance(Budget(calls=10), Budget())
    whole.check(spent, "@check", minutes=1)
    with pytest.raises(BudgetSpent, match=r"8 of 10 calls.*but for what is reserved"):
        branch.check(spent, "t1", minutes=1)


def test_a_branch_has_a_budget_of_its_own() -> None:
    spent = {"t1": Spent(calls=5), "t2": Spent(calls=3)}
    branch = Allowance(Budget(), Budget(calls=5))
    branch.check(spent, "t2", minutes=1)
    with pytest.raises(BudgetSpent, match=r"of the branch is used up \(5 of 5 calls\)"):
        branch.check(spent, "t1", minutes=1)


@pytest.mark.parametrize("text", ["usd=inf", "minutes=inf", "usd=1e999", "minutes=nan"])
def test_a_budget_without_end_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"finite|greater than 0"):
        Budget.model_validate(text)
