"""Targets of runs that LangGraph's server begins: checked, and made absolute, before there is a run."""

from pathlib import Path
from uuid import UUID

import pytest

from graph.runtime import Runtime
from graph.threads import run_config
from graph.working import working
from ledger import runs
from ledger.errors import NotFound
from ledger.ids import new_run_id
from nodes.options import BadInput, RunOptions
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus


async def begin(runtime: Runtime, run_id: UUID, chosen: RunOptions) -> None:
    """Begin a run as the server does: with its question as input, the rest as context."""
    async with working(runtime, run_id):
        graph, config = runtime.compiled(), run_config(run_id, chosen)
        await graph.ainvoke({"question": QUESTION}, config, context=chosen, durability="sync")


@pytest.mark.parametrize(
    "address", ["https://ada:hunter2@hooks.example.org/", "file:no/such/folder/"]
)
async def test_an_address_that_cannot_be_used_is_refused_before_it_is_recorded(
    database_url: str, tmp_path: Path, address: str
) -> None:
    chosen = options(write_corpus(tmp_path / "garden")).model_copy(update={"publish": (address,)})
    run_id = new_run_id()
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        with pytest.raises(BadInput):
            await begin(runtime, run_id, chosen)
        async with runtime.ledger.transaction() as tx:
            with pytest.raises(NotFound):
                await runs.get(tx, run_id)


async def test_a_relative_path_holds_in_any_folder(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    chosen = options(write_corpus(tmp_path / "garden")).model_copy(
        update={"publish": ("file:out/",)}
    )
    run_id = new_run_id()
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        await begin(runtime, run_id, chosen)
        async with runtime.ledger.transaction() as tx:
            run = await runs.get(tx, run_id)
    assert (run.status, run.options["publish"]) == ("completed", [f"file:{tmp_path}/out/"])
