"""Cancel, doctor, migrate, graph, and what every command says of a database that cannot be used."""

import asyncio
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from graph.cluster import Cluster
from ledger.migrate import migrations
from ledger.stamps import Stamp
from tests.support.commands import end, perdure, start
from tests.support.ledgers import new_run, open_ledger
from tests.support.slow_search import slow_search

UNREACHABLE = "postgresql://maria:secret@127.0.0.1:1/perdure"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    return database_url


ANOTHER = Stamp(1, "sha256:topology")


@pytest.fixture
def two_runs(database: str) -> list[str]:
    """Two runs of one millisecond, of another workflow: their ids begin alike."""

    async def made() -> list[str]:
        async with open_ledger(database) as ledger:
            return [str(await new_run(ledger, stamp=ANOTHER)) for _ in range(2)]

    return asyncio.run(made())


def test_a_prefix_that_fits_two_runs_is_refused_with_both(two_runs: list[str]) -> None:
    ended = perdure("show", "0", "--json")
    assert (ended.code, ended.output) == (2, b"")
    assert all(name in ended.messages for name in two_runs)


def test_a_cancelled_run_stays_cancelled(two_runs: list[str]) -> None:
    ended = perdure("cancel", two_runs[0], "--json")
    assert (ended.code, ended.json) == (0, {"run_id": two_runs[0], "status": "cancelled"})
    again = perdure("cancel", two_runs[0], "--json")
    assert (again.code, again.output) == (2, b"")
    assert "is cancelled: there is nothing to cancel" in again.messages


def test_a_run_of_another_workflow_is_blocked(two_runs: list[str]) -> None:
    ended = perdure("resume", two_runs[0], "--json")
    assert (ended.code, ended.output) == (4, b"")
    assert "another topology" in ended.messages


