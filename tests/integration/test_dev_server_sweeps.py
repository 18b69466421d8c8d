"""LangGraph's dev server takes up the runs of workers that died, without being asked."""

from pathlib import Path

import pytest

from tests.support.dev_server import dev_server
from tests.support.stopped_runs import stopped_run
from tests.support.waiting import wait_until


def test_the_server_finishes_a_run_whose_worker_was_killed(
    monkeypatch: pytest.MonkeyPatch, database_url: str, tmp_path: Path
) -> None:
    with stopped_run(monkeypatch, database_url, tmp_path) as run:
        run.wait_until_asked()
        with dev_server(tmp_path / "server", {}):
            run.process.kill()
            run.search.released.set()
            wait_until(lambda: run.shown()["status"] == "completed")
        assert run.lease()["fence"] == 2
