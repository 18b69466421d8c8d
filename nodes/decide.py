"""Step `decide`: does what was decided at a gate, all of it in one transaction, once.

All reviews that a step asked for meet here. One that nobody has decided is asked again, alone. The decisions are read
from the ledger, never from what woke the graph; of several, the one that goes furthest back says where the run goes on.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langgraph.runtime import Runtime
from langgraph.types import Command

from ledger import artifacts, citations, reviews, runs
from ledger.canonical import Json
from ledger.db import Transaction
from ledger.questions import DEADLINE, Decision, Review
from nodes.asking import AFTER, node_of, open_reviews
from nodes.decisions.base import Applying, Way
from nodes.decisions.kinds import KINDS
from nodes.options import RunOptions
from nodes.report import not_reviewed, with_notice
from nodes.resources import Resources, run_id_of
from nodes.state import AskedReview, ResearchState, Update

_PLACES = {
    Way.COMPACT: "compact",
    Way.REVISE: "revise",
    Way.DISPATCH: "dispatch",
    Way.PLAN: "plan",
    Way.END: "__end__",
}
#: Where a run may go from here besides the reviews.
PLACES: tuple[str, ...] = tuple(dict.fromkeys([*AFTER.values(), *_PLACES.values()]))


async def decide(
    resources: Resources, state: ResearchState, runtime: Runtime[RunOptions]
) -> Command[Any]:
    """Apply the decisions of a gate and go on to what follows it, back, or to the end."""
    run_id = run_id_of(runtime)
    asked, gate = state.get("reviews", []), state.get("gate", "")
    async with resources.ledger.transaction(run_id) as tx:
        # What state forgot, because somebody edited it, is asked all the same.
        asked = [*asked, *await open_reviews(tx, run_id, [each["review_id"] for each in asked])]
        found = await _read(tx, run_id, asked)
    if any(review.decision is None for review in found):
        return _ask_again(asked, found, state["problems"])
    decided = [(review, review.decision) for review in found if review.decision is not None]
    info = runtime.execution_info
    checkpoint_id = (info.checkpoint_id if info else None) or ""
    products = dict(state.get("products", {}))
    async with resources.ledger.transaction(run_id) as tx:
        ways = await _applied(tx, run_id, decided, checkpoint_id, products.get("report"))
        way = max(ways, default=Way.ON)
        following = AFTER[gate] if way is Way.ON else _PLACES[way]
        if way is not Way.END:
            products |= await _noticed(tx, run_id, decided, products)
            await runs.set_status(tx, run_id, "running")
            await runs.set_phase(tx, run_id, following)
    return Command(goto=following, update=_update(state, gate, decided, way, products))


async def _read(tx: Transaction, run_id: UUID, asked: Sequence[AskedReview]) -> list[Review]:
    """Return the reviews of the gate as they stand: whatever woke the graph, their rows say what was decided."""
    return [await reviews.get(tx, run_id, each["review_id"]) for each in asked]


def _ask_again(
    asked: Sequence[AskedReview], found: Sequence[Review], problems: dict[str, str]
) -> Command[Any]:
    """Send those that nobody has decided to their nodes once more; the others wait for them, decided."""
    told: list[AskedReview] = []
    for each, review in zip(asked, found, strict=True):
        problem = problems.get(review.review_id) or review.missing
        undecided = review.decision is None and problem
        told.append({**each, "problem": problem} if undecided and problem else each)
    again = [each for each, review in zip(told, found, strict=True) if review.decision is None]
    step: Json = {
        "name": "decide",
        "problems": {each["review_id"]: each.get("problem") for each in again},
    }
    update: Update = {"reviews": told, "problems": None, "step": step}
    return Command(goto=[node_of(each) for each in again], update=update)


async def _applied(
    tx: Transaction,
    run_id: UUID,
    decided: Sequence[tuple[Review, Decision]],
    checkpoint_id: str,
    report: str | None,
) -> list[Way]:
    """Do what was decided; once the run is cancelled, nothing more."""
    ways: list[Way] = []
    # A rejection first: what others decided of a run that is stopped changes nothing any more.
    for review, decision in sorted(decided, key=lambda pair: pair[1].choice != "reject"):
        is_new = await reviews.apply(tx, run_id, review.review_id)
        applying = Applying(tx, run_id, review, decision, is_new, checkpoint_id, report)
        ways.append(await KINDS[review.kind].apply(applying))
        if ways[-1] is Way.END:
            break
    return ways


async def _noticed(
    tx: Transaction,
    run_id: UUID,
    decided: Sequence[tuple[Review, Decision]],
    products: dict[str, str],
) -> dict[str, str]:
    """Write into a report that goes on without its review that nobody has reviewed it."""
    kinds = [review.kind for review, decision in decided if _is_passed(decision)]
    if not kinds or "report" not in products:
        return {}
    before = products["report"]
    notice = not_reviewed(list(dict.fromkeys(kinds)))
    text = with_notice(await artifacts.get_text(tx, before), notice)
    name = await artifacts.put(tx, text.encode(), "text/markdown; charset=utf-8")
    cited = [each.evidence_id for each in await citations.of_report(tx, run_id, before)]
    await citations.record(tx, run_id, name, cited)
    return {"report": name}


def _is_passed(decision: Decision) -> bool:
    return decision.decided_by == DEADLINE and decision.choice == "approve"


def _update(
    state: ResearchState,
    gate: str,
    decided: Sequence[tuple[Review, Decision]],
    way: Way,
    products: dict[str, str],
) -> Update:
    ids = [review.review_id for review, _ in decided]
    passed = [review.kind for review, decision in decided if _is_passed(decision)]
    words = [
        review.review_id
        for review, decision in decided
        if decision.choice == "respond" or (decision.choice == "reject" and way is Way.PLAN)
    ]
    step: Json = {
        "name": "decide",
        "gate": gate,
        "decisions": {review.review_id: decision.choice for review, decision in decided},
    }
    return {
        "reviews": [],
        "problems": None,
        "decided": state.get("decided", 0) + 1,
        "guidance": words,
        "revision": ids if way is Way.REVISE else [],
        "unreviewed": list(dict.fromkeys([*state.get("unreviewed", []), *passed])),
        "products": products,
        "step": step,
    }
