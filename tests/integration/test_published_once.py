"""A run publishes to a file, a webhook and a mailbox, and is killed right after each send: one of each is there.

Through the command line, in processes that SIGKILL ends: when the receiving server has carried something out, and before it
answers.
"""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.support.commands import Ended, end, perdure, start
from tests.support.mailbox import Mailbox
from tests.support.nasty_webhook import NastyWebhook, Place
from tests.support.runtimes import QUESTION, write_corpus
from tests.support.waiting import wait_until

KILLED, BLOCKED = -9, 4


@pytest.fixture
def place() -> Iterator[Place]:
    with NastyWebhook().running() as server:
        yield server.place("reports")


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with Mailbox().running() as box:
        yield box


@dataclass
class Resumed:
    """`perdure resume` as a process, which may be killed from outside."""

    run_id: str
    process: "subprocess.Popen[bytes]" = field(init=False)

    def __post_init__(self) -> None:
        self.process = start("resume", self.run_id, "--json")

    def kill(self) -> None:
        """Return when it is dead: what its server answers then, nobody hears."""
        self.process.kill()
        self.process.wait()


def resumed(run_id: str, arm: Callable[[Callable[[], None]], object]) -> Ended:
    """Resume a run in a process; `arm` is given what kills it, before it can have come far."""
    process = Resumed(run_id)
    arm(process.kill)
    return end(process.process)


def kill_when(it_is_there: Callable[[], bool], kill: Callable[[], None]) -> None:
    """Kill a process as soon as the outside has what it sends."""

    def seen() -> None:
        wait_until(it_is_there)
        kill()

    Thread(target=seen, daemon=True).start()


def effects(run_id: str) -> dict[str, dict[str, Any]]:
    """Return what `perdure effects` says, by the kind of target."""
    return {effect["kind"]: effect for effect in perdure("effects", run_id, "--json").json}


def standing(run_id: str) -> dict[str, str]:
    return {kind: effect["status"] for kind, effect in effects(run_id).items()}


@pytest.mark.slow
def test_a_run_that_is_killed_after_each_of_its_sends_has_sent_each_once(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Place, box: Mailbox
) -> None:
    """Of the mail nobody but a person can tell, so it waits for one."""
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PERDURE_SMTP_URL", box.url)
    monkeypatch.setenv("PERDURE_MAIL_FROM", "perdure@example.org")
    folder = tmp_path / "reports"
    folder.mkdir()
    targets = [place.address, "mailto:ada@example.org", f"file:{folder}/"]
    paused = perdure(
        "run", QUESTION, "--corpus", str(write_corpus(tmp_path / "garden")), "--review", "report",
        *(word for target in targets for word in ("--publish", target)), "--json",
    )  # fmt: skip
    assert paused.code == 3, paused.messages
    run_id = paused.run_id
    (review,) = paused.json["reviews"]
    assert effects(run_id) == {}, "nothing is decided before the report is approved"
    assert perdure("review", review["review_id"], "--approve", "--as", "ada").code == 0

    # It is carried out and never answered.
    place.ways = ["late"]
    first = resumed(run_id, lambda kill: kill_when(lambda: place.effects.total() == 1, kill))
    assert first.code == KILLED, first.messages
    assert standing(run_id) == {"webhook": "sending", "email": "intended", "file": "intended"}
    second = resumed(run_id, lambda kill: setattr(box, "before_answer", kill))
    assert second.code == KILLED, second.messages
    assert standing(run_id) == {"webhook": "confirmed", "email": "sending", "file": "intended"}
    path = folder / f"{run_id}.md"
    # Nobody receives a file: its maker may have recorded by then that it is there.
    third = resumed(run_id, lambda kill: kill_when(path.exists, kill))
    assert third.code in {KILLED, BLOCKED}, third.messages
    report = path.read_bytes()

    blocked = perdure("resume", run_id, "--json")
    assert blocked.code == BLOCKED, blocked.messages
    assert standing(run_id) == {
        "file": "confirmed",
        "webhook": "confirmed",
        "email": "awaiting_person",
    }
    assert [place.effects.total(), len(box.mails), len(list(folder.iterdir()))] == [1, 1, 1]

    done = settled(run_id, box.mails[0].message_id)
    assert [place.effects.total(), len(box.mails), len(list(folder.iterdir()))] == [1, 1, 1]
    assert path.read_bytes() == report == Path(done.json["report_path"]).read_bytes()


def settled(run_id: str, message_id: str) -> Ended:
    """Say that the mail is there, and let the run end."""
    key = effects(run_id)["email"]["key"]
    settle = ("effects", "settle", key, "--happened", message_id)
    assert perdure(*settle).code == 2, "a settlement says who and why"
    assert perdure(*settle, "--as", "ada", "--why", "it is in my box").code == 0
    done = perdure("resume", run_id, "--json")
    assert (done.code, done.json["status"]) == (0, "completed"), done.messages
    assert set(standing(run_id).values()) == {"confirmed"}
    mail = effects(run_id)["email"]
    assert mail["settlement"] == {"settled_by": "ada", "why": "it is in my box"}
    assert mail["external_id"] == message_id
    no = ("--did-not-happen", "--as", "eve", "--why", "no")
    assert perdure("effects", "settle", key, *no).code != 0
    return done
