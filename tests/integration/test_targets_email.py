"""A mail goes to all or to nobody, and what is told of it depends on where it broke: before its end was written, or after."""

import socket
import ssl
from collections.abc import Iterator
from email.message import EmailMessage

import pytest

from ledger.contracts import Contract
from nodes.options import BadInput
from nodes.targets.base import Confirmed, NoLookUp, NotSent, Refused, Sending, Unknown
from nodes.targets.email import DEFAULT_CONTRACT, EmailTarget, email_target, message_id
from nodes.targets.smtp import mail_server
from tests.support.mailbox import Mailbox
from tests.support.target_conformance import (
    CHECKS,
    REPORT,
    RUN_ID,
    Check,
    Subject,
    named,
    publication,
    sending,
)

SENDER = "perdure@example.org"
TO = "ada@example.org,bob@example.org?subject=Beans%20%26%20%E2%9C%93"
PASSWORD = "canary p@ss/word"
#: More than any buffer of a system takes while nobody reads.
LARGE = "x" * 79 + "\n"


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with Mailbox().running() as running:
        yield running


def opened(
    box: Mailbox,
    to: str = TO,
    contract: Contract = DEFAULT_CONTRACT,
    context: ssl.SSLContext | None = None,
) -> EmailTarget:
    return email_target(to, mail_server(box.url, context), SENDER, contract)


@pytest.mark.parametrize("check", CHECKS, ids=named)
async def test_mail_conforms(check: Check, box: Mailbox) -> None:
    async def effects(one: Sending) -> int:
        return box.counts[message_id(one.key, SENDER)]

    await check(Subject(lambda: opened(box), effects, (PASSWORD,)))


async def test_a_mail_holds_the_report_as_text_and_as_a_file(box: Mailbox) -> None:
    target = opened(box)
    one = sending(target)
    done = await target.send(one)
    assert done == Confirmed(message_id(one.key, SENDER), {"server": "127.0.0.1"})
    (mail,) = box.mails
    assert (mail.sender, mail.recipients) == (SENDER, ("ada@example.org", "bob@example.org"))
    message = mail.message
    assert message["From"] == SENDER
    assert message["To"] == "ada@example.org, bob@example.org"
    assert message["Subject"] == "Beans & ✓"
    assert message["Date"] == "Tue, 01 Dec 2026 06:00:00 +0000"
    assert message["Message-ID"] == done.external_id
    body, attached = message.iter_parts()
    assert isinstance(body, EmailMessage)
    assert isinstance(attached, EmailMessage)
    assert body.get_content_type() == attached.get_content_type() == "text/markdown"
    assert body.get_content().replace("\r\n", "\n") == REPORT
    assert attached.get_filename() == f"{RUN_ID}.md"
    assert attached.get_payload(decode=True) == REPORT.encode()


async def test_the_same_sending_is_the_same_mail_to_the_byte(box: Mailbox) -> None:
    """So a person, or a filter, can tell a second one from another."""
    target = opened(box)
    for _ in range(2):
        await target.send(sending(target))
    first, second = box.mails
    assert first.message.as_bytes() == second.message.as_bytes()
    assert set(box.counts.values()) == {2}


@pytest.mark.parametrize(
    ("command", "reply", "outcome"),
    [
        ("MAIL", "550 not you", Refused),
        ("MAIL", "451 later", NotSent),
        ("RCPT bob@example.org", "550 no such user", Refused),
        ("RCPT bob@example.org", "450 box is busy", NotSent),
        ("DATA", "554 no mail today", Refused),
        ("DATA", "451 later", NotSent),
        ("END", "552 too large", Refused),
        ("END", "452 disk full", NotSent),
    ],
)
async def test_a_refusal_is_final_or_not_and_nobody_has_the_mail(
    command: str, reply: str, outcome: type, box: Mailbox
) -> None:
    box.replies[command] = reply
    target = opened(box)
    said = await target.send(sending(target))
    assert isinstance(said, outcome)
    assert isinstance(said, Refused | NotSent)
    assert reply[:3] in said.reason
    assert "bob" not in said.reason
    assert box.mails == []
    assert ("RSET" in box.commands) == command.startswith("RCPT")


@pytest.mark.parametrize(
    ("cut", "outcome", "count"),
    [
        ("at_data", NotSent, 0),
        ("within", NotSent, 0),
        ("at_end", Unknown, 0),
        ("after_storing", Unknown, 1),
    ],
)
async def test_a_connection_that_is_cut(cut: str, outcome: type, count: int, box: Mailbox) -> None:
    """From the final dot on nobody can tell from here: the two last look the same."""
    box.cut = cut  # type: ignore[assignment]
    target = opened(box)
    text = REPORT if cut != "within" else LARGE * 80_000
    one = sending(target, of=publication(text))
    assert isinstance(await target.send(one), outcome)
    assert len(box.mails) == count
    assert isinstance(await target.look_up(one), NoLookUp)


