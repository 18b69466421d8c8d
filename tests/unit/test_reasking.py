"""Which reviews a migration asks again: those that the run waits for, and of those what shows something else."""

from graph.upcasting import reask
from graph.upcasts.base import Asked, Next, Sleeping
from ledger.ids import new_run_id
from tests.support.variants import shown_with

PAST, WAITED = f"rev_{'1' * 24}", f"rev_{'2' * 24}"


def test_a_decision_of_long_ago_is_not_asked_again_though_it_would_show_something_else() -> None:
    """Version 1 did not say of a decision that it was applied, and one that was asked again stays decided for ever."""
    run = Sleeping(
        values={"decided": 1},
        next=(Next(node="review_plan", sent={"review_id": WAITED}),),
        reviews=(
            Asked(review_id=PAST, kind="plan", shown={"tasks": []}, decided=True),
            Asked(review_id=WAITED, kind="plan", shown={"tasks": []}, decided=True),
        ),
    )
    found, again = reask(new_run_id(), run, shown_with("cost")(run))
    assert [each.before.review_id for each in again] == [WAITED]
    (step,) = found.next
    assert step.sent == {"review_id": again[0].after.review_id}
