"""One case: a run that slept at a stop, met by a changed workflow; what became of it, and what is wrong with that."""

from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from io import StringIO

from graph.cli.exits import Code, translated
from graph.errors import CannotMigrate, UnknownWorkflow
from graph.runs import decide, outcome, resume_run
from graph.runtime import Runtime
from graph.upgrading import upgrade_run
from ledger import reviews, workflow_migrations
from ledger.errors import LedgerError
from ledger.questions import Decision
from ledger.verification import verify
from tests.migrations.kinds import RAN, Kind
from tests.migrations.stops import Stop, Stopped, opened
from tests.support.observed import observe
from tests.support.postgres import temporary_database

_APPROVED = Decision(choice="approve", decided_by="ada")
# One for each review of the run, and the end.
_TURNS_MAX = 4
#: The steps of a run that is never sent back, in their order.
ORDER = (
    "__start__", "plan", "review_plan", "decide", "dispatch", "branch", "collect", "dispatch", "compact", "synthesize",
    "check", "review_report", "decide", "intend", "publish",
)  # fmt: skip


@dataclass
class Case:
    """A case and what is wrong with it; `became` is the word for the table."""

    stop: Stop
    became: str = ""
    problems: list[str] = field(default_factory=list[str])

    def expect(self, what: str, found: object, wanted: object) -> None:
        """Note what is not as it has to be."""
        if found != wanted:
            self.problems.append(f"{what}: {found} instead of {wanted}")


async def refused(stopped: Stopped, stop: Stop, kind: Kind, server_url: str) -> Case:
    """Resume under the change without a version: it is refused, and nothing was done."""
    case, outside = Case(stop), stopped.outside
    outside.set_back(stop)
    with temporary_database(server_url, template=stop.database) as url:
        async with opened(stop.trial, url, kind.unversioned) as runtime:
            try:
                case.became = (await resume_run(runtime, stop.run_id)).run.status
            except UnknownWorkflow as error:
                case.became = "refused"
                case.expect("difference named", kind.differs in str(error), True)
                case.expect("exit code", _exit_code(error), Code.BLOCKED)
            case.expect("became", case.became, "completed" if stop.is_done else "refused")
            case.expect("upgrade", (await upgrade_run(runtime, stop.run_id)).became, _UPGRADE[stop.is_done])  # fmt: skip
            await _untouched(case, stopped, runtime)
    return case


_UPGRADE = {False: "refused", True: "current"}


def _exit_code(error: Exception) -> int:
    with redirect_stderr(StringIO()):
        try:
            with translated():
                raise error
        except SystemExit as end:
            return int(end.code or 0)


async def _untouched(case: Case, stopped: Stopped, runtime: Runtime) -> None:
    """See that a run that was refused stands as it stood, and that nobody outside heard of it."""
    stop, outside = case.stop, stopped.outside
    status = (await outcome(runtime, stop.run_id)).run.status
    case.expect("status", status, "completed" if stop.is_done else "blocked")
    case.expect("reviews", await _reviews(runtime, stop), list(stop.reviews))
    case.expect("calls", outside.world.asked, list(stop.asked))
    case.expect("effects", outside.place.effects, stop.carried_out)


async def continued(stopped: Stopped, stop: Stop, kind: Kind, server_url: str) -> Case:
    """Migrate to the version of the change, approve what is asked, and go on to the end."""
    case, outside = Case(stop), stopped.outside
    outside.set_back(stop)
    RAN.clear()
    with temporary_database(server_url, template=stop.database) as url:
        async with opened(stop.trial, url, kind.versioned) as runtime:
            try:
                case.became = await _worked(runtime, stop)
            except CannotMigrate:
                case.became = "refused"
                await _untouched(case, stopped, runtime)
                return case
            except LedgerError as error:
                case.became = type(error).__name__
                case.problems.append(str(error))
                return case
            await _judge(case, stopped, runtime)
    if kind.runs:
        case.expect("nodes that are new", dict(RAN), dict(_due(stop, kind)))
    return case


async def _worked(runtime: Runtime, stop: Stop) -> str:
    for _ in range(_TURNS_MAX):
        found = await resume_run(runtime, stop.run_id)
        if found.run.status != "paused":
            return found.run.status
        for each in found.reviews:
            await decide(runtime, each.review_id, _APPROVED)
    return "paused without end"


def _due(stop: Stop, kind: Kind) -> Iterator[tuple[str, int]]:
    """Say which of the nodes that a kind adds have to run: those that the run had not passed."""
    here = place_of(stop)
    for name, before in kind.runs.items():
        if here <= ORDER.index(before):
            yield name, 1


def place_of(stop: Stop) -> int:
    """Return where in ORDER a run stands; what comes twice is told apart by what was asked by then."""
    if stop.is_done:
        return len(ORDER)
    first = ORDER.index(stop.steps[0])
    is_later = stop.steps[0] == "decide" and ("report", "decided") in stop.reviews
    is_later |= stop.steps[0] == "dispatch" and stop.inside > 0
    return ORDER.index(stop.steps[0], first + 1) if is_later else first


async def _judge(case: Case, stopped: Stopped, runtime: Runtime) -> None:
    stop, outside = case.stop, stopped.outside
    observed = await observe(runtime.ledger, stop.run_id, outside.world)
    case.expect("result", observed.result, stopped.end.result)
    async with runtime.ledger.transaction(one_moment=True) as tx:
        case.problems += [f"verify: {each.name}: {each.detail}" for each in await verify(tx, stop.run_id) if not each.ok]  # fmt: skip
        asked = await reviews.newest_first(tx, stop.run_id)
        migrations = await workflow_migrations.newest_first(tx, stop.run_id)
    case.expect("migrations", len(migrations), 0 if stop.is_done else 1)
    case.expect("reviews", await _reviews(runtime, stop), [("report", "decided"), ("plan", "decided")])  # fmt: skip
    case.expect("applied", all(each.applied_at for each in asked), True)
    new = Counter(outside.world.asked) - Counter(stop.asked)
    case.expect("calls after the stop", dict(new), dict(stopped.end.accepted - Counter(stop.answered)))  # fmt: skip
    # A notice is named by its review, and what a review of sources shows says when they were read: only counts compare.
    carried_out = stop.carried_out if stop.is_done else stopped.carried_out
    found = outside.place.effects
    case.expect("effects", sorted(found.values()), sorted(carried_out.values()))
    case.expect("effects from before", stop.carried_out - found, Counter())


async def _reviews(runtime: Runtime, stop: Stop) -> list[tuple[str, str]]:
    async with runtime.ledger.transaction() as tx:
        found = await reviews.newest_first(tx, stop.run_id)
    return [(each.kind, each.status) for each in found]
