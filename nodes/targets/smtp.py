"""One mail to one SMTP server, told by where it broke: before its end was written, or after.

A server takes a message over with its answer to the final dot (RFC 5321, 4.2.5 and 6.1). So that dot is written apart, when
the rest has left this process: until then nobody has a mail, from then on only an answer says.
"""

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, cast
from urllib.parse import unquote, urlsplit

from aiosmtplib import SMTP
from aiosmtplib.errors import SMTPException, SMTPResponseException
from aiosmtplib.typing import SMTPStatus

from nodes.options import BadInput

SETTING = "PERDURE_SMTP_URL"
_PORTS: Final = {"smtp": 25, "smtps": 465}
# The other side may take its time over what it has; we look after what we have whether it has left.
_LOOK_SECONDS = 0.01
# Whoever has taken a mail over may be left without a good-bye.
_QUIT_SECONDS = 2.0
# The first digit of a reply (RFC 5321, 4.2.1).
_DONE, _FINAL = 2, 5
_REFUSALS: Final = (4, _FINAL)
_LINE_DOT = re.compile(rb"(?m)^\.")


class MailBroken(Exception):
    """The server has not taken the mail over, or did not say so.

    `ended` is whether it may have the whole of it, `final` whether it refused for good.
    """

    def __init__(self, reason: str, *, ended: bool = False, final: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.ended = ended
        self.final = final


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed in: PERDURE_SMTP_URL, read."""

    host: str
    port: int
    tls: bool
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    #: Whose certificates are believed; None: the system's.
    context: ssl.SSLContext | None = field(default=None, repr=False)

    @property
    def is_local(self) -> bool:
        """Whether nobody can listen on the way there."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


def mail_server(url: str, context: ssl.SSLContext | None = None) -> MailServer:
    """Read smtp://user:password@host:port or smtps://…; raises BadInput, which tells nothing of it."""
    form = "that is no address of a mail server; give smtp://user:password@host:587 or smtps://…"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadInput(form) from None
    rest = parts.path.strip("/") or parts.query or parts.fragment
    if parts.scheme not in _PORTS or not parts.hostname or rest:
        raise BadInput(form)
    return MailServer(
        host=parts.hostname,
        port=port or _PORTS[parts.scheme],
        tls=parts.scheme == "smtps",
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        context=context,
    )


async def reach(server: MailServer, seconds: float) -> None:
    """Connect and log in, and hand in nothing; raises MailBroken."""
    await _within(seconds, _Stage(), lambda stage: _greet(server, stage))


async def _greet(server: MailServer, stage: "_Stage") -> None:
    async with _connected(server) as smtp:
        await _log_in(smtp, server, stage)


async def deliver(
    server: MailServer, sender: str, recipients: Sequence[str], message: bytes, seconds: float
) -> None:
    """Hand in one mail for all recipients or none, within so many seconds; raises MailBroken."""
    await _within(
        seconds,
        _Stage(),
        lambda stage: _deliver(server, sender, recipients, message, stage),
    )


async def _within(
    seconds: float, stage: "_Stage", work: Callable[["_Stage"], Awaitable[None]]
) -> None:
    """Do it in time and say of what broke how far it had come; raises MailBroken."""
    try:
        async with asyncio.timeout(seconds):
            await work(stage)
    except TimeoutError as error:
        if stage.taken_over:
            return
        reason = f"the mail server was not done within {seconds:g} s"
        raise MailBroken(reason, ended=stage.ended) from error
    except SMTPResponseException as error:
        # An answer, even after the final dot, says what became of the mail.
        said = f"the mail server said {error.code} to {stage.name}"
        refused = error.code // 100 in _REFUSALS
        raise MailBroken(
            said, ended=stage.ended and not refused, final=error.code // 100 == _FINAL
        ) from error
    except ssl.SSLCertVerificationError as error:
        raise MailBroken("the mail server's certificate is not valid for it", final=True) from error
    except (SMTPException, OSError) as error:
        certificate = isinstance(error.__cause__, ssl.SSLCertVerificationError)
        reason = (
            "the mail server's certificate is not valid for it"
            if certificate
            else f"the connection broke at {stage.name}: {type(error).__name__}"
        )
        raise MailBroken(reason, ended=stage.ended, final=certificate) from error


@dataclass(slots=True)
class _Stage:
    """How far a delivery is: `ended` when its end was written, `taken_over` when the server said that it has it."""

    name: str = "connecting"
    ended: bool = False
    taken_over: bool = False


async def _deliver(
    server: MailServer, sender: str, recipients: Sequence[str], message: bytes, stage: _Stage
) -> None:
    async with _connected(server) as smtp:
        await _log_in(smtp, server, stage)
        await _address(smtp, sender, recipients, len(message), stage)
        await _hand_over(smtp, message, stage)


@contextlib.asynccontextmanager
async def _connected(server: MailServer) -> AsyncGenerator[SMTP]:
    smtp = SMTP(
        hostname=server.host,
        port=server.port,
        use_tls=server.tls,
        tls_context=server.context,
        timeout=None,
    )
    try:
        await smtp.connect()
        yield smtp
        with contextlib.suppress(SMTPException, OSError, TimeoutError):
            await smtp.quit(timeout=_QUIT_SECONDS)
    finally:
        smtp.close()


async def _log_in(smtp: SMTP, server: MailServer, stage: _Stage) -> None:
    if server.username is None:
        return
    stage.name = "logging in"
    if smtp.get_transport_info("sslcontext") is None and not server.is_local:
        raise MailBroken(
            "the mail server offers no TLS, and a password is never sent in the clear", final=True
        )
    await smtp.ehlo()
    if not smtp.supports_extension("auth"):
        raise MailBroken(
            f"the mail server takes no log-in; leave the user out of {SETTING}", final=True
        )
    await smtp.login(server.username, server.password or "")


async def _address(
    smtp: SMTP, sender: str, recipients: Sequence[str], size: int, stage: _Stage
) -> None:
    """Name sender and recipients; where one is refused, nobody gets the mail."""
    stage.name = "the sender"
    await smtp.ehlo()
    options = [f"SIZE={size}"] if smtp.supports_extension("size") else []
    await smtp.mail(sender, options=options)
    for number, recipient in enumerate(recipients, start=1):
        stage.name = f"recipient {number} of {len(recipients)}"
        try:
            await smtp.rcpt(recipient)
        except SMTPResponseException:
            with contextlib.suppress(SMTPException, OSError, TimeoutError):
                await smtp.rset(timeout=_QUIT_SECONDS)
                await smtp.quit(timeout=_QUIT_SECONDS)
            raise


async def _hand_over(smtp: SMTP, message: bytes, stage: _Stage) -> None:
    stage.name = "the message"
    response = await smtp.execute_command(b"DATA")
    if response.code != SMTPStatus.start_input:
        raise SMTPResponseException(response.code, response.message)
    protocol = smtp.protocol
    if protocol is None:
        raise ConnectionResetError("cut before the message")
    # One of another event loop is no subclass of asyncio's.
    transport = cast("asyncio.WriteTransport", smtp.transport)
    protocol.write(_LINE_DOT.sub(b"..", message))
    # Once more than needed: what was cut before the end is noticed before the end is written.
    await asyncio.sleep(0)
    # Only the transport knows, and it tells nobody but its protocol.
    while smtp.is_connected and transport.get_write_buffer_size() > 0:  # noqa: ASYNC110
        await asyncio.sleep(_LOOK_SECONDS)
    if not smtp.is_connected:
        raise ConnectionResetError("cut within the message")
    stage.ended = True
    stage.name = "the end of the message"
    protocol.write(b".\r\n")
    response = await protocol.read_response()
    if response.code // 100 != _DONE:
        raise SMTPResponseException(response.code, response.message)
    stage.taken_over = True
