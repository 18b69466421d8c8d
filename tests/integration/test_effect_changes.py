"""How an effect changes: only as the table of transitions says, of two workers one, and by a person's word as it was given."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, get_args

import psycopg
import pytest

from ledger import audit, effects, settling
from ledger.db import Ledger, Transaction
from ledger.effects import TRANSITIONS, Effect, Settlement, Status
from ledger.errors import EffectClosed, IllegalTransition
from tests.support.carrying import again, intended
from tests.support.ledgers import open_ledger

SAID = Settlement(settled_by="ada", why="it is in the box")

Change = Callable[[Transaction, Effect], Awaitable[Any]]


def _last(effect: Effect) -> int:
    return len(effect.attempts)


CHANGES: dict[str, Change] = {
    "begin": lambda tx, one: effects.begin(tx, one, "send"),
    "confirm": lambda tx, one: effects.confirm(tx, one, _last(one), "id-1"),
    "fail": lambda tx, one: effects.fail(tx, one, _last(one), "no"),
    "put_back": lambda tx, one: effects.put_back(tx, one, _last(one), "busy", 0.0),
    "doubt": lambda tx, one: effects.doubt(tx, one, _last(one), "cut", 0.0),
    "stay_in_doubt": lambda tx, one: effects.stay_in_doubt(tx, one, _last(one), "cut", 0.0),
    "await_person": lambda tx, one: effects.await_person(tx, one, "ask"),
    "happened": lambda tx, one: settling.happened(tx, one, "id-1", SAID),
    "did_not_happen": lambda tx, one: settling.did_not_happen(tx, one, SAID),
    "again": lambda tx, one: settling.again(tx, one, SAID),
    "forbid": lambda tx, one: settling.forbid(tx, one, SAID),
}
WAYS: dict[Status, tuple[str, ...]] = {
    "intended": (),
    "sending": ("begin",),
    "confirmed": ("begin", "confirm"),
    "failed": ("begin", "fail"),
    "in_doubt": ("begin", "doubt"),
    "awaiting_person": ("begin", "doubt", "await_person"),
}
# Changes that leave the status as it is.
STAYS = {("begin", "in_doubt"), ("stay_in_doubt", "in_doubt"), ("did_not_happen", "failed")}


async def after(ledger: Ledger, effect: Effect, change: Change) -> Status | None:
    """Return the status that a change leads to, None where it is refused; nothing of it stays."""
    became: list[Status] = []
    with suppress(IllegalTransition, EffectClosed):
        async with ledger.transaction() as tx:
            await change(tx, effect)
            became.append((await effects.get(tx, effect.run_id, effect.key)).status)
            raise psycopg.Rollback
    return became[0] if became else None


async def standing(ledger: Ledger, status: Status) -> Effect:
    """Return an effect that has come to a status by the product's own ways."""
    effect = await intended(ledger)
    for name in WAYS[status]:
        async with ledger.transaction() as tx:
            await CHANGES[name](tx, effect)
        effect = await again(ledger, effect)
    assert effect.status == status
    return effect


async def test_every_change_leads_where_the_table_of_transitions_says_or_is_refused(
    database_url: str,
) -> None:
    """And every transition of that table is made by some change."""
    made: set[tuple[Status, Status]] = set()
    async with open_ledger(database_url) as ledger:
        for status in get_args(Status):
            effect = await standing(ledger, status)
            for name, change in CHANGES.items():
                became = await after(ledger, effect, change)
                if became == status:
                    assert (name, status) in STAYS
                elif became is not None:
                    made.add((status, became))
    assert made == {(left, reached) for left, all_of in TRANSITIONS.items() for reached in all_of}


@pytest.mark.parametrize("name", ["confirm", "fail", "put_back", "doubt"])
async def test_a_worker_with_an_older_attempt_changes_nothing(database_url: str, name: str) -> None:
    async with open_ledger(database_url) as ledger:
        first = await standing(ledger, "sending")
        async with ledger.transaction() as tx:
            await effects.put_back(tx, first, 1, "busy", 0.0)
            await effects.begin(tx, await effects.get(tx, first.run_id, first.key), "send")
        assert await after(ledger, first, CHANGES[name]) is None


@pytest.mark.parametrize("status", ["intended", "in_doubt"])
async def test_of_two_workers_that_begin_one_does(database_url: str, status: Status) -> None:
    async with open_ledger(database_url) as ledger:
        effect = await standing(ledger, status)
        async with ledger.transaction() as tx:
            await effects.begin(tx, effect, "send")
        with pytest.raises(IllegalTransition, match="worked by another"):
            async with ledger.transaction() as tx:
                await effects.begin(tx, effect, "send")
        assert len((await again(ledger, effect)).attempts) == len(effect.attempts) + 1


async def test_an_attempt_ends_once(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        effect = await standing(ledger, "sending")
        async with ledger.transaction() as tx:
            await effects.end(tx, effect, 1, "confirmed", {"external_id": "one"})
        with pytest.raises(IllegalTransition, match="ended already"):
            async with ledger.transaction() as tx:
                await effects.end(tx, effect, 1, "unknown", {"reason": "cut"})
        (attempt,) = (await again(ledger, effect)).attempts
        assert (attempt.outcome, attempt.said) == ("confirmed", {"external_id": "one"})


async def test_a_persons_word_is_kept_with_who_and_why_and_in_the_audit_log(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        effect = await standing(ledger, "awaiting_person")
        async with ledger.transaction(actor="ada") as tx:
            await settling.happened(tx, effect, "<mail-1@example.org>", SAID)
        settled = await again(ledger, effect)
        assert (settled.status, settled.external_id) == ("confirmed", "<mail-1@example.org>")
        assert (settled.settlement, settled.is_settled) == (SAID, True)
        async with ledger.transaction() as tx:
            last = (await audit.entries(tx, effect.run_id))[-1]
        assert (last.event, last.actor) == ("effect_settled", "ada")


async def test_what_was_carried_out_cannot_be_settled_and_the_refusal_says_how_it_stands(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        effect = await standing(ledger, "confirmed")
        with pytest.raises(EffectClosed, match="is confirmed"):
            async with ledger.transaction() as tx:
                await settling.again(tx, effect, SAID)


async def test_a_refusal_counts_as_settled_when_a_person_has_taken_note_of_it(
    database_url: str,
) -> None:
    async with open_ledger(database_url) as ledger:
        effect = await standing(ledger, "failed")
        assert not effect.is_settled
        async with ledger.transaction() as tx:
            await settling.did_not_happen(tx, effect, SAID)
        assert (await again(ledger, effect)).is_settled
        assert await after(ledger, effect, CHANGES["did_not_happen"]) is None
        assert await after(ledger, effect, CHANGES["again"]) == "intended"


async def test_a_refusal_of_what_a_person_had_sent_again_is_not_settled_by_that(
    database_url: str,
) -> None:
    """Else the run would be completed as if somebody had taken note of it."""
    async with open_ledger(database_url) as ledger:
        effect = await standing(ledger, "awaiting_person")
        for change in ("again", "begin", "fail"):
            async with ledger.transaction() as tx:
                await CHANGES[change](tx, effect)
            effect = await again(ledger, effect)
        assert (effect.status, effect.settlement, effect.is_settled) == ("failed", None, False)
        assert await after(ledger, effect, CHANGES["did_not_happen"]) == "failed"
