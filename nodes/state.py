"""The graph's state: plain JSON, a few kB however long the run is.

Everything that grows stands in the ledger; state says where the work is and names what the next step needs. Text from
outside never stands in a channel of its own: LangGraph inlines a top-level string into every checkpoint row, where a NUL
or a lone surrogate would block the thread for ever.
"""

from typing import Annotated, Any, Final, NotRequired, TypeAlias

# Not typing's: below Python 3.12 LangGraph's server makes no input form from it.
from typing_extensions import TypedDict

#: The version of the form of what stands here, stored with every checkpoint; raised with WORKFLOW_VERSION where it changes.
STATE_VERSION: Final = 1


class Question(TypedDict):
    """What was asked."""

    text: str


class AskedReview(TypedDict):
    """One review that the run waits for: `summary` says what to decide, `form` is what an edit changes.

    `problem` is why an answer to it decided nothing.
    """

    kind: str
    review_id: str
    summary: str
    form: dict[str, Any]
    problem: NotRequired[str]


class BranchOutcome(TypedDict):
    """How a task ended."""

    status: str
    findings: int
    gaps: int


Outcomes: TypeAlias = dict[str, BranchOutcome]


def keep_as_record(current: Question | None, update: "str | Question | None") -> Question | None:
    """Take a question as it is typed and keep it inside a record, so that no text is a top-level channel value."""
    if update is None:
        return current
    return {"text": update} if isinstance(update, str) else update


def merge_outcomes(current: Outcomes, update: Outcomes | None) -> Outcomes:
    """Join the outcomes of parallel branches; None empties the channel once they are collected."""
    return {} if update is None else {**current, **update}


def merge_problems(current: dict[str, str], update: dict[str, str] | None) -> dict[str, str]:
    """Join what was wrong with the answers to parallel reviews; None empties the channel."""
    return {} if update is None else {**current, **update}


def merge_statuses(current: dict[str, str], update: dict[str, str]) -> dict[str, str]:
    """Keep the newest status of each effect."""
    return {**current, **update}


def latest(current: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    """Keep what was written last: of parallel branches, the step of the last."""
    return update


class ResearchInput(TypedDict):
    """What a run begins with."""

    question: str


class ResearchState(TypedDict):
    """The state of a run between two steps."""

    question: Annotated[Question, keep_as_record]
    #: Where the run is, in words: the last step and what it did.
    step: Annotated[dict[str, Any], latest]
    #: How many tasks stand in which status.
    tasks: NotRequired[dict[str, int]]
    #: Which wave of branches is out, from 1.
    wave: NotRequired[int]
    #: The tasks that dispatch sends to branches now.
    ready: NotRequired[list[str]]
    finished: Annotated[Outcomes, merge_outcomes]
    #: The reviews that are asked at once, and the step that asked.
    reviews: NotRequired[list[AskedReview]]
    gate: NotRequired[str]
    #: Why answers decided nothing, by review.
    problems: Annotated[dict[str, str], merge_problems]
    #: How many times people's decisions were applied: what is asked again after one is another question.
    decided: NotRequired[int]
    #: The decided reviews whose words are planned next, and how many plans were made before.
    guidance: NotRequired[list[str]]
    plans: NotRequired[int]
    #: The decided reviews by which the text of the report is revised.
    revision: NotRequired[list[str]]
    #: The kinds of reviews whose deadline passed and that the run went on without.
    unreviewed: NotRequired[list[str]]
    #: Artifacts: the working summary, the draft, the report, notes on what was done without.
    products: NotRequired[dict[str, str]]
    #: What is to be done outside, by key, with the status that it had when this was stored. A notice named here is sent.
    effects: Annotated[dict[str, str], merge_statuses]


class ResearchOutput(TypedDict):
    """What a run ends with: the report's artifact and the last step."""

    step: NotRequired[dict[str, Any]]
    products: NotRequired[dict[str, str]]


class BranchInput(TypedDict):
    """What dispatch sends to a branch."""

    task_id: str


class BranchState(TypedDict):
    """The state of one branch: ids only, the texts are in the ledger."""

    task_id: str
    round: NotRequired[int]
    #: The searches of the next round, inside a list for the same reason as the question.
    queries: NotRequired[list[str]]
    #: Operations of this round's searches, sources read so far, findings so far.
    searches: NotRequired[list[str]]
    sources: NotRequired[list[str]]
    findings: NotRequired[list[str]]
    #: Calls that failed for good, in words.
    failures: NotRequired[list[str]]
    gaps: NotRequired[list[str]]
    step: NotRequired[dict[str, Any]]
    finished: NotRequired[Outcomes]


class BranchOutput(TypedDict):
    """What a branch gives back; `step` among it, because LangGraph's server shows of an update what is output."""

    finished: Outcomes
    step: NotRequired[dict[str, Any]]


Update: TypeAlias = dict[str, Any]
