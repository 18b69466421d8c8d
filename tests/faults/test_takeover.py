"""A process that was running all along takes a run up whose worker froze or died, within a second of its lease."""

import json
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import end, perdure, start
from tests.support.stopped_runs import StoppedRun, stopped_run
from tests.support.waiting import wait_until


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, database_url: str, tmp_path: Path) -> Iterator[StoppedRun]:
    with stopped_run(monkeypatch, database_url, tmp_path) as begun:
        yield begun


def last_and_next(run: StoppedRun) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the lease of the dead worker as it last stood, and its successor's."""
    seen = [run.lease()]

    def succeeded() -> bool:
        seen.append(run.lease())
        return bool(seen[-1]["fence"] > seen[0]["fence"])

    wait_until(succeeded)
    return seen[-2], seen[-1]


@pytest.mark.parametrize("end_it", [signal.SIGSTOP, signal.SIGKILL], ids=["frozen", "killed"])
def test_an_orphan_is_taken_up_within_a_second_of_the_end_of_its_lease(
    run: StoppedRun, end_it: signal.Signals
) -> None:
    watching = start("sweep", "--watch", "--json")
    try:
        assert watching.stderr is not None
        assert b"watching" in watching.stderr.readline()
        run.wait_until_asked()
        run.signal(end_it)
        last, taken = last_and_next(run)
        late = taken["acquired_at"] - last["expires_at"]
        print(f"\ntaken up {late.total_seconds():+.3f} s after the end of the lease")
        assert late <= timedelta(seconds=1)
        # A connection that is gone tells of a death sooner; a frozen worker has its whole lease.
        assert end_it is signal.SIGKILL or late >= timedelta(0)
        run.search.released.set()
        assert watching.stdout is not None
        swept = json.loads(watching.stdout.readline())
        assert (swept["run_id"], swept["owner"]) == (run.run_id, last["owner"])
        assert swept["became"] == "completed"
        watching.send_signal(signal.SIGTERM)
        assert end(watching).code == 130
    finally:
        watching.kill()
        watching.communicate()
    assert perdure("show", run.run_id, "--json").json["status"] == "completed"
