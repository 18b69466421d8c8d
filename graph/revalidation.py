"""What a run needs is asked for anew at every recovery: days may have passed, and nothing secret was kept.

Each question is answered by itself, so that a person sees all that is missing at once.
"""

from collections.abc import Awaitable, Callable
from uuid import UUID

from pydantic import ValidationError

from graph.leaving import check_leaving
from graph.runtime import Runtime
from ledger import effects, reviews, sources
from ledger.errors import CredentialRefused
from ledger.recoveries import Asked
from ledger.runs import Run
from nodes.options import BadInput, RunOptions


async def revalidate(runtime: Runtime, run: Run) -> tuple[Asked, ...]:
    """Ask for the policies, the model, the tools, their credentials, the targets, the sources and the approvals of a run."""
    questions: dict[str, Callable[[Runtime, Run], Awaitable[str]]] = {
        "policies": _policies,
        "model": _model,
        "tools": _tools,
        "credentials": _credentials,
        "targets": _targets,
        "sources": _sources,
        "approvals": _approvals,
    }
    return tuple([await _answered(name, ask(runtime, run)) for name, ask in questions.items()])


async def _answered(name: str, answer: Awaitable[str]) -> Asked:
    try:
        return Asked(name=name, ok=True, detail=await answer)
    except (BadInput, CredentialRefused) as error:
        return Asked(name=name, ok=False, detail=str(error))


def _options(run: Run) -> RunOptions:
    try:
        return RunOptions.model_validate(run.options)
    except ValidationError as error:
        names = ", ".join(str(problem["loc"][0]) for problem in error.errors(include_input=False))
        raise BadInput(
            f"the options of run {run.run_id} are not those of this version ({names}); install the version that began it"
        ) from None


async def _policies(_runtime: Runtime, run: Run) -> str:
    return f"reviews: {_options(run).review}"


async def _model(runtime: Runtime, run: Run) -> str:
    model = _options(run).model
    said = await runtime.resources.researchers.check_now(model)
    # The same model may have another address than when the run began.
    await check_leaving(runtime, run, model)
    return said


async def _tools(runtime: Runtime, run: Run) -> str:
    runtime.resources.toolbox.check(_options(run))
    return "the corpus or a web search is at hand"


async def _credentials(runtime: Runtime, _run: Run) -> str:
    return await runtime.resources.toolbox.check_credentials()


async def _targets(runtime: Runtime, run: Run) -> str:
    options = _options(run)
    async with runtime.ledger.transaction() as tx:
        left = [each.target for each in await effects.of_run(tx, run.run_id) if not each.is_settled]
    addresses = dict.fromkeys([*options.publish, *options.notify, *left])
    answers = [await runtime.resources.targets.open(each).check() for each in addresses]
    return "; ".join(answers) or "nothing is published"


async def _sources(runtime: Runtime, run: Run) -> str:
    async with runtime.ledger.transaction() as tx:
        kept = await sources.everything(tx, run.run_id)
    gone = [source for source in kept if source.status != "retained"]
    # Their bytes were compared with their digests when the run was validated; what is cited is cut from those.
    return f"{len(kept)} kept with their bytes, {len(gone)} of them flagged"


async def _approvals(runtime: Runtime, run: Run) -> str:
    decided = await _decided(runtime, run.run_id)
    return f"{decided} decided, as they were given"


async def _decided(runtime: Runtime, run_id: UUID) -> int:
    async with runtime.ledger.transaction() as tx:
        asked = await reviews.newest_first(tx, run_id)
    return sum(review.status == "decided" for review in asked)
