"""Whatever way a webhook has of answering, the effect ends as the README says, and its server has counted so many.

The whole engine is at work: intents and attempts on a real ledger, and real HTTP. A redirect, a refusal and a lie are left to
a person; everything else ends in one effect, whatever the answer made of it looked like.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from ledger.contracts import Contract
from ledger.effects import Effect, Status
from nodes.effects import Patience
from nodes.targets.webhook import WebhookTarget
from tests.support.carrying import age, decided, outcomes, worker
from tests.support.ledgers import open_ledger
from tests.support.nasty_webhook import (
    RETRY_AFTER_SECONDS,
    LookUpWay,
    NastyWebhook,
    Place,
    Way,
)

README = (Path(__file__).parents[2] / "README.md").read_text()
# Nothing waits for it but what never comes.
KEYED = Contract(kind="keyed", window_seconds=3600, request_seconds=60)
SHORT = Contract(kind="keyed", window_seconds=3600, request_seconds=3)
QUERYABLE = Contract(kind="queryable", request_seconds=60, lag_seconds=30)
OPAQUE = Contract(kind="opaque", request_seconds=60)
LEASE_SECONDS = 60.0
ASKED = ("look_up", "confirmed")


@dataclass(frozen=True)
class Case:
    """How a server answers, and how the effect ends; `told` is the server's row in the README."""

    told: str
    ways: tuple[Way, ...]
    status: Status
    counted: int
    tried: tuple[tuple[str, str], ...]
    look_ups: tuple[LookUpWay, ...] = ()
    contract: Contract = KEYED


CUT = ("send", "unknown")
CASES = [
    Case(
        "carries it out and cuts the connection",
        ("cut_after",),
        "confirmed",
        1,
        (CUT, ASKED),
    ),
    Case(
        "cuts it before that",
        ("cut_before",),
        "confirmed",
        1,
        (CUT, ("look_up", "absent"), ("send", "confirmed")),
    ),
    Case("answers 500 after it", ("error_after",), "confirmed", 1, (CUT, ASKED)),
    Case(
        "answers 409, is at it, then 200",
        ("in_progress",),
        "confirmed",
        1,
        (CUT, ("look_up", "unknown"), ("send", "confirmed")),
        ("in_progress",),
    ),
    Case(
        "answers 422: the key has another payload",
        ("other_payload",),
        "awaiting_person",
        0,
        (("send", "differs"),),
    ),
    Case(
        "answers after the timeout",
        ("late",),
        "confirmed",
        1,
        (CUT, ASKED),
        contract=SHORT,
    ),
    Case(
        "answers with a body that is no JSON",
        ("wrong_content",),
        "confirmed",
        1,
        (("send", "confirmed"),),
    ),
    Case("redirects", ("redirect",), "failed", 0, (("send", "refused"),)),
    Case(
        "sends a body that does not end",
        ("slow_body",),
        "confirmed",
        1,
        (CUT, ASKED),
        contract=SHORT,
    ),
    Case(
        "answers 429 with Retry-After",
        ("too_many",),
        "intended",
        0,
        (("send", "not_sent"),),
    ),
    Case(
        "forgot the key: its window is over",
        ("cut_after",),
        "awaiting_person",
        1,
        (CUT, ("look_up", "absent")),
        ("lagging",),
        contract=Contract(kind="keyed", window_seconds=60, request_seconds=60),
    ),
    Case(
        "shows late what it carried out; queryable",
        ("cut_after",),
        "confirmed",
        1,
        (CUT, ("look_up", "confirmed")),
        contract=QUERYABLE,
    ),
    Case(
        "shows another payload under the key; queryable",
        ("cut_after",),
        "awaiting_person",
        1,
        (CUT, ("look_up", "differs")),
        ("lying",),
        contract=QUERYABLE,
    ),
    Case(
        "cannot be asked, and cuts the connection; opaque",
        ("cut_after",),
        "awaiting_person",
        1,
        (CUT,),
        contract=OPAQUE,
    ),
]
DUPLICATE, UNTRUSTED = (
    "is given the same request twice on the way",
    "has a certificate that is not valid",
)


