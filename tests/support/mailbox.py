"""A mail server whose box counts, and which can refuse, or cut the connection before or after a mail is taken over.

A mail is in the box from the moment of its final dot, as a real server has it on its disk before it answers.
"""

import asyncio
import email
import email.policy
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from threading import Event, Thread
from typing import Any, Literal, TypeAlias

import trustme
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from typing_extensions import override

Cut: TypeAlias = Literal["at_data", "within", "at_end", "after_storing"]

# Small, so that a large mail that nobody reads does not vanish into buffers.
_RECEIVE_BUFFER_BYTES = 4096


@dataclass(frozen=True)
class Mail:
    """One mail in the box."""

    sender: str
    recipients: tuple[str, ...]
    message: EmailMessage
    #: Whether it came over TLS, and who had logged in.
    encrypted: bool
    user: str | None

    @property
    def message_id(self) -> str:
        """Its Message-ID."""
        return str(self.message["Message-ID"])


@dataclass
class Mailbox:
    """The server, in a thread of its own on a free port of the loopback interface."""

    #: Offered as STARTTLS.
    tls: bool = False
    user: str | None = None
    password: str | None = None
    mails: list[Mail] = field(default_factory=list[Mail])
    #: Replies by command: "MAIL", "RCPT bob@example.org", "DATA", "END".
    replies: dict[str, str] = field(default_factory=dict[str, str])
    #: Where the next connection is cut.
    cut: Cut | None = None
    commands: list[str] = field(default_factory=list[str])
    #: Done when a mail is in the box and its sender has not been told yet.
    before_answer: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        self.authority = trustme.CA()
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._ready = Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def url(self) -> str:
        """What PERDURE_SMTP_URL is for it."""
        known = f"{self.user}:{self.password}@" if self.user else ""
        return f"smtp://{known}127.0.0.1:{self.port}"

    @property
    def counts(self) -> Counter[str]:
        """How many mails there are, by Message-ID."""
        return Counter(mail.message_id for mail in self.mails)

    def trusting(self) -> ssl.SSLContext:
        """Return a client's context that believes in the server's certificate."""
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context

    @contextmanager
    def running(self) -> Iterator["Mailbox"]:
        """Serve until the block ends."""
        self._thread.start()
        self._ready.wait()
        try:
            yield self
        finally:
            assert self._loop is not None
            assert self._stop is not None
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
            self._socket.close()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        context = None
        if self.tls:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self.authority.issue_cert("127.0.0.1").configure_cert(context)
        server = await self._loop.create_server(lambda: _Server(self, context), sock=self._socket)
        self._ready.set()
        await self._stop.wait()
        server.close()
        pending = asyncio.all_tasks() - {asyncio.current_task()}
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


class _Server(SMTP):
    """aiosmtpd's server, which does what its box says."""

    def __init__(self, box: Mailbox, context: ssl.SSLContext | None) -> None:
        super().__init__(
            _Hooks(box),
            hostname="mail.test",
            tls_context=context,
            auth_require_tls=False,
            authenticator=_knowing(box) if box.user else None,
            data_size_limit=0,
        )
        self.box = box

    @override
    async def smtp_DATA(self, arg: str) -> None:
        if self.box.cut == "at_data":
            self._cut()
        elif self.box.cut == "within":
            await self.push("354 go ahead")
            await self._reader.readexactly(1)
            self._cut()
        elif reply := self.box.replies.get("DATA"):
            await self.push(reply)
        else:
            await super().smtp_DATA(arg)

    @override
    async def smtp_RSET(self, arg: str) -> None:
        self.box.commands.append("RSET")
        await super().smtp_RSET(arg)

    def _cut(self) -> None:
        self.box.cut = None
        assert isinstance(self.transport, asyncio.Transport)
        self.transport.abort()


@dataclass
class _Hooks:
    """What aiosmtpd calls."""

    box: Mailbox

    async def handle_MAIL(  # noqa: N802  # aiosmtpd finds it by this name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if reply := self.box.replies.get("MAIL"):
            return reply
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(  # noqa: N802  # aiosmtpd finds it by this name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if reply := self.box.replies.get(f"RCPT {address}"):
            return reply
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: _Server, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if reply := self.box.replies.get("END"):
            return reply
        if self.box.cut == "at_end":
            server._cut()
            return "250 OK"
        # Its annotations say less than it keeps.
        content: Any = envelope.content
        known: Any = session.auth_data
        tls: Any = session.ssl
        self.box.mails.append(
            Mail(
                str(envelope.mail_from),
                tuple(envelope.rcpt_tos),
                email.message_from_bytes(content, policy=email.policy.default),
                encrypted=tls is not None,
                user=str(known) if known else None,
            )
        )
        if self.box.before_answer:
            self.box.before_answer()
        if self.box.cut == "after_storing":
            server._cut()
        return "250 OK"


def _knowing(box: Mailbox) -> Any:
    def known(
        server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword
    ) -> AuthResult:
        right = (data.login.decode(), data.password.decode()) == (box.user, box.password)
        return AuthResult(success=right, auth_data=box.user if right else None, handled=False)

    return known
