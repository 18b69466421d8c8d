"""Runs of every kind are recorded: those that think with a model replay without it, a fork is compared by its shape."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest

from graph.forking import fork_run
from graph.recording import SecretInHistory, record
from graph.replaying.all import play_batch
from graph.replaying.histories import Verdict
from graph.runs import resume_run, start_run
from graph.runtime import Runtime
from graph.workflow import CURRENT
from ledger import records
from ledger.ids import new_run_id
from tests.support.ledgers import SEAL_KEY
from tests.support.mind import sensible
from tests.support.model_runs import asking, thinking_runtime, worked_to_its_end
from tests.support.moonshot.server import KEY, moonshot_server
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus


async def written(runtime: Runtime, run_id: UUID, to: Path) -> Path:
    """Record a run into a file."""
    content = (await record(runtime, run_id)).packed()
    await asyncio.to_thread(to.write_bytes, content)
    return to


async def replayed(server_url: str, template: str, file: Path) -> Verdict:
    (played,) = await play_batch(server_url, template, [file], CURRENT)
    assert played.verdict is not None, played.unreadable
    return played.verdict


async def test_a_run_with_a_model_replays_when_its_model_is_gone(
    database_url: str, server_url: str, template: str, tmp_path: Path
) -> None:
    """Each answer stands in the journal, so a step that asks the same asks nobody."""
    corpus = write_corpus(tmp_path / "garden")
    with moonshot_server(sensible) as server:
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, _):
            run, _ = await worked_to_its_end(runtime, asking(corpus), new_run_id())
            file = await written(runtime, run.run_id, tmp_path / "run.json.gz")
        calls = len(server.calls)
        assert calls > 0
        told = await replayed(server_url, template, file)
        assert len(server.calls) == calls
    assert (told.mode, told.divergence) == ("full", None)
    assert KEY.encode() not in file.read_bytes()


async def test_a_fork_is_compared_by_its_shape_and_says_so(
    database_url: str, server_url: str, template: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        origin = (await start_run(runtime, QUESTION, options(corpus))).run.run_id
        async with runtime.ledger.transaction() as tx:
            found = await records.newest_first(tx, origin)
        at = next(each for each in found if each.boundary == "branch_completed")
        forked = (await fork_run(runtime, origin, at.checkpoint_id)).run_id
        await resume_run(runtime, forked)
        file = await written(runtime, forked, tmp_path / "fork.json.gz")
    told = await replayed(server_url, template, file)
    assert (told.mode, told.divergence) == ("shape", None)
    assert told.note is not None
    assert "fork" in told.note


async def test_a_history_that_would_hold_a_secret_is_not_written(
    database_url: str, tmp_path: Path
) -> None:
    """Somebody pasted it into a document, or into the question."""
    corpus = write_corpus(tmp_path / "garden", {"key.md": f"# Keys\n\nThe key is {SEAL_KEY}.\n"})
    async with runtime_on(database_url, tmp_path / "home", seal_key=SEAL_KEY) as runtime:
        run = (await start_run(runtime, "What is the key?", options(corpus))).run
        with pytest.raises(SecretInHistory, match="PERDURE_SEAL_KEY"):
            await record(runtime, run.run_id)
