"""`perdure verify` on a run that somebody changed behind the ledger's back."""

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.support.commands import perdure
from tests.support.postgres import temporary_database


def rows(*arguments: str) -> Any:
    ended = perdure(*arguments, "--json")
    assert ended.code == 0, ended.messages
    return ended.json


class TestDamage:
    """What `verify` says of a run that somebody changed behind the ledger's back."""

    @pytest.fixture
    def damaged_url(self, server_url: str, finished: str) -> Iterator[str]:
        """A copy of the database with the finished run."""
        assert finished
        name = urlsplit(os.environ["PERDURE_DATABASE_URL"]).path.removeprefix("/")
        with (
            temporary_database(server_url, template=name) as url,
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setenv("PERDURE_DATABASE_URL", url)
            yield url

    @pytest.mark.parametrize(
        ("damage", "failed"),
        [
            (
                "UPDATE ledger.artifacts SET body = 'changed' WHERE media_type LIKE 'text/html%'",
                {"artifacts"},
            ),
            (
                "UPDATE ledger.artifacts SET body = 'changed' WHERE media_type LIKE 'text/plain%'",
                {"artifacts", "quotes"},
            ),
            ("UPDATE ledger.evidence SET start_position = start_position + 1", {"rows", "quotes"}),
            ("DELETE FROM ledger.citations", {"rows", "citations"}),
            (
                "DELETE FROM ledger.finding_evidence",
                {"rows", "findings"},
            ),
            (
                "UPDATE ledger.operations SET accepted_attempt = 7 WHERE kind = 'search'",
                {"rows", "journal"},
            ),
            (
                "DELETE FROM ledger.checkpoint_records WHERE boundary = 'before_synthesis'",
                {"checkpoints"},
            ),
            ("UPDATE langgraph.checkpoints SET metadata = '{}'", {"checkpoints"}),
            ("DELETE FROM langgraph.checkpoint_blobs WHERE channel = 'step'", {"checkpoints"}),
            (
                "SET session_replication_role = replica; UPDATE ledger.audit_log SET actor = 'x'",
                {"rows", "audit log"},
            ),
            (
                "SET session_replication_role = replica; DELETE FROM ledger.audit_log WHERE event = 'run_completed'",
                {"rows", "audit log"},
            ),
            ("UPDATE ledger.runs SET report_artifact = corpus_artifact", {"rows", "audit log"}),
            (
                "UPDATE ledger.operations SET body = convert_to('{}', 'UTF8') WHERE kind = 'search'",
                {"rows", "journal"},
            ),
        ],
        ids=[
            *(
                "bytes",
                "text",
                "position",
                "citation",
                "evidence",
                "journal",
                "record",
                "checkpoint",
                "blob",
                "audit",
            ),
            *("end of audit", "report", "request"),
        ],
    )
    def test_damage_is_found_where_it_is(
        self, finished: str, damaged_url: str, damage: str, failed: set[str]
    ) -> None:
        with psycopg.connect(damaged_url) as connection:
            connection.execute(damage.encode())
        ended = perdure("verify", finished, "--json")
        assert ended.code == 1
        assert not ended.json["ok"]
        assert {check["name"] for check in ended.json["checks"] if not check["ok"]} == failed

    def test_history_says_which_seal_is_broken_and_which_nobody_here_can_check(
        self, finished: str, damaged_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with psycopg.connect(damaged_url) as connection:
            connection.execute(
                "UPDATE ledger.checkpoint_records SET phase = 'x' WHERE boundary = 'plan_validated'"
            )
        broken = [record for record in rows("history", finished) if record["seal"] != "valid"]
        assert {record["boundary"] for record in broken} == {"plan_validated"}
        assert broken[0]["problems"] == ["its record changed"]
        assert not broken[0]["can_fork"]
        monkeypatch.setenv("PERDURE_SEAL_KEY", "0123" * 16)
        assert {record["seal"] for record in rows("history", finished)} == {"unknown"}
        ended = perdure("verify", finished)
        assert ended.code == 4
        assert broken[0]["checkpoint_id"] not in ended.text
