"""Two versions of the workflow work side by side on one database: each takes its own runs up, and no other."""

import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from tests.support.commands import PERDURE
from tests.support.installed import ROOT, Installed, installed_change, installed_release
from tests.support.waiting import wait_until

BEGIN_RUNS = str(ROOT / "tests/support/begin_runs.py")
WHOLE = bool(os.environ.get("PERDURE_TEST_WHOLE"))
RUNS = 100 if WHOLE else 10  # of each version
KILLS = 20 if WHOLE else 4
SEED = 6

# Whoever ever held a run, and nobody can leave: what this test asks.
_WATCH = """
    CREATE TABLE public.held (run_id uuid, owner text);
    CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.held VALUES (NEW.run_id, NEW.owner);
        RETURN NEW;
    END $$;
    CREATE TRIGGER note AFTER INSERT OR UPDATE ON ledger.leases FOR EACH ROW EXECUTE FUNCTION public.note();
"""
_FINISHED = "SELECT count(*) FROM ledger.runs WHERE status = 'completed'"
_STOPPED = "SELECT count(*) FROM ledger.runs WHERE status IN ('blocked', 'failed')"
_CHECKPOINTS = "SELECT count(*) FROM langgraph.checkpoints"
# Runs of a version that a dead worker left and whose lease lasts: once there are none, everybody may take them.
_LASTING = """
    SELECT count(*) FROM ledger.leases JOIN ledger.runs AS run USING (tenant, run_id)
     WHERE run.workflow_version = {} AND status = 'running' AND released_at IS NULL AND expires_at > clock_timestamp()
"""
_HELD = """
    SELECT run.workflow_version, held.owner FROM ledger.runs AS run JOIN public.held AS held USING (run_id)
     UNION SELECT workflow_version, worker FROM ledger.runs JOIN ledger.attempts USING (tenant, run_id)
     UNION SELECT workflow_version, worker FROM ledger.runs JOIN ledger.recoveries USING (tenant, run_id)
"""
_STAMPS = """
    SELECT run_id, array_agg(DISTINCT record.workflow_version) AS versions, run.workflow_version
      FROM ledger.checkpoint_records AS record JOIN ledger.runs AS run USING (tenant, run_id)
     GROUP BY run_id, run.workflow_version
"""
_ASKED_TWICE = """
    SELECT run_id, operation_id FROM ledger.attempts WHERE outcome = 'succeeded'
     GROUP BY run_id, operation_id HAVING count(*) > 1
"""


@dataclass
class Version:
    """One of the versions, with the processes that it was."""

    installed: Installed
    number: int
    pids: set[int] = field(default_factory=set[int])
    sweeper: "subprocess.Popen[bytes] | None" = None

    def begin_runs(self, corpus: Path) -> "subprocess.Popen[bytes]":
        """Begin this version's share of the runs, all in one process."""
        begun = self.installed.begin(BEGIN_RUNS, str(RUNS), str(corpus), stderr=subprocess.DEVNULL)
        self.pids.add(begun.pid)
        return begun

    def watch(self) -> None:
        """Let a worker of this version take up what workers have left."""
        self.sweeper = self.installed.start("sweep", "--watch", stderr=subprocess.DEVNULL)
        self.pids.add(self.sweeper.pid)

    def kill(self) -> None:
        """Kill that worker."""
        assert self.sweeper is not None
        _killed(self.sweeper)
        self.sweeper = None


@pytest.fixture
def versions(tmp_path: Path) -> list[Version]:
    """The release, and what follows this code: another number, another name of a node, no way from one to the other."""
    changed = [
        ("graph/versions.py", "WORKFLOW_VERSION: Final = 2", "WORKFLOW_VERSION: Final = 3"),
        ("graph/build.py", '"collect"', '"gather"'),
    ]
    return [
        Version(installed_release(tmp_path / "release"), 2),
        Version(installed_change(tmp_path / "change", changed), 3),
    ]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A page that answers the questions of all runs."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    page = "<html><title>Harbour</title><body><p>The harbour master opens gate {} at noon.</p></body></html>"
    for gate in range(3):
        (folder / f"gate-{gate}.html").write_text(page.format(gate))
    return folder


