"""What every target of consequences has to keep, as checks that a test of a new target runs against a real server of it.

    @pytest.mark.parametrize("check", CHECKS, ids=named)
    async def test_the_ticket_target_conforms(check: Check) -> None:
        await check(Subject(open=…, effects=…, secrets=(TOKEN,)))

`effects` asks the receiving side, not the target, how often the effect of a sending is there.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias
from uuid import UUID

from ledger.canonical import canonical, digest
from ledger.ids import derived_id
from nodes.targets.base import (
    Absent,
    Confirmed,
    Differs,
    NoLookUp,
    Publication,
    Refused,
    Sending,
    Target,
    Unknown,
)

RUN_ID = UUID("01a228cc-67e9-70b3-ae69-ca290bcb0479")
REPORT = (
    "# Beans\n\n- They are sown in May. [1]\n.\n..dots, ümlauts, 🌱 and a line of "
    + "x" * 1200
    + "\n"
)
# After how many rounds of the event loop a sender is stopped, one after the other.
CANCELLED_AFTER = (0, 1, 2, 3, 5, 8, 13, 21)

#: Contracts under which a key, or a place, is one effect however often it is sent.
_REPEATABLE = frozenset({"keyed", "conditional", "transactional"})


@dataclass(frozen=True)
class Subject:
    """A target under test: `open` returns it anew, as each process does; `effects` counts on the receiving side."""

    open: Callable[[], Target]
    effects: Callable[[Sending], Awaitable[int]]
    secrets: tuple[str, ...] = ()


Check: TypeAlias = Callable[[Subject], Awaitable[None]]


def publication(
    text: str = REPORT, question: str = "When are beans sown?", run_id: UUID = RUN_ID
) -> Publication:
    """Return a publication; the same arguments make the same."""
    content = text.encode()
    return Publication(run_id, question, digest(content), content, "2026-12-01T06:00:00+00:00")


def sending(target: Target, step: str = "publish", of: Publication | None = None) -> Sending:
    """Return the sending of a publication as the engine makes it; another step is another effect."""
    given = of or publication()
    request = target.request(given)
    of_request = digest(canonical(request))
    key = derived_id("eff", str(given.run_id), step, target.address, of_request)
    return Sending(key, of_request, request, given)


async def the_same_publication_makes_the_same_request(subject: Subject) -> None:
    """Its key is made of it: another request would be another effect."""
    first, second = subject.open(), subject.open()
    assert canonical(first.request(publication())) == canonical(second.request(publication()))
    assert first.address == second.address
    changed = first.request(publication(REPORT + "more"))
    assert canonical(changed) != canonical(first.request(publication()))


async def nothing_recorded_holds_a_secret(subject: Subject) -> None:
    """Requests, addresses and outcomes are stored and shown."""
    target = subject.open()
    one = sending(target)
    told = [target.address, target.request(publication()), target.contract, await target.check()]
    told += [await target.look_up(one), await target.send(one), await target.look_up(one)]
    assert [secret for secret in subject.secrets if secret in repr((told, target))] == []


async def a_send_makes_one_effect(subject: Subject) -> None:
    """And names it."""
    target = subject.open()
    one = sending(target)
    assert await subject.effects(one) == 0
    done = await target.send(one)
    assert isinstance(done, Confirmed), done
    assert done.external_id
    canonical(dict(done.detail))
    assert await subject.effects(one) == 1


async def a_look_up_changes_nothing_and_tells_what_is_there(subject: Subject) -> None:
    """Before a send it finds nothing; after it, what the send had named, as soon as the contract says."""
    target = subject.open()
    one = sending(target)
    assert isinstance(await target.look_up(one), Absent | NoLookUp)
    assert await subject.effects(one) == 0
    done = await target.send(one)
    found = await subject.open().look_up(one)
    if not isinstance(found, NoLookUp) and not (
        isinstance(found, Absent) and target.contract.lag_seconds
    ):
        assert isinstance(done, Confirmed)
        assert isinstance(found, Confirmed), found
        assert found.external_id == done.external_id
    assert await subject.effects(one) == 1


async def a_second_send_of_a_key_is_no_second_effect(subject: Subject) -> None:
    """Unless the contract says that nobody sends it again without having looked."""
    target = subject.open()
    if target.contract.kind not in _REPEATABLE:
        return
    one = sending(target)
    first = await target.send(one)
    second = await subject.open().send(one)
    assert isinstance(first, Confirmed)
    assert isinstance(second, Confirmed | Unknown | Differs), second
    if isinstance(second, Confirmed):
        assert second.external_id == first.external_id
    assert await subject.effects(one) == 1


async def a_key_with_another_request_is_no_second_effect(subject: Subject) -> None:
    """It is called by its name, never taken for the first."""
    target = subject.open()
    if target.contract.kind not in _REPEATABLE:
        return
    one = sending(target)
    other = replace(sending(target, of=publication("# Other\n")), key=one.key)
    assert isinstance(await target.send(one), Confirmed)
    assert isinstance(await target.send(other), Differs | Refused)
    assert not isinstance(await target.look_up(other), Confirmed)
    assert await subject.effects(one) == 1


async def two_senders_at_once_make_one_effect(subject: Subject) -> None:
    """As a frozen worker and the one that took over do."""
    target = subject.open()
    if target.contract.kind not in _REPEATABLE:
        return
    one = sending(target)
    said = await asyncio.gather(*(subject.open().send(one) for _ in range(4)))
    assert any(isinstance(each, Confirmed) for each in said), said
    assert await subject.effects(one) == 1


async def a_sender_that_was_stopped_can_be_followed_by_another(subject: Subject) -> None:
    """Wherever it was stopped, the next one makes one effect of it."""
    target = subject.open()
    if target.contract.kind not in _REPEATABLE:
        return
    for rounds in CANCELLED_AFTER:
        one = sending(target, of=publication(run_id=UUID(int=rounds + 1)))
        task = asyncio.ensure_future(subject.open().send(one))
        for _ in range(rounds):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        done = await subject.open().send(one)
        assert isinstance(done, Confirmed), (rounds, done)
        assert await subject.effects(one) == 1, rounds


CHECKS: tuple[Check, ...] = (
    the_same_publication_makes_the_same_request,
    nothing_recorded_holds_a_secret,
    a_send_makes_one_effect,
    a_look_up_changes_nothing_and_tells_what_is_there,
    a_second_send_of_a_key_is_no_second_effect,
    a_key_with_another_request_is_no_second_effect,
    two_senders_at_once_make_one_effect,
    a_sender_that_was_stopped_can_be_followed_by_another,
)


def named(check: Check) -> str:
    """Return the sentence that a check stands for."""
    return getattr(check, "__name__", "check")
