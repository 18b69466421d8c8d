"""However a webhook answers, an effect ends in the state that the README names for it, and the server counts at most one."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import httpx
import pytest

from ledger import artifacts, effects, runs
from ledger.contracts import Contract
from ledger.db import Ledger
from ledger.effects import Effect, Status
from nodes.consequences import intent_of
from nodes.effects import Carrier, Patience, publication_of
from nodes.targets.base import MARKDOWN
from nodes.targets.webhook import WebhookTarget
from tests.support.ledgers import new_run, open_ledger
from tests.support.nasty_webhook import LookUpWay, NastyWebhook, Place, Way

#: Long enough for an answer on a busy machine, short for one that never comes.
KEYED = Contract(kind="keyed", window_seconds=600, request_seconds=4)
# Waits no longer than the answers here ask for.
PATIENCE = Patience(calls_max=6, first_wait=0.0, wait_max=30.0)


@dataclass(frozen=True)
class Case:
    """What the server does, and what becomes of the effect."""

    ways: tuple[Way, ...]
    status: Status
    count: int
    acts: tuple[str, ...]
    look_ups: tuple[LookUpWay, ...] = ()
    contract: Contract = KEYED
    forgets: bool = False
    deliveries: int = 1


_LOOKED = ("send", "look_up")
_AGAIN = ("send", "look_up", "send")

CASES = {
    "accepts and cuts": Case(("cut_before",), "confirmed", 1, _AGAIN),
    "cuts after the commit": Case(("cut_after",), "confirmed", 1, _LOOKED),
    "500 after the commit": Case(("error_after",), "confirmed", 1, _LOOKED),
    "409, then 200": Case(("in_progress",), "confirmed", 1, _AGAIN),
    "422": Case(("other_payload",), "awaiting_person", 0, ("send",)),
    "delivers twice": Case((), "confirmed", 1, ("send",), deliveries=2),
    "replies after the timeout": Case(("late",), "confirmed", 1, _LOOKED),
    "answers with something else": Case(("wrong_content",), "confirmed", 1, ("send",)),
    "redirects": Case(("redirect",), "failed", 0, ("send",)),
    "answers byte by byte": Case(("slow_body",), "confirmed", 1, _LOOKED),
    "429 with Retry-After": Case(("too_many",), "confirmed", 1, ("send", "send")),
    "has forgotten the key": Case(
        ("cut_after",),
        "awaiting_person",
        1,
        _LOOKED,
        contract=Contract(kind="keyed", window_seconds=1, request_seconds=4),
        forgets=True,
    ),
    "lags, and takes keys": Case(("cut_after",), "confirmed", 1, _AGAIN, ("lagging",)),
    "lags, and is asked later": Case(
        ("cut_after",),
        "confirmed",
        1,
        _LOOKED,
        contract=Contract(kind="queryable", request_seconds=4, lag_seconds=0.2),
    ),
    "lies about the payload": Case(("cut_after",), "awaiting_person", 1, _LOOKED, ("lying",)),
    "cannot be asked, takes keys": Case(("cut_after",), "confirmed", 1, _AGAIN, ("not_offered",)),
    "cannot be asked, takes no keys": Case(
        ("cut_after",),
        "awaiting_person",
        1,
        _LOOKED,
        ("not_offered",),
        contract=Contract(kind="queryable", request_seconds=4),
    ),
    "cuts, and nothing is known of it": Case(
        ("cut_after",), "awaiting_person", 1, ("send",), contract=Contract(kind="opaque")
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[NastyWebhook]:
    with NastyWebhook().running() as running:
        yield running


@pytest.fixture
async def ledger(database_url: str) -> AsyncIterator[Ledger]:
    async with open_ledger(database_url) as opened:
        yield opened


async def carried_out(ledger: Ledger, target: WebhookTarget) -> Effect:
    """Record the publication of a report and carry it out as a relay does."""
    run_id = await new_run(ledger)
    content = b"# Beans\n"
    async with ledger.transaction() as tx:
        artifact = await artifacts.put(tx, content, MARKDOWN)
        publication = publication_of(await runs.get(tx, run_id), artifact, content, MARKDOWN)
        intent = intent_of(target, publication, "publish", "publication")
        effect = await effects.get(tx, run_id, await effects.intend(tx, run_id, intent))
    return await Carrier(ledger, None, PATIENCE).carry_out(effect, target)


def prepared(server: NastyWebhook, name: str, case: Case) -> Place:
    place = server.place(name.replace(" ", "-").replace(",", ""))
    place.ways.extend(case.ways)
    place.look_ups.extend(case.look_ups)
    place.retry_after_seconds = 0
    place.forgets = case.forgets
    place.deliveries = case.deliveries
    return place


@pytest.mark.parametrize("name", CASES)
async def test_a_server_that(name: str, ledger: Ledger, server: NastyWebhook) -> None:
    """Ends the effect in its documented state."""
    case = CASES[name]
    place = prepared(server, name, case)
    async with httpx.AsyncClient(trust_env=False) as client:
        target = WebhookTarget(httpx.URL(place.address), client, contract=case.contract)
        effect = await carried_out(ledger, target)
    assert (effect.status, tuple(one.act for one in effect.attempts)) == (case.status, case.acts)
    assert place.effects.total() == case.count
    assert len({asked.body for asked in place.asked if asked.method == "POST"}) == 1
    assert {asked.key for asked in place.asked} == {effect.key}


async def test_a_server_whose_certificate_is_not_valid(ledger: Ledger) -> None:
    """Fails the effect before anything is sent."""
    with NastyWebhook(tls=True).running() as server:
        place = server.place("tls")
        async with httpx.AsyncClient(trust_env=False) as client:
            target = WebhookTarget(httpx.URL(place.address), client, contract=KEYED)
            effect = await carried_out(ledger, target)
        assert (effect.status, place.asked) == ("failed", [])