def test_every_run_is_finished_by_a_version_that_supports_it_and_touched_by_no_other(
    versions: list[Version],
    corpus: Path,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PERDURE_LEASE_SECONDS", "5")
    chance = random.Random(SEED)
    with psycopg.connect(database_url, autocommit=True) as connection, _ended(versions):
        connection.execute(_WATCH)
        count = _counter(connection, versions)
        # Both look for what was left from the first moment on.
        for version in versions:
            version.watch()
        begun = [version.begin_runs(corpus) for version in versions]
        for process in begun:
            wanted = count(_CHECKPOINTS) + chance.randrange(RUNS, 3 * RUNS)
            wait_until(lambda wanted=wanted: count(_CHECKPOINTS) >= wanted or process.poll() == 0)  # type: ignore[misc]  # noqa: B023
            _killed(process)
        for number in range(KILLS):
            wanted = count(_CHECKPOINTS) + chance.randrange(2 * RUNS)
            wait_until(
                lambda wanted=wanted: (  # type: ignore[misc]
                    count(_CHECKPOINTS) >= wanted or count(_FINISHED) == 2 * RUNS
                )
            )
            version = versions[number % 2]
            version.kill()
            # Until it is there again, the other one sees what it left.
            wait_until(lambda version=version: count(_LASTING.format(version.number)) == 0)  # type: ignore[misc]
            version.watch()
        wait_until(lambda: count(_FINISHED) == 2 * RUNS)
        workers = connection.execute(_HELD).fetchall()
        stamps = connection.execute(_STAMPS).fetchall()
        twice = connection.execute(_ASKED_TWICE).fetchall()
    for version in versions:
        mine = {int(owner.split(":")[1]) for number, owner in workers if number == version.number}
        assert mine, "a version worked nothing"
        assert mine <= version.pids
        print(f"\nversion {version.number}: {RUNS} runs, {len(mine)} workers")
    assert len(stamps) == 2 * RUNS
    assert [each for each in stamps if each[1] != [each[2]]] == []
    assert twice == []


def test_the_release_before_works_on_todays_tables_beside_today(
    corpus: Path, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    before = installed_release(tmp_path / "release")
    asked = "What does the harbour master open?"
    begun = before.run("run", asked, "--corpus", str(corpus), "--review", "plan", "--json")
    assert begun.code == 3, begun.messages
    run_id, review_id = begun.json["run_id"], begun.json["reviews"][0]["review_id"]
    decided = before.run("review", review_id, "--approve", "--as", "kim", "--json")
    assert decided.code == 0, decided.messages
    assert before.run("resume", run_id).code == 0
    assert before.run("verify", run_id).code == 0
    today = Installed(Path(PERDURE).parent / "python")
    assert today.run("verify", run_id).code == 0
    other = today.run("run", asked, "--corpus", str(corpus), "--review", "plan", "--json")
    assert other.code == 3, other.messages
    refused = before.run("resume", other.json["run_id"])
    assert refused.code == 4, refused.messages
    assert "another topology" in refused.messages
    # What the release began and a person has to decide, today's code goes on with.
    third = before.run("run", asked, "--corpus", str(corpus), "--review", "plan", "--json")
    reviewed = today.run(
        "review", third.json["reviews"][0]["review_id"], "--approve", "--as", "kim"
    )
    assert reviewed.code == 0, reviewed.messages
    resumed = today.run("resume", third.json["run_id"], "--json")
    assert (resumed.code, resumed.json["status"]) == (0, "completed"), resumed.messages


def _counter(
    connection: "psycopg.Connection[tuple[object, ...]]", versions: list[Version]
) -> Callable[[str], int]:
    def count(statement: str) -> int:
        rows = [connection.execute(each).fetchone() for each in (_STOPPED, statement)]
        stopped, found = (int(str(row[0])) for row in rows if row is not None)
        assert stopped == 0, "a run was stopped"
        ended = [
            each.number for each in versions if each.sweeper and each.sweeper.poll() is not None
        ]
        assert ended == [], "a worker ended by itself"
        return found

    return count


@contextmanager
def _ended(versions: list[Version]) -> Iterator[None]:
    """Leave no worker behind."""
    try:
        yield
    finally:
        for version in versions:
            if version.sweeper is not None:
                _killed(version.sweeper)


def _killed(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()
