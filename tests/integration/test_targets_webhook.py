"""Whatever a webhook answers, or does not, is one documented outcome, and its server counts what it carried out."""

import json
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from ledger.contracts import AskPerson, Contract, Tried, next_act
from nodes.options import BadInput
from nodes.targets.base import (
    Absent,
    Confirmed,
    Differs,
    NoLookUp,
    NotSent,
    Refused,
    Sending,
    Unknown,
)
from nodes.targets.webhook import WebhookTarget, structured_string
from tests.support.nasty_webhook import (
    RETRY_AFTER_SECONDS,
    LookUpWay,
    NastyWebhook,
    Place,
    Way,
)
from tests.support.target_conformance import CHECKS, REPORT, Check, Subject, named, sending

TOKEN = "canary-token"
# Nothing of a test waits for it but what never comes.
CONTRACT = Contract(kind="keyed", window_seconds=600, request_seconds=60)
#: For what never comes; long enough for what does, on a machine that has other work.
SHORT = Contract(kind="keyed", window_seconds=600, request_seconds=4)


@pytest.fixture(scope="module")
def server() -> Iterator[NastyWebhook]:
    with NastyWebhook().running() as running:
        yield running


@pytest.fixture
def place(server: NastyWebhook, request: pytest.FixtureRequest) -> Place:
    return server.place(f"p{abs(hash(request.node.nodeid))}")


@asynccontextmanager
async def opened(
    address: str, contract: Contract = CONTRACT, **client: Any
) -> AsyncGenerator[WebhookTarget]:
    async with httpx.AsyncClient(trust_env=False, **client) as connected:
        yield WebhookTarget(httpx.URL(address), connected, TOKEN, contract)


@pytest.mark.parametrize("check", CHECKS, ids=named)
async def test_a_webhook_conforms(check: Check, place: Place) -> None:
    async def effects(one: Sending) -> int:
        return place.effects[one.key]

    async with opened(place.address) as target:
        await check(Subject(lambda: target, effects, (TOKEN,)))


async def test_a_request_says_what_the_draft_asks_for(place: Place) -> None:
    async with opened(place.address) as target:
        one = sending(target)
        await target.send(one)
    (asked,) = place.asked
    assert asked.headers["idempotency-key"] == f'"{one.key}"'
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert json.loads(asked.body) == {
        "run_id": str(one.publication.run_id),
        "question": one.publication.question,
        "report_artifact": one.publication.report_artifact,
        "markdown": REPORT,
        "request_digest": one.request_digest,
    }


#: What the server does with a POST; what that is; how often it was carried out; what the look-up says then.
WAYS: dict[Way, tuple[type, int, type]] = {
    "well": (Confirmed, 1, Confirmed),
    "cut_before": (Unknown, 0, Absent),
    "cut_after": (Unknown, 1, Confirmed),
    "error_after": (Unknown, 1, Confirmed),
    "error": (Unknown, 0, Absent),
    "in_progress": (Unknown, 0, Absent),
    "other_payload": (Differs, 0, Absent),
    "late": (Unknown, 1, Confirmed),
    "late_unprocessed": (Unknown, 0, Absent),
    "wrong_content": (Confirmed, 1, Confirmed),
    "huge": (Confirmed, 1, Confirmed),
    "redirect": (Refused, 0, Absent),
    "slow_body": (Unknown, 1, Confirmed),
    "cut_answer": (Unknown, 1, Confirmed),
    "too_many": (NotSent, 0, Absent),
    "too_many_until": (NotSent, 0, Absent),
    "unavailable": (Unknown, 0, Absent),
    "unauthorized": (Refused, 0, Absent),
    "echo": (Confirmed, 1, Confirmed),
}


@pytest.mark.parametrize("way", WAYS)
async def test_each_way_of_answering_is_one_outcome(way: Way, place: Place) -> None:
    """And the same key again, where that is allowed, makes one effect of it in the end."""
    outcome, count, look_up = WAYS[way]
    place.ways.append(way)
    patience = SHORT if way in {"late", "late_unprocessed", "slow_body"} else CONTRACT
    async with opened(place.address) as target:
        one = sending(target)
        said = await replace(target, contract=patience).send(one)
        assert isinstance(said, outcome), said
        assert place.effects[one.key] == count
        found = await target.look_up(one)
        assert isinstance(found, look_up), found
        assert [asked.method for asked in place.asked] == ["POST", "GET"]
        assert isinstance(await target.send(one), Confirmed)
    assert place.effects == {one.key: 1}
    assert TOKEN not in repr((said, found))
    assert "canary" not in repr(said)