def test_migrate_prints_what_it_applied(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", empty_database_url)
    assert perdure("migrate").text == "".join(
        f"applied {migration.name}\n" for migration in migrations()
    )
    ended = perdure("migrate", "--json")
    assert (ended.code, ended.json) == (0, {"applied": []})


def test_a_look_at_an_empty_database_finds_nothing(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", empty_database_url)
    ended = perdure("runs", "--json")
    assert (ended.code, ended.json) == (0, [])


def test_a_database_of_a_newer_version_is_left_alone(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO ledger.schema_migrations (version, name, sha256) VALUES (99, 'x', 'y')"
        )
    ended = perdure("runs", "--json")
    assert (ended.code, ended.output) == (1, b"")
    assert "upgraded by a newer version" in ended.messages


def test_what_a_newer_version_only_added_to_a_database_stops_nobody(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO ledger.schema_expansions (version, name, sha256) VALUES (99, 'x', 'y')"
        )
    ended = perdure("runs", "--json")
    assert (ended.code, ended.json) == (0, [])


@pytest.mark.parametrize(
    "arguments",
    [("runs",), ("show", "0"), ("reviews",), ("migrate",), ("cancel", "0")],
    ids=lambda arguments: arguments[0],
)
def test_a_database_that_is_not_there_is_an_error_of_one_line(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", UNREACHABLE)
    ended = perdure(*arguments, "--json")
    assert (ended.code, ended.output) == (1, b"")
    assert "the database cannot be used" in ended.messages
    assert "`perdure doctor`" in ended.messages
    assert "secret" not in ended.messages
    assert len(ended.messages.splitlines()) == 1


def test_a_run_without_a_database_is_an_error_of_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", UNREACHABLE)
    ended = end(start("run", "Why?", "--corpus", "pydoc:topics", "--json"))
    assert (ended.code, ended.output) == (1, b"")
    assert len(ended.messages.splitlines()) == 1
    assert "secret" not in ended.messages


async def test_a_wrong_password_is_named_and_not_shown(
    private_server: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = private_server.url()
    assert url is not None
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER USER postgres PASSWORD 'right'")
        (private_server.data / "pg_hba.conf").write_text("local all all scram-sha-256\n")
        connection.execute("SELECT pg_reload_conf()")
    asked = parse_qs(urlsplit(url).query)
    wrong = f"host={asked['host'][0]} port={asked['port'][0]} user=postgres password=secret7 dbname=postgres"
    monkeypatch.setenv("PERDURE_DATABASE_URL", wrong)
    ended = await asyncio.to_thread(lambda: end(start("runs", "--json")))
    assert (ended.code, ended.output) == (1, b"")
    assert "password authentication failed" in ended.messages
    assert "secret7" not in ended.messages


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("PERDURE_DATABASE_URL", "mysql://maria:secret@host/db", "PERDURE_DATABASE_URL"),
        ("PERDURE_LOG_LEVEL", "loud", "PERDURE_LOG_LEVEL"),
        ("PERDURE_SEARCH_URL", "ftp://secret", "PERDURE_SEARCH_URL"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(
    name: str, value: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    ended = perdure("runs", "--json")
    assert (ended.code, ended.output) == (2, b"")
    assert told in ended.messages
    assert "secret" not in ended.messages


def test_a_home_that_cannot_be_written_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "file" / "home"))
    ended = perdure("runs")
    assert ended.code == 1
    assert "Set PERDURE_HOME" in ended.messages


def test_doctor_finds_all_well(database: str, home: Path) -> None:
    with slow_search() as service, pytest.MonkeyPatch.context() as patch:
        service.released.set()
        patch.setenv("PERDURE_SEARCH_URL", service.url)
        ended = perdure("doctor", "--json")
    assert ended.code == 0, ended.text
    assert ended.json["ok"]
    assert [check["name"] for check in ended.json["checks"]] == [
        *(
            "python",
            "packages",
            "settings",
            "home",
            "database",
            "migrations",
            "seal key",
            "workers",
            "web search",
            "model",
            "mail",
        ),
    ]
    assert str(home) in ended.text


def test_doctor_says_what_is_broken_and_tells_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", UNREACHABLE)
    monkeypatch.setenv("PERDURE_SEARCH_URL", "http://127.0.0.1:1/search?key=secret")
    monkeypatch.setenv("PERDURE_MODEL", "hal")
    monkeypatch.setenv("PERDURE_SMTP_URL", "smtp://ada:secret@127.0.0.1:1")
    monkeypatch.setenv("PERDURE_MAIL_FROM", "ada@example.org")
    monkeypatch.setenv("PERDURE_DATABASES", json.dumps({"archive": UNREACHABLE}))
    ended = perdure("doctor", "--json")
    assert ended.code == 1
    failed = {check["name"] for check in ended.json["checks"] if not check["ok"]}
    assert failed == {"database", "web search", "model", "mail", "database archive"}
    assert "secret" not in ended.text


def test_doctor_reports_settings_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_POOL_SIZE", "many")
    ended = perdure("doctor", "--json")
    assert ended.code == 1
    (failed,) = [check for check in ended.json["checks"] if not check["ok"]]
    assert failed["name"] == "settings"
    assert "PERDURE_POOL_SIZE" in failed["detail"]


def test_graph_prints_mermaid_without_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", UNREACHABLE)
    ended = perdure("graph")
    assert ended.code == 0
    for node in ("plan", "review_sources", "branch", "search", "publish"):
        assert node in ended.text
    assert perdure("graph", "--json").json["mermaid"].strip() == ended.text.strip()


def test_perdure_alone_prints_its_commands_and_version_its_version() -> None:
    alone = perdure()
    assert alone.code == 0
    for command in (
        *("run", "resume", "runs", "show", "sources", "journal", "history", "artifact"),
        *("verify", "reviews", "review", "cancel", "doctor", "migrate", "graph"),
    ):
        assert f" {command} " in alone.text
        helped = perdure(command, "--help")
        assert helped.code == 0
        assert "--json" in helped.text
    assert perdure("--version").text.startswith("perdure 0.")


def test_a_command_that_does_not_exist_is_a_usage_error() -> None:
    assert perdure("explain", "x").code == 2