@pytest.fixture(scope="module")
def server() -> Iterator[NastyWebhook]:
    with NastyWebhook().running() as running:
        yield running


async def carried_out(database_url: str, place: Place, contract: Contract) -> Effect:
    """Let a worker do what it can."""
    async with (
        httpx.AsyncClient(trust_env=False) as client,
        open_ledger(database_url, lease_seconds=LEASE_SECONDS) as ledger,
    ):
        target = WebhookTarget(httpx.URL(place.address), client, None, contract)
        effect = await decided(ledger, target)
        carrier = await worker(ledger, effect)
        after = await carrier.carry_out(effect, target)
        if after.status == "in_doubt":
            assert contract.kind == "queryable"
            assert outcomes(after) == [CUT], (
                "it is not asked before its time, and the lag, are over"
            )
            await age(ledger, effect, contract.request_seconds + contract.lag_seconds)
            after = await carrier.carry_out(effect, target)
        return after


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.told)
async def test_each_way_of_answering_ends_in_the_documented_status(
    database_url: str, server: NastyWebhook, case: Case
) -> None:
    place = server.place(f"way{CASES.index(case)}")
    place.ways, place.look_ups = list(case.ways), list(case.look_ups)
    after = await carried_out(database_url, place, case.contract)
    assert (after.status, tuple(outcomes(after))) == (case.status, case.tried)
    assert place.effects.total() == case.counted
    assert set(place.effects) <= {after.key}
    assert f"| {case.told} | `{case.status}` | {case.counted} |" in README


async def test_a_request_that_arrives_twice_is_one_effect(
    database_url: str, server: NastyWebhook
) -> None:
    """Something on the way sends it again: the server is given the same bytes once more, with the same key."""
    place = server.place("twice")
    after = await carried_out(database_url, place, KEYED)
    (asked,) = place.asked
    async with httpx.AsyncClient(trust_env=False) as client:
        repeated = await client.post(place.address, content=asked.body, headers=asked.headers)
    assert repeated.json()["id"] == after.external_id
    assert (after.status, place.effects.total()) == ("confirmed", 1)
    assert f"| {DUPLICATE} | `confirmed` | 1 |" in README


async def test_a_certificate_that_is_not_valid_is_a_refusal_before_anything_is_sent(
    database_url: str,
) -> None:
    with NastyWebhook(tls=True).running() as secure:
        place = secure.place("secure")
        after = await carried_out(database_url, place, KEYED)
        assert (after.status, place.asked) == ("failed", [])
    assert f"| {UNTRUSTED} | `failed` | 0 |" in README


async def test_what_a_server_asks_for_is_kept_and_then_it_is_tried_again(
    database_url: str, server: NastyWebhook
) -> None:
    """The patience is the ledger's, so that another worker keeps it, too."""
    place = server.place("patient")
    place.ways = ["too_many"]
    async with (
        httpx.AsyncClient(trust_env=False) as client,
        open_ledger(database_url) as ledger,
    ):
        target = WebhookTarget(httpx.URL(place.address), client, None, KEYED)
        effect = await decided(ledger, target)
        left = await (await worker(ledger, effect)).carry_out(effect, target)
        assert left.patience_seconds <= RETRY_AFTER_SECONDS
        patient = Patience(wait_max=RETRY_AFTER_SECONDS + 1)
        after = await (await worker(ledger, left, patient)).carry_out(left, target)
    assert (after.status, place.effects.total()) == ("confirmed", 1)


def test_the_readme_has_no_way_that_is_not_tested() -> None:
    table = re.search(r"\| the server \| the effect \| counted \|\n\|---.*\n((?:\|.*\n)+)", README)
    assert table
    told = {row.split(" | ")[0].removeprefix("| ") for row in table[1].splitlines()}
    assert told == {*(case.told for case in CASES), DUPLICATE, UNTRUSTED}
