"""What became of a run's effects: the record of each, held against what those outside it were given.

An effect is confirmed if, and only if, it was carried out, once; only of a target that promises nothing a person is asked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg

from ledger import artifacts, audit, effects
from ledger.db import Ledger
from ledger.effects import Effect
from nodes.targets.email import message_id
from tests.faults.places import OTHER_DATABASE, SENDER, in_database
from tests.faults.taking import Taken

_RECORDED = """
SELECT (SELECT count(*) FROM ledger.effect_attempts WHERE act = 'send' AND key = %(key)s) AS attempts,
       EXISTS (SELECT FROM ledger.effects AS effect JOIN ledger.runs AS run USING (tenant, run_id)
                WHERE effect.key = %(key)s AND (run.status = 'completed' OR EXISTS (
                    SELECT FROM ledger.checkpoint_records AS record
                     WHERE record.run_id = effect.run_id AND record.effects ? effect.key))) AS is_decided
"""
_MAILS = "SELECT DISTINCT key FROM ledger.effects WHERE kind = 'email' AND status <> 'intended'"
_DELIVERED = "SELECT request_digest FROM public.reports WHERE idempotency_key = %(key)s"
_LEFTOVERS = ".perdure-*"


@dataclass(frozen=True)
class Carried:
    """An effect as it is recorded, and how often it was carried out; `again` is how often a person had it sent again."""

    effect: Effect
    times: int
    again: int
    #: How often it is told to be confirmed.
    confirmed: int
    #: Its name outside: its key, of a mail its Message-ID.
    name: str


@dataclass(frozen=True)
class Consequences:
    """Looks at the effects of a lane's runs, and at the tables that reports go to."""

    ledger: Ledger
    url: str

    async def recorded(self, name: str) -> tuple[int, bool]:
        """Return how many attempts to send are recorded of a key, or a Message-ID, and whether what decides it is stored."""
        async with self.ledger.pool.connection() as connection:
            key = name
            if name.startswith("<"):
                rows = await (await connection.execute(_MAILS)).fetchall()
                named = {message_id(row["key"], SENDER): row["key"] for row in rows}
                key = named.get(name, "")
            row = await (await connection.execute(_RECORDED, {"key": key})).fetchone()
        assert row is not None
        return row["attempts"], row["is_decided"]

    async def of(self, run_id: UUID, taken: Taken) -> list[Carried]:
        """Return the effects of a run with what was carried out."""
        async with self.ledger.transaction() as tx:
            recorded = await effects.of_run(tx, run_id)
            entries = await audit.entries(tx, run_id)
        again = [
            entry.detail["effect"]
            for entry in entries
            if entry.event == "effect_settled" and entry.detail["how"] == "SettleAgain"
        ]
        told = [entry.detail["effect"] for entry in entries if entry.event == "effect_confirmed"]
        found: list[Carried] = []
        for effect in recorded:
            name = message_id(effect.key, SENDER) if effect.kind == "email" else effect.key
            times = await self._times(effect, taken.carried[name])
            counts = again.count(effect.key), told.count(effect.key)
            found.append(Carried(effect, times, *counts, name))
        return found

    async def _times(self, effect: Effect, told: int) -> int:
        match effect.kind:
            case "file":
                return await self._file(effect)
            case "postgres":
                other = effect.target.endswith(f"@{OTHER_DATABASE}")
                url = in_database(self.url, OTHER_DATABASE) if other else self.url
                return await _rows(url, effect)
            case _:
                return told

    async def _file(self, effect: Effect) -> int:
        async with self.ledger.transaction() as tx:
            expected = await artifacts.get(tx, effect.artifact)
        return _files(Path(effect.request["path"]), expected)


def _files(path: Path, expected: bytes) -> int:
    if not path.exists():
        return 0
    # A file that is there and is another one is wrong however often it was written.
    return 1 if path.read_bytes() == expected else 2


async def _rows(url: str, effect: Effect) -> int:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        rows = await (await connection.execute(_DELIVERED, {"key": effect.key})).fetchall()
    # The same: a row with another request is wrong.
    return sum(1 if digest == effect.request_digest else 2 for (digest,) in rows)


def problems_of(
    found: Sequence[Carried], taken: Taken, folder: Path, *, done: bool
) -> Iterator[str]:
    """Say what is wrong with effects that nobody works any more; `done` is whether their run is completed."""
    yield from taken.problems
    for name, payloads in taken.payloads.items():
        if len(payloads) > 1:
            yield f"{name} was sent with {len(payloads)} payloads"
    for name in set(taken.arrived) - {each.name for each in found}:
        yield f"{name} was sent and is not recorded"
    for each in found:
        yield from _problems(each, taken)
        if done and each.effect.status != "confirmed":
            status = f"{each.effect.status} ({each.effect.reason})"
            yield f"the run is completed and {each.name} is {status}"
    if any(each.effect.kind == "file" for each in found) and (left := [*folder.glob(_LEFTOVERS)]):
        yield f"{len(left)} temporary files are left"


def _problems(each: Carried, taken: Taken) -> Iterator[str]:
    effect, what = each.effect, f"{each.effect.kind} {each.effect.key}"
    if each.times > 1:
        yield f"{what} was carried out {each.times} times"
    if effect.contract.kind == "opaque" and taken.processed[each.name] > 1 + each.again:
        yield f"{what} is opaque and was sent {taken.processed[each.name]} times"
    if effect.status == "awaiting_person" and effect.contract.kind != "opaque":
        yield f"{what} is {effect.contract.kind} and waits for a person: {effect.reason}"
    if each.confirmed > 1:
        yield f"{what} is told to be confirmed {each.confirmed} times"
    if effect.status == "confirmed" and not each.times:
        yield f"{what} is confirmed and was not carried out"
