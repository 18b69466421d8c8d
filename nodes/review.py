"""Steps `review_plan`, `review_sources`, …: each waits for one decision of a person.

The question is a row of the ledger before the node is reached, and the decision is a row before the graph is woken; the
value that wakes it is only the review's id. There is one interrupt and nothing before it, because the node runs again
from its top when it is resumed, and again when a review beside it is answered alone. LangGraph Studio and agent inboxes
wake a thread with a HumanResponse instead: then the node records the decision itself, first of all. What a decision does
is done by the step `decide`, where all reviews of a gate meet. An answer that decides nothing is never raised: LangGraph
keeps the answer of a step that failed, and would give it the same one for ever.
"""

from typing import Any, cast
from uuid import UUID

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from ledger import reviews, tasks
from ledger.errors import NotText, ReviewClosed, ReviewForeign
from ledger.questions import Choice, Decision, Kind
from nodes.decisions.kinds import KINDS, checked_decision
from nodes.options import BadInput, RunOptions
from nodes.resources import Resources, run_id_of
from nodes.state import AskedReview, Update

#: What LangGraph Studio and agent inboxes send, by the name of our choice.
_HUMAN_RESPONSES: dict[str, Choice] = {
    "accept": "approve",
    "edit": "edit",
    "ignore": "reject",
    "response": "respond",
}
#: Who decides in them: their form has no place for a name.
INBOX = "studio"


async def review(resources: Resources, asked: AskedReview, runtime: Runtime[RunOptions]) -> Update:
    """Wait until this review is decided; what is wrong with an answer that does not decide it is told to `decide`."""
    answer = interrupt(human_interrupt(asked))
    try:
        await _answered(resources, run_id_of(runtime), asked["review_id"], answer)
    except (BadInput, NotText, ReviewClosed) as error:
        return {"problems": {asked["review_id"]: str(error)}}
    return {}


def human_interrupt(asked: AskedReview) -> dict[str, Any]:
    """Return the question in the published HumanInterrupt form; the review's id is one of its arguments."""
    allows = KINDS[cast("Kind", asked["kind"])].allows
    return {
        "action_request": {
            "action": f"review_{asked['kind']}",
            "args": {**asked["form"], "review_id": asked["review_id"]},
        },
        "config": {
            "allow_accept": "approve" in allows,
            "allow_edit": "edit" in allows,
            "allow_respond": "respond" in allows,
            "allow_ignore": "reject" in allows,
        },
        "description": "\n\n".join(filter(None, [asked.get("problem"), asked["summary"]])),
    }


def review_id_of(value: Any) -> str:
    """Return the review that an interrupt's payload is about."""
    return str(value["action_request"]["args"]["review_id"])


async def _answered(resources: Resources, run_id: UUID, review_id: str, answer: Any) -> None:
    """Record an answer in the published form; raises BadInput, NotText and ReviewClosed for one that decides nothing."""
    async with resources.ledger.transaction(run_id) as tx:
        review = await reviews.get(tx, run_id, review_id)
        if review.status != "open":
            return
        named = _review_named(answer)
        if named not in {None, review_id}:
            raise ReviewForeign(
                f"the answer is to review {named}, and this is {review_id}; nothing was recorded"
            )
        decision = human_response(answer)
        if decision is None:
            raise BadInput(f"nobody has decided this review, it is {review.status}")
        checked_decision(review, decision, await tasks.everything(tx, run_id))
        decided = await reviews.decide(tx, review, decision)
    if decided.decision is None:
        raise BadInput(f"the answer was recorded: {decided.missing}")


def _review_named(answer: Any) -> str | None:
    """Return the review that an answer says it is to, None where it says nothing."""
    given = _single(answer)
    if isinstance(given, str) and given.startswith("rev_"):
        return given
    args: Any = cast("dict[str, Any]", given).get("args") if isinstance(given, dict) else None
    inner: Any = cast("dict[str, Any]", args).get("args") if isinstance(args, dict) else None
    named: Any = cast("dict[str, Any]", inner).get("review_id") if isinstance(inner, dict) else None
    return named if isinstance(named, str) else None


def _single(answer: Any) -> Any:
    """Return an answer out of a list of one, in which some clients send it."""
    return cast("Any", answer[0] if isinstance(answer, list) and answer else answer)


def human_response(answer: Any) -> Decision | None:
    """Read a HumanResponse as a decision, or return None when the answer is only a review's id."""
    given = _single(answer)
    if not isinstance(given, dict):
        return None
    response = cast("dict[str, Any]", given)
    choice = _HUMAN_RESPONSES.get(str(response.get("type")))
    args = response.get("args")
    words = args if isinstance(args, str) else None
    match choice:
        case "edit":
            return Decision(choice="edit", decided_by=INBOX, edit=_edited(args))
        case "respond":
            return Decision(choice="respond", decided_by=INBOX, response=words)
        case "approve":
            return Decision(choice="approve", decided_by=INBOX)
        case "reject":
            # Some clients let a person say why.
            return Decision(choice="reject", decided_by=INBOX, response=words)
        case _:
            return None


def _edited(args: Any) -> Any:
    edit = cast("dict[str, Any]", args).get("args", args) if isinstance(args, dict) else args
    if not isinstance(edit, dict):
        return edit
    return {
        name: part for name, part in cast("dict[str, Any]", edit).items() if name != "review_id"
    }