async def test_nobody_there_and_nobody_who_speaks_are_not_sent() -> None:
    contract = Contract(kind="opaque", request_seconds=0.4)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        target = email_target(
            "ada@example.org", mail_server(f"smtp://127.0.0.1:{port}"), SENDER, contract
        )
        assert isinstance(await target.send(sending(target)), NotSent)
    assert isinstance(await target.send(sending(target)), NotSent)


async def test_tls_is_used_where_it_is_offered_and_a_password_logs_in() -> None:
    with Mailbox(tls=True, user="ada@example.org", password="canary").running() as box:
        server = mail_server(
            f"smtp://ada%40example.org:canary@127.0.0.1:{box.port}", box.trusting()
        )
        target = email_target("bob@example.org", server, SENDER, DEFAULT_CONTRACT)
        assert isinstance(await target.send(sending(target)), Confirmed)
        (mail,) = box.mails
        assert (mail.encrypted, mail.user) == (True, "ada@example.org")


async def test_a_certificate_that_is_not_valid_is_refused() -> None:
    with Mailbox(tls=True).running() as box:
        target = opened(box)
        said = await target.send(sending(target))
        assert isinstance(said, Refused)
        assert "certificate" in said.reason
        assert box.mails == []


async def test_a_wrong_password_is_refused_and_not_told() -> None:
    with Mailbox(user="ada", password="right").running() as box:
        server = mail_server(f"smtp://ada:canary@127.0.0.1:{box.port}")
        target = email_target("bob@example.org", server, SENDER, DEFAULT_CONTRACT)
        said = await target.send(sending(target))
        assert isinstance(said, Refused)
        assert "535" in said.reason
        assert "canary" not in repr((said, target))
        assert box.mails == []


async def test_mail_without_its_settings_is_told_before_and_not_sent() -> None:
    target = email_target("ada@example.org", None, SENDER, DEFAULT_CONTRACT)
    with pytest.raises(BadInput, match="PERDURE_SMTP_URL"):
        await target.check()
    assert isinstance(await target.send(sending(target)), NotSent)
    target = email_target(
        "ada@example.org", mail_server("smtp://mail.test"), None, DEFAULT_CONTRACT
    )
    with pytest.raises(BadInput, match="PERDURE_MAIL_FROM"):
        await target.check()


@pytest.mark.parametrize(
    ("report", "subject"),
    [
        (REPORT, "Beans"),
        ("\n\n## Why?\x00\tBcc: eve@example.org 🌱\n\nx", "Why? Bcc: eve@example.org 🌱"),
        ("# ", "When are beans sown?"),
        ("long " * 100, f"{('long ' * 100)[:149]}…"),
    ],
)
def test_a_subject_is_the_first_line_that_says_something(report: str, subject: str) -> None:
    target = email_target("ada@example.org", None, None, DEFAULT_CONTRACT)
    assert target.request(publication(report))["subject"] == subject


@pytest.mark.parametrize(
    "to",
    [
        "ada",
        "ada@example.org\r\nBcc: eve@example.org",
        "ada%0d%0a@example.org",
        "ada@example.org,,",
        "Ada <ada@example.org>",
        '"ada x"@example.org',
        "ädä@example.org",
        "ada@example.org?subject=a%0d%0aBcc:eve@example.org",
        "ada@example.org?bcc=eve@example.org",
        "ada@example.org?subject=a&body=b",
        "ada@example.org?subject",
        f"ada@example.org?subject={'x' * 200}",
        f"{'a' * 300}@example.org",
        ",".join(f"a{number}@example.org" for number in range(51)),
    ],
)
def test_what_could_end_a_header_or_hide_a_recipient_is_no_address(to: str) -> None:
    with pytest.raises(BadInput):
        email_target(to, None, None, DEFAULT_CONTRACT)


@pytest.mark.parametrize(
    "url",
    [
        "mail.test",
        "http://mail.test",
        "smtp://",
        "smtp://a:canary@mail.test:x",
        "smtp://mail.test/canary",
    ],
)
def test_what_is_no_mail_server_is_told_without_its_password(url: str) -> None:
    with pytest.raises(BadInput) as told:
        mail_server(url)
    assert "canary" not in str(told.value)
