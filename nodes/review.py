"""Steps `review_plan`, `review_sources`, `review_report`: wait for a person, then do what they decided.

The question is a row of the ledger before the node is reached, and the decision is a row before the graph is woken; the
value that wakes it is only the review's id. There is one interrupt per node and nothing before it, because the node runs
again from its top when it is resumed. LangGraph Studio wakes a thread with a HumanResponse instead: then the node records
the decision itself, first of all. An answer that decides nothing is asked again and never raised: LangGraph keeps the
answer of a step that failed, and would give it the same one for ever.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast
from uuid import UUID

from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

from ledger import findings, retries, reviews, runs, tasks
from ledger.db import Transaction
from ledger.errors import NotText
from ledger.reviews import Choice, Decision, Kind, Review
from nodes.options import BadInput, RunOptions, checked_question
from nodes.plans import WORKER, edited
from nodes.resources import Resources, run_id_of
from nodes.state import ResearchState, Update

Apply: TypeAlias = Callable[[Transaction, UUID, Review], Awaitable[None]]

#: What LangGraph Studio and agent inboxes send, by the name of our choice.
_HUMAN_RESPONSES: dict[str, Choice] = {
    "accept": "approve",
    "edit": "edit",
    "ignore": "reject",
    "response": "respond",
}


async def review(
    kind: Kind,
    following: str,
    resources: Resources,
    state: ResearchState,
    runtime: Runtime[RunOptions],
) -> Command[Any]:
    """Wait for the review of this kind if one is asked, and go on to `following`, back to planning, or to the end."""
    asked = state.get("review") or {}
    if asked.get("kind") != kind:
        return Command(goto=following)
    answer = interrupt(_shown(asked))
    run_id = run_id_of(runtime)
    try:
        decided = await _decided(resources, run_id, asked["review_id"], answer)
    except (BadInput, NotText) as error:
        return _ask_again(asked, str(error))
    if (decision := decided.decision) is None:
        return _ask_again(asked, f"nobody has decided this review, it is {decided.status}")
    async with resources.ledger.transaction(run_id) as tx:
        await _apply(tx, run_id, decided, decision)
        if kind == "sources" and decision.choice in {"approve", "edit"}:
            await retries.decided(tx, run_id)
        if decision.choice != "reject":
            await runs.set_status(tx, run_id, "running")
        await runs.set_phase(tx, run_id, following)
    return _next(decision, kind, following, state)


def _ask_again(asked: dict[str, str], problem: str) -> Command[Any]:
    name = f"review_{asked['kind']}"
    update: Update = {
        "review": {**asked, "problem": problem},
        "step": {"name": name, "problem": problem},
    }
    return Command(goto=name, update=update)


def _shown(asked: dict[str, str]) -> dict[str, Any]:
    """Return the question in the published HumanInterrupt form."""
    return {
        "action_request": {
            "action": f"review_{asked['kind']}",
            "args": {"review_id": asked["review_id"]},
        },
        "config": {
            "allow_accept": True,
            "allow_edit": True,
            "allow_respond": True,
            "allow_ignore": True,
        },
        "description": "\n\n".join(filter(None, [asked.get("problem"), asked["summary"]])),
        "review_id": asked["review_id"],
    }


async def _decided(resources: Resources, run_id: UUID, review_id: str, answer: Any) -> Review:
    async with resources.ledger.transaction(run_id) as tx:
        review = await reviews.get(tx, run_id, review_id)
        if review.status == "open" and (decision := human_response(answer)) is not None:
            checked_decision(review, decision, await tasks.everything(tx, run_id))
            await reviews.decide(tx, review, decision)
            review = await reviews.get(tx, run_id, review_id)
    return review


def human_response(answer: Any) -> Decision | None:
    """Read a HumanResponse as a decision, or return None when the answer is only a review's id."""
    given = cast("Any", answer[0] if isinstance(answer, list) and answer else answer)
    if not isinstance(given, dict):
        return None
    response = cast("dict[str, Any]", given)
    choice = _HUMAN_RESPONSES.get(str(response.get("type")))
    args = response.get("args")
    match choice:
        case "edit":
            edit = (
                cast("dict[str, Any]", args).get("args", args) if isinstance(args, dict) else args
            )
            return Decision(choice="edit", decided_by="studio", edit=edit)
        case "respond":
            return Decision(
                choice="respond",
                decided_by="studio",
                response=args if isinstance(args, str) else None,
            )
        case "approve" | "reject":
            return Decision(choice=choice, decided_by="studio")
        case _:
            return None


def checked_decision(review: Review, decision: Decision, planned: list[tasks.Task]) -> None:
    """Raise BadInput for a decision that cannot be carried out: it is refused before it is recorded."""
    if decision.choice == "respond":
        if not (decision.response or "").strip():
            raise BadInput("an answer needs words: what should be researched besides?")
        checked_question(decision.response or "")
    if decision.choice != "edit":
        return
    if review.kind == "plan":
        edited(_listed(decision.edit, "tasks"), planned)
    else:
        _check_shown(_omitted(decision.edit), review)


def _check_shown(names: list[str], review: Review) -> None:
    """Raise BadInput unless every name is that of a claim or source which the review shows."""
    shown = {each["id"] for part in ("claims", "sources") for each in review.shown[part]}
    unknown = [name for name in names if name not in shown]
    if unknown or not names:
        what = f"{', '.join(unknown)} is none of them" if unknown else "none is named"
        raise BadInput(
            f"an edit names claims or sources of this review to leave out, and {what};"
            f" `perdure review {review.review_id}` shows their ids"
        )


def _listed(edit: Any, name: str) -> Any:
    return cast("dict[str, Any]", edit).get(name, edit) if isinstance(edit, dict) else edit


def _omitted(edit: Any) -> list[str]:
    """Read an edited report or source list: the ids of findings or sources to leave out."""
    names = _listed(edit, "omit")
    if not isinstance(names, list) or any(
        not isinstance(name, str) for name in cast("list[object]", names)
    ):
        raise BadInput(
            'an edit here is {"omit": [ID, …]} with ids of findings or sources to leave out'
        )
    return cast("list[str]", names)


async def _apply(tx: Transaction, run_id: UUID, review: Review, decision: Decision) -> None:
    match decision.choice:
        case "approve" | "respond":
            return
        case "reject":
            await runs.cancel(tx, run_id)
        case "edit" if review.kind == "plan":
            existing = await tasks.everything(tx, run_id)
            plan = edited(_listed(decision.edit, "tasks"), existing)
            await tasks.supersede(tx, run_id, [draft.task_id for draft in plan])
            await tasks.add(
                tx,
                run_id,
                [(draft.task_id, draft.question, draft.depends_on) for draft in plan],
                WORKER,
            )
        case "edit":
            await _leave_out(tx, run_id, _omitted(decision.edit), review.review_id)


async def _leave_out(tx: Transaction, run_id: UUID, names: list[str], by: str) -> None:
    resting = await findings.resting_on(tx, run_id, names)
    await findings.supersede(tx, run_id, [*names, *resting], by)


def _next(decision: Decision, kind: Kind, following: str, state: ResearchState) -> Command[Any]:
    update: Update = {
        "review": {},
        "decided": state.get("decided", 0) + 1,
        "step": {"name": f"review_{kind}", "decision": decision.choice},
    }
    match decision.choice:
        case "respond":
            update["guidance"] = [*state.get("guidance", []), decision.response or ""]
            return Command(goto="plan", update=update)
        case "reject":
            return Command(goto="__end__", update=update)
        case "edit" if kind == "report":
            return Command(goto="compact", update=update)
        case _:
            return Command(goto=following, update=update)
