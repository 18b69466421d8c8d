"""The kinds of change: each an edit of this code's graph, with the upcast that goes with it."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NotRequired

from langgraph.graph import END
from typing_extensions import TypedDict

from graph.upcasts.base import Next, Sleeping, Upcast
from graph.workflow import CURRENT, Definition
from nodes.asking import to_reviews
from nodes.state import ResearchState, merge_statuses
from tests.migrations.rebuilding import Rebuilt, State
from tests.support.variants import Builder, Edit, steps_renamed, variant

#: How often each node that a kind adds ran; whoever plays a case empties it.
RAN = Counter[str]()


@dataclass(frozen=True)
class Kind:
    """A kind of change: its edits and upcast, what of the difference must be named, and where it is told best.

    `runs` are the nodes that it adds, each with the step before which a run must stand for it to run, once.
    """

    name: str
    edits: tuple[Edit, ...]
    upcast: Upcast
    differs: str
    telling: str
    runs: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def unversioned(self) -> Definition:
        """The change, made by somebody who raised nothing."""
        return replace(CURRENT, build=variant(*self.edits).build)

    @property
    def versioned(self) -> Definition:
        """The change as a version of its own, which runs are brought to."""
        return variant(*self.edits, upcast=self.upcast)


def unchanged(run: Sleeping) -> Sleeping:
    """Leave a run as it is."""
    return run


def adding(name: str, to: str) -> Edit:
    """Return an edit that adds a node which only counts, and an edge from it."""

    async def step(state: ResearchState) -> dict[str, Any]:
        RAN[name] += 1
        return {}

    def edit(builder: Builder) -> None:
        builder.add_node(name, step, input_schema=builder.state_schema)
        builder.add_edge(name, to)

    return edit


def with_values(change: Callable[[State], State]) -> Upcast:
    """Return an upcast that changes the channels of a run that has begun."""

    def upcast(run: Sleeping) -> Sleeping:
        return run.model_copy(update={"values": change(run.values)}) if run.values else run

    return upcast


RENAMES = {
    "plan": "draft",
    "review_plan": "look_at_plan",
    "dispatch": "send_out",
    "branch": "look_into",
    "collect": "gather",
    "compact": "sum_up",
    "synthesize": "write",
    "check": "prove",
    "review_report": "look_at_report",
    "decide": "settle",
    "intend": "promise",
    "publish": "hand_out",
}
RENAMED = Kind("node renamed", (Rebuilt(names=RENAMES),), steps_renamed(RENAMES), "node branch is gone", "review_report")  # fmt: skip

_PAST_COLLECT = {"collect": "dispatch"}
REMOVED = Kind(
    "node removed",
    (Rebuilt(ends=_PAST_COLLECT, left_out={"collect"}),),
    steps_renamed(_PAST_COLLECT),
    "node collect is gone",
    "collect",
)


def inserted(name: str, new: str, before: str, telling: str) -> Kind:
    """Return the kind that puts a new node before another, wherever that is come to from."""
    edits = (Rebuilt(ends={before: new}), adding(new, before))
    return Kind(
        name, edits, steps_renamed({before: new}), f"node {new} is new", telling, {new: before}
    )


BEFORE = inserted("node inserted before the waiting one", "proofread", "check", "check")
AFTER = inserted("node inserted after the waiting one", "clear", "intend", "intend")
SPLIT = Kind(
    "node split in two",
    (Rebuilt(names={"synthesize": "write"}, ends={"synthesize": "outline"}), adding("outline", "write")),
    steps_renamed({"synthesize": "outline"}),
    "node synthesize is gone",
    "synthesize",
    {"outline": "synthesize"},
)  # fmt: skip


def _other_branch(builder: Builder) -> Builder:
    runnable: Any = builder.nodes["branch"].runnable
    inner = Rebuilt(names={"read": "fetch"}, schema=runnable.builder.state_schema)(runnable.builder)
    return Rebuilt(inside={"branch": inner.compile()})(builder)


SUBGRAPH = Kind("subgraph changed", (_other_branch,), unchanged, "inside node branch: node read is gone", "branch")  # fmt: skip


class Wider(ResearchState):
    """One channel more."""

    audience: NotRequired[list[str]]


ADDED = Kind(
    "channel added",
    (
        Rebuilt(
            schema=Wider,
            into=lambda state: {name: part for name, part in state.items() if name != "audience"},
            out=lambda update: {**update, "audience": ["public"]} if "plans" in update else update,
        ),
    ),
    with_values(lambda values: {**values, "audience": ["public"]}),
    "channel audience is new",
    "dispatch",
)


def _without(base: type, *names: str) -> dict[str, Any]:
    found = dict[str, Any](base.__annotations__)
    return {name: hint for name, hint in found.items() if name not in names}


def _schema(name: str, **channels: Any) -> Any:
    """Return the state with channels of other types; None takes one out."""
    kept = _without(ResearchState, *channels)
    new = {key: hint for key, hint in channels.items() if hint is not None}
    return TypedDict(name, {**kept, **new})  # type: ignore[operator]  # made of another's fields


def _moved(values: State, old: str, new: str) -> State:
    return {(new if name == old else name): part for name, part in values.items()}


CHANNEL_RENAMED = Kind(
    "channel renamed",
    (
        Rebuilt(
            schema=_schema(
                "Renamed",
                reviews=None,
                questions=ResearchState.__annotations__["reviews"],
            ),
            into=lambda state: _moved(state, "questions", "reviews"),
            out=lambda update: _moved(update, "reviews", "questions"),
        ),
    ),
    with_values(lambda values: _moved(values, "reviews", "questions")),
    "channel reviews is gone",
    "review_report decided",
)


def _numbered(values: State) -> State:
    wave = values.get("wave")
    return {**values, "wave": {"number": wave}} if isinstance(wave, int) else values


def _plain(values: State) -> State:
    return {**values, "wave": values["wave"]["number"]} if "wave" in values else values


RETYPED = Kind(
    "channel retyped",
    (
        Rebuilt(
            schema=_schema("Retyped", wave=NotRequired[dict[str, int]]), into=_plain, out=_numbered
        ),
    ),
    with_values(_numbered),
    "channel wave: type was int",
    "branch",
)


def keep_newest(current: dict[str, str], update: dict[str, str]) -> dict[str, str]:
    """Keep what was said last."""
    return merge_statuses(current, update)


REDUCED = Kind(
    "reducer changed",
    (Rebuilt(schema=_schema("Reduced", effects=Annotated[dict[str, str], keep_newest])),),
    unchanged,
    "channel effects: reducer was merge_statuses, is keep_newest",
    "publish in doubt",
)

_GATES = {"plan": "present", "check": "close"}
_BACK = {new: old for old, new in _GATES.items()}


def _gated(values: State, gates: Mapping[str, str]) -> State:
    return {**values, "gate": gates.get(values["gate"], values["gate"])} if "gate" in values else values  # fmt: skip


_ELSEWHERE = Rebuilt(
    loose=_GATES,
    into=lambda state: _gated(state, _BACK),
    out=lambda update: _gated(update, _GATES),
)


def _asking_later(builder: Builder) -> None:
    for gate, new in _GATES.items():
        builder.add_edge(gate, new)
        following = "dispatch" if gate == "plan" else "intend"
        adding(new, END)(builder)
        builder.edges.discard((new, END))
        builder.add_conditional_edges(
            new,
            _ELSEWHERE.router(to_reviews),
            [*(name for name in builder.nodes if name.startswith("review_")), following],
        )


MOVED = Kind(
    "review moved",
    (_ELSEWHERE, _asking_later),
    with_values(lambda values: _gated(values, _GATES)),
    "node present is new",
    "review_report",
    {"present": "plan", "close": "check"},
)


def _joined(builder: Builder) -> Builder:
    made = Rebuilt()(builder)
    made.edges.discard(("branch", "collect"))
    made.add_node("tally", _tally, input_schema=made.state_schema)
    made.add_edge(["branch", "tally"], "collect")
    (router,) = made.branches.pop("dispatch").values()
    path: Any = router.path

    def to_branches(state: Any) -> list[Any] | str:
        to: list[Any] | str = path.func(state)
        waves = isinstance(to, list) and to and to[0].node == "branch"
        return [*to, "tally"] if waves else to

    made.add_conditional_edges("dispatch", to_branches, [*map(str, router.ends or {}), "tally"])
    return made


async def _tally(state: ResearchState) -> dict[str, Any]:
    RAN["tally"] += 1
    return {}


def _tallied(run: Sleeping) -> Sleeping:
    if not any(each.node == "branch" for each in run.next):
        return run
    return run.model_copy(update={"next": (*run.next, Next(node="tally"))})


JOINED = Kind("join changed", (_joined,), _tallied, "join branch, tally -> collect is new", "branch", {"tally": "branch"})  # fmt: skip

KINDS: tuple[Kind, ...] = (
    RENAMED, REMOVED, BEFORE, AFTER, SPLIT, SUBGRAPH, ADDED, CHANNEL_RENAMED, RETYPED, REDUCED, MOVED, JOINED,
)  # fmt: skip
