"""The ledger's rules for intents: one request per key for ever, and no impossible row."""

from typing import Any

import psycopg
import pytest

from ledger import effects
from ledger.errors import EffectKeyTaken, NotFound
from tests.support.carrying import INTENT, intended
from tests.support.ledgers import execute, new_run, open_ledger


async def test_an_intent_stands_once_however_often_its_step_is_run(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        effect = await intended(ledger)
        async with ledger.transaction() as tx:
            await effects.begin(tx, effect, "send")
            assert await effects.intend(tx, effect.run_id, INTENT) == effect.key
            (stands,) = await effects.of_run(tx, effect.run_id)
        assert (stands.status, len(stands.attempts)) == ("sending", 1)
        assert (stands.request, stands.contract) == (INTENT.request, INTENT.contract)


async def test_what_is_done_at_another_step_to_another_target_or_by_another_run_is_another_effect(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        one, other = await new_run(ledger), await new_run(ledger)
    changed: list[dict[str, Any]] = [
        {"step": "again"},
        {"target": "https://elsewhere"},
        {"request": {"report": "peas"}},
    ]
    keys = [INTENT.model_copy(update=each).key(one) for each in [{}, *changed]]
    assert len({*keys, INTENT.key(other)}) == len(keys) + 1


@pytest.mark.parametrize(
    ("run", "digest"), [("other", INTENT.request_digest), ("own", "sha256:another")]
)
async def test_a_key_that_stands_for_another_request_is_refused_and_nothing_recorded(
    database_url: str, run: str, digest: str
) -> None:
    async with open_ledger(database_url) as ledger:
        own, other = await new_run(ledger), await new_run(ledger)
        owner = own if run == "own" else other
        await execute(
            ledger,
            "INSERT INTO ledger.effect_keys (tenant, key, run_id, request_digest)"
            f" VALUES ('default', '{INTENT.key(own)}', '{owner}', '{digest}')",
        )
        with pytest.raises(EffectKeyTaken, match=INTENT.key(own)):
            async with ledger.transaction() as tx:
                await effects.intend(tx, own, INTENT)
        async with ledger.transaction() as tx:
            assert await effects.of_run(tx, own) == []


async def test_a_key_outlives_the_record_of_its_effect(database_url: str) -> None:
    """Whoever deletes the history of a run and begins it again under the same id sends nothing a second time."""
    async with open_ledger(database_url) as ledger:
        effect = await intended(ledger)
        await execute(
            ledger,
            "SET session_replication_role = replica; DELETE FROM ledger.effects;"
            " SET session_replication_role = DEFAULT",
        )
        with pytest.raises(EffectKeyTaken, match="was deleted"):
            async with ledger.transaction() as tx:
                await effects.intend(tx, effect.run_id, INTENT)


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM ledger.effect_keys", "UPDATE ledger.effect_keys SET request_digest = ''"],
)
async def test_a_key_is_never_freed_or_changed(database_url: str, statement: str) -> None:
    async with open_ledger(database_url) as ledger:
        await intended(ledger)
        with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
            await execute(ledger, statement)


IMPOSSIBLE = [
    "UPDATE ledger.effects SET status = 'done'",
    "UPDATE ledger.effects SET mode = 'rumour'",
    "UPDATE ledger.effects SET contract_kind = 'hopeful'",
    "UPDATE ledger.effects SET status = 'confirmed', attempts = 1",
    "UPDATE ledger.effects SET status = 'confirmed', external_id = 'x'",
    "UPDATE ledger.effects SET external_id = 'x'",
    "UPDATE ledger.effects SET status = 'sending'",
    "UPDATE ledger.effects SET status = 'in_doubt', reason = 'x'",
    "UPDATE ledger.effects SET status = 'awaiting_person', reason = 'x'",
    "UPDATE ledger.effects SET status = 'failed'",
    "UPDATE ledger.effects SET status = 'in_doubt', attempts = 1",
    "UPDATE ledger.effects SET attempts = -1",
    "UPDATE ledger.effects SET reused_from = run_id",
    "UPDATE ledger.effects SET settled_at = now()",
    "UPDATE ledger.effects SET settled_body = 'x', settled_key_id = 'plain'",
]
_ATTEMPT = (
    "INSERT INTO ledger.effect_attempts (tenant, run_id, key, number, act, worker, fence, outcome, ended_at, key_id, body)"
    " SELECT tenant, run_id, key, {number}, '{act}', 'w', 0, '{outcome}', {ended}, 'plain', {body} FROM ledger.effects"
)
_ENDED: dict[str, Any] = {"number": 1, "act": "send", "outcome": "confirmed", "ended": "now()"}
IMPOSSIBLE_ATTEMPTS: list[dict[str, Any]] = [
    {"number": 0},
    {"act": "hope"},
    {"outcome": "perhaps"},
    {"ended": "NULL"},
    {"body": "NULL"},
    {"outcome": "started"},
    {"outcome": "absent"},
    {"outcome": "no_look_up"},
    {"act": "look_up", "outcome": "refused"},
    {"act": "look_up", "outcome": "not_sent"},
]


async def test_an_impossible_row_is_refused_by_the_table(database_url: str) -> None:
    attempts = [
        _ATTEMPT.format(**{**_ENDED, "body": "'x'", **each}) for each in IMPOSSIBLE_ATTEMPTS
    ]
    async with open_ledger(database_url) as ledger:
        await intended(ledger)
        await execute(ledger, "BEGIN; " + _ATTEMPT.format(**_ENDED, body="'x'") + "; ROLLBACK")
        for statement in [*IMPOSSIBLE, *attempts]:
            with pytest.raises(psycopg.errors.CheckViolation):
                await execute(ledger, statement)


async def test_an_effect_is_found_by_the_beginning_of_its_key_if_only_one_begins_so(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        one, other = await intended(ledger), await intended(ledger)
        async with ledger.transaction() as tx:
            assert (await effects.find(tx, one.key)).run_id == one.run_id
            assert (await effects.find(tx, f" {other.key} ")).run_id == other.run_id
            for wanted in ("eff_", "", "nothing", "%"):
                with pytest.raises(NotFound, match="perdure effects"):
                    await effects.find(tx, wanted)
