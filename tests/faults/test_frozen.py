"""A worker is frozen in the middle of a branch, another takes its run over and finishes it, and the first wakes."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ledger.db import Ledger
from tests.support.commands import end, perdure
from tests.support.observed import table_digests
from tests.support.stopped_runs import StoppedRun, stopped_run

WAITS_FOR_THE_TABLE = (
    "SELECT FROM pg_locks WHERE NOT granted AND relation = 'ledger.attempts'::regclass"
)
OPEN_TRANSACTIONS = """
SELECT FROM pg_stat_activity AS session JOIN pg_locks AS lock USING (pid)
 WHERE session.application_name = %s AND lock.relation = 'ledger.leases'::regclass AND session.wait_event = 'ClientRead'
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, database_url: str, tmp_path: Path) -> Iterator[StoppedRun]:
    with stopped_run(monkeypatch, database_url, tmp_path) as begun:
        yield begun


async def check_it_wakes_and_changes_nothing(run: StoppedRun, ledger: Ledger) -> None:
    """Take the run over once its lease has run out, finish it, and wake the first worker."""
    assert perdure("resume", run.run_id).code == 5
    while run.lease()["alive"]:
        pass
    run.search.released.set()
    taken = perdure("resume", run.run_id)
    assert taken.code == 0, taken.messages
    successor = run.lease()["owner"]
    before = await table_digests(ledger)
    run.signal(signal.SIGCONT)
    woken = end(run.process)
    assert (woken.code, woken.output) == (5, b"")
    assert f"another worker took this run over ({successor})" in woken.messages
    assert await table_digests(ledger) == before
    assert perdure("verify", run.run_id).code == 0


async def test_a_worker_that_wakes_after_a_takeover_changes_nothing(
    run: StoppedRun, ledger: Ledger
) -> None:
    run.wait_until_asked()
    run.freeze()
    await check_it_wakes_and_changes_nothing(run, ledger)


async def test_a_worker_that_was_frozen_within_a_transaction_is_not_in_the_way(
    run: StoppedRun, ledger: Ledger, database_url: str
) -> None:
    """It has checked its fence, which locks the lease, and its session waits for a client that says no more."""
    with (
        psycopg.connect(database_url) as lock,
        psycopg.connect(database_url, autocommit=True) as look,
    ):
        lock.execute("LOCK TABLE ledger.attempts IN SHARE MODE")
        while not look.execute(WAITS_FOR_THE_TABLE).fetchone():
            assert run.process.poll() is None
        run.freeze()
        lock.rollback()
        while not look.execute(OPEN_TRANSACTIONS, (run.lease()["owner"],)).fetchone():
            pass
    await check_it_wakes_and_changes_nothing(run, ledger)