@pytest.mark.parametrize("way", ["too_many", "too_many_until", "unavailable"])
async def test_a_server_that_asks_for_patience_is_heard(way: Way, place: Place) -> None:
    """In seconds or by a date."""
    place.ways.append(way)
    async with opened(place.address) as target:
        said = await target.send(sending(target))
    assert isinstance(said, NotSent | Unknown)
    assert said.retry_after_seconds == RETRY_AFTER_SECONDS


async def test_a_redirect_names_the_place_without_what_may_be_secret(place: Place) -> None:
    place.ways.append("redirect")
    async with opened(place.address, follow_redirects=True) as target:
        said = await target.send(sending(target))
    assert isinstance(said, Refused)
    assert f"{place.address}-elsewhere;" in said.reason
    assert "canary" not in said.reason
    assert len(place.asked) == 1


#: What the server answers to a look-up of what it has carried out.
LOOK_UPS: dict[LookUpWay, type] = {
    "well": Confirmed,
    "lagging": Absent,
    "lying": Differs,
    "silent": Unknown,
    "not_offered": NoLookUp,
    "in_progress": Unknown,
    "cut": Unknown,
    "error": Unknown,
}


@pytest.mark.parametrize("way", LOOK_UPS)
async def test_each_answer_to_a_look_up_is_one_outcome(way: LookUpWay, place: Place) -> None:
    place.look_ups.append(way)
    async with opened(place.address) as target:
        one = sending(target)
        await target.send(one)
        assert isinstance(await target.look_up(one), LOOK_UPS[way])
    assert place.effects == {one.key: 1}


async def test_a_duplicate_on_the_way_is_one_effect(place: Place) -> None:
    """Some proxies send a request again; the key makes it one."""
    async with opened(place.address) as target:
        one = sending(target)
        first = await target.send(one)
        (asked,) = place.asked
        async with httpx.AsyncClient(trust_env=False) as proxy:
            await proxy.post(place.address, content=asked.body, headers=asked.headers)
        assert await target.send(one) == Confirmed(first.external_id, {"status": 200})  # type: ignore[union-attr]
    assert place.effects == {one.key: 1}


async def test_a_key_that_was_forgotten_is_a_persons_matter(place: Place) -> None:
    """To the server it would be new: so the contract's window, and not the look-up, decides about a repeat."""
    place.ways.append("cut_after")
    async with opened(place.address) as target:
        one = sending(target)
        assert isinstance(await target.send(one), Unknown)
        place.forget()
        assert isinstance(await target.look_up(one), Absent)
    tried = [Tried("send", "unknown", 3_600), Tried("look_up", "absent", 1)]
    assert isinstance(next_act(CONTRACT, tried, 30), AskPerson)


async def test_a_certificate_that_is_not_valid_is_refused_before_anything_is_sent() -> None:
    with NastyWebhook(tls=True).running() as server:
        place = server.place("tls")
        async with opened(place.address) as target:
            said = await target.send(sending(target))
            assert isinstance(said, Refused)
            assert "certificate" in said.reason
            assert isinstance(await target.look_up(sending(target)), Unknown)
        assert place.asked == []
        async with opened(place.address, verify=server.trusting()) as target:
            assert isinstance(await target.send(sending(target)), Confirmed)


async def test_nobody_there_is_not_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    for address in (f"http://127.0.0.1:{port}/", "https://nobody.invalid/"):
        async with opened(address) as target:
            assert isinstance(await target.send(sending(target)), NotSent)


async def test_tls_to_a_server_that_speaks_none_is_not_sent(place: Place) -> None:
    async with opened(place.address.replace("http://", "https://"), SHORT) as target:
        assert isinstance(await target.send(sending(target)), NotSent)
    assert place.effects == {}


async def test_the_deadline_before_anything_was_sent_means_that_nothing_was() -> None:
    """A server that accepts a connection and says nothing to the greeting of TLS."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with opened(f"https://127.0.0.1:{silent.getsockname()[1]}/", SHORT) as target:
            assert isinstance(await target.send(sending(target)), NotSent)


def test_a_key_is_written_as_a_structured_string() -> None:
    """RFC 8941, 3.3.3."""
    assert structured_string('a"b\\c') == '"a\\"b\\\\c"'
    for text in ("ü", "a\nb"):
        with pytest.raises(BadInput):
            structured_string(text)
