"""Target `mailto:…`: the report as a mail, handed to one SMTP server. Nobody can ask later whether it went out.

Message-ID and Date are the same whoever sends the mail and when, so that a person, or a filter, who looks into the box
can tell a second one from another.
"""

import hashlib
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Final
from urllib.parse import parse_qsl, unquote

from ledger.canonical import Json
from ledger.contracts import Contract
from nodes.options import BadInput
from nodes.targets.base import (
    Confirmed,
    Found,
    NoLookUp,
    NotSent,
    Publication,
    Refused,
    Sending,
    Sent,
    Unknown,
)
from nodes.targets.smtp import SETTING, MailBroken, MailServer, deliver
from nodes.targets.text import as_text

DEFAULT_CONTRACT = Contract(kind="opaque", request_seconds=60)
KINDS: Final = frozenset({"opaque"})
SENDER_SETTING = "PERDURE_MAIL_FROM"

# More recipients than this are a mailing list, which has one address.
RECIPIENTS_MAX = 50
# RFC 5321, 4.5.3.1.3, without the angle brackets.
_ADDRESS_CHARACTERS_MAX = 254
# A subject is one line of a list of mails.
SUBJECT_CHARACTERS_MAX = 150
# The dot-atoms of RFC 5322, 3.4.1: no quotes, no spaces, no control characters, nothing that ends a header.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ADDRESS = re.compile(rf"{_ATOM}(?:\.{_ATOM})*@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class EmailTarget:
    """One set of recipients, who get one mail or none; `server` and `sender` are the settings."""

    address: str
    recipients: tuple[str, ...]
    subject: str | None
    server: MailServer | None
    sender: str | None
    contract: Contract = DEFAULT_CONTRACT
    kind: str = field(default="email", init=False)

    def request(self, publication: Publication) -> dict[str, Json]:
        """Return what is sent to whom; raises BadInput for a report that is no text."""
        text = as_text(publication.content)
        return {
            "target": self.kind,
            "to": list(self.recipients),
            "subject": self.subject or _subject_of(text) or _subject_of(publication.question),
            "date": publication.begun_at,
            "run_id": str(publication.run_id),
            "report_artifact": publication.report_artifact,
        }

    async def check(self) -> str:
        """Say by which server mail goes; raises BadInput for what is not set up. The server is not asked."""
        server, _ = self._set_up()
        return f"mail goes by {server.host}:{server.port}"

    async def send(self, sending: Sending) -> Sent:
        """Hand it in, once."""
        try:
            server, sender = self._set_up()
        except BadInput as error:
            return NotSent(str(error))
        name = message_id(sending.key, sender)
        message = mail(sending, sender)
        recipients = [str(one) for one in sending.request["to"]]
        try:
            await deliver(server, sender, recipients, message, self.contract.request_seconds)
        except MailBroken as broken:
            if broken.ended and not broken.final:
                return Unknown(broken.reason)
            return Refused(broken.reason) if broken.final else NotSent(broken.reason)
        return Confirmed(name, {"server": server.host})

    async def look_up(self, sending: Sending) -> Found:
        """Nobody can be asked: the other boxes are not ours."""
        return NoLookUp()

    def _set_up(self) -> tuple[MailServer, str]:
        if self.server is None:
            raise BadInput(
                f"mail cannot be sent: set {SETTING}, for example smtp://user:password@host:587"
            )
        if self.sender is None:
            raise BadInput(
                f"mail cannot be sent: set {SENDER_SETTING} to the address that it comes from"
            )
        return self.server, self.sender


def email_target(
    text: str, server: MailServer | None, sender: str | None, contract: Contract
) -> EmailTarget:
    """Return the target for the part of an address behind `mailto:` (RFC 6068); raises BadInput."""
    given, _, query = text.partition("?")
    recipients = tuple(dict.fromkeys(unquote(one).strip() for one in given.split(",")))
    for recipient in recipients:
        checked_address(recipient)
    if len(recipients) > RECIPIENTS_MAX:
        raise BadInput(
            f"a mail has at most {RECIPIENTS_MAX} recipients; a mailing list has one address"
        )
    return EmailTarget(f"mailto:{text}", recipients, _subject(query), server, sender, contract)


def checked_address(text: str) -> str:
    """Return an address that may stand in a header and an SMTP command; raises BadInput for any other."""
    if len(text) > _ADDRESS_CHARACTERS_MAX or not _ADDRESS.fullmatch(text):
        raise BadInput(
            "that is no mail address that can be used: write name@host, several with commas between, in ASCII"
            " (mailto:ada@example.org,bob@example.org?subject=Beans)"
        )
    return text


def message_id(key: str, sender: str) -> str:
    """Return the Message-ID of the mail of a key: the same in every process."""
    return f"<{hashlib.sha256(key.encode()).hexdigest()[:40]}@{sender.rpartition('@')[2]}>"


def mail(sending: Sending, sender: str) -> bytes:
    """Return the whole mail: the same bytes for the same request, sender and key."""
    publication, request = sending.publication, sending.request
    text = as_text(publication.content)
    message = EmailMessage(policy=SMTP)
    message["From"] = Address(addr_spec=sender)
    message["To"] = [Address(addr_spec=str(one)) for one in request["to"]]
    message["Subject"] = str(request["subject"])
    message["Date"] = format_datetime(_moment(str(request["date"])))
    message["Message-ID"] = message_id(sending.key, sender)
    message["Auto-Submitted"] = "auto-generated"
    # Quoted and base64 hold no "=_": no line of theirs is taken for the boundary.
    message.set_content(text, subtype="markdown", cte="quoted-printable")
    message.add_attachment(
        publication.content,
        maintype="text",
        subtype="markdown",
        params={"charset": "utf-8"},
        filename=f"{publication.run_id}.md",
    )
    message.set_boundary(f"=_{hashlib.sha256(sending.key.encode()).hexdigest()[:40]}")
    return message.as_bytes()


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _subject(query: str) -> str | None:
    if not query:
        return None
    try:
        fields = parse_qsl(
            query.replace("+", "%2B"), keep_blank_values=True, strict_parsing=True, errors="strict"
        )
    except ValueError as error:
        raise BadInput("behind the ? of a mailto: only subject=… is understood") from error
    names = [name.lower() for name, _ in fields]
    if names != ["subject"]:
        raise BadInput(
            "behind the ? of a mailto: only one subject=… is understood, no cc, bcc or body"
        )
    subject = fields[0][1].strip()
    if not subject:
        return None
    if not subject.isprintable() or len(subject) > SUBJECT_CHARACTERS_MAX:
        raise BadInput(
            f"a subject is one line of at most {SUBJECT_CHARACTERS_MAX} characters, without control characters"
        )
    return subject


def _subject_of(text: str) -> str:
    """Return the first line of a text that says something, whatever characters stand in it."""
    lines = (_printable(line).lstrip("#").strip() for line in text.splitlines())
    first = next(filter(None, lines), "")
    if len(first) <= SUBJECT_CHARACTERS_MAX:
        return first
    return f"{first[: SUBJECT_CHARACTERS_MAX - 1]}…"


def _printable(line: str) -> str:
    return " ".join("".join(one if one.isprintable() else " " for one in line).split())
