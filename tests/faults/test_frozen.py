"""A worker is frozen in the middle of a branch, another takes its run over and finishes it, and the first wakes."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.commands import end, perdure
from tests.support.observed import reading, table_digests
from tests.support.stopped_runs import StoppedRun, stopped_run
from tests.support.waiting import wait_until

WAITS_FOR_THE_TABLE = (
    "SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'ledger.attempts'::regclass"
)
OPEN_TRANSACTIONS = """
SELECT session.pid FROM pg_stat_activity AS session JOIN pg_locks AS lock USING (pid)
 WHERE session.application_name = %s AND lock.relation = 'ledger.leases'::regclass AND session.wait_event = 'ClientRead'
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, database_url: str, tmp_path: Path) -> Iterator[StoppedRun]:
    with stopped_run(monkeypatch, database_url, tmp_path) as begun:
        yield begun


def digests(database_url: str) -> dict[str, str]:
    """Return a digest of every table."""

    async def read() -> dict[str, str]:
        async with reading(database_url) as ledger:
            return await table_digests(ledger)

    return asyncio.run(read())


def check_it_wakes_and_changes_nothing(run: StoppedRun, database_url: str) -> None:
    """Take the run over once its lease has run out, finish it, and wake the first worker."""
    assert perdure("resume", run.run_id).code == 5
    wait_until(lambda: not run.lease()["alive"])
    run.search.released.set()
    taken = perdure("resume", run.run_id)
    assert taken.code == 0, taken.messages
    successor = run.lease()["owner"]
    before = digests(database_url)
    run.signal(signal.SIGCONT)
    woken = end(run.process)
    assert (woken.code, woken.output) == (5, b"")
    assert f"another worker took this run over ({successor})" in woken.messages
    assert digests(database_url) == before
    assert perdure("verify", run.run_id).code == 0


def test_a_worker_that_wakes_after_a_takeover_changes_nothing(
    run: StoppedRun, database_url: str
) -> None:
    run.wait_until_asked()
    run.freeze()
    check_it_wakes_and_changes_nothing(run, database_url)


def test_a_worker_that_was_frozen_within_a_transaction_is_not_in_the_way(
    run: StoppedRun, database_url: str
) -> None:
    """It has checked its fence, which locks the lease, and its session waits for a client that says no more."""
    with (
        psycopg.connect(database_url) as lock,
        psycopg.connect(database_url, autocommit=True) as look,
    ):
        lock.execute("LOCK TABLE ledger.attempts IN SHARE MODE")
        wait_until(lambda: look.execute(WAITS_FOR_THE_TABLE).fetchone())
        run.freeze()
        lock.rollback()
        owner = run.lease()["owner"]
        wait_until(lambda: look.execute(OPEN_TRANSACTIONS, (owner,)).fetchone())
    check_it_wakes_and_changes_nothing(run, database_url)
