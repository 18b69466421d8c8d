"""A mail server of the campaign: each mail that it is about to take is a boundary, before and after it has taken it.

The mails of a run are told by their recipient, who bears its id.
"""

import asyncio
import email
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.faults.gate import Gate, Trap

#: Takes a mail of a run: (run, Message-ID, content).
Arrive = Callable[[str, str, bytes], Awaitable[None]]
Take = Callable[[str, str], None]
#: Holds a mail at its trap; returns False for one that is to be dropped.
StandStill = Callable[[Trap], Awaitable[bool]]


@dataclass
class Postbox:
    """Listens on a free port of the loopback interface; `arrive` counts what comes, `take` what is taken."""

    gate: Gate
    arrive: Arrive
    take: Take
    stand_still: StandStill
    url: str = ""
    _server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: SMTP(self, hostname="mail.test", loop=loop), "127.0.0.1", 0
        )
        self.url = f"smtp://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802  # aiosmtpd finds it by this name
        """Take a mail, or hang up before or after that."""
        content = cast("bytes", envelope.content)
        name = str(email.message_from_bytes(content)["Message-ID"])
        run_id = envelope.rcpt_tos[0].partition("@")[0]
        await self.arrive(run_id, name, content)
        trap = self.gate.arrive("mail")
        if trap is not None and trap.when == "before" and not await self.stand_still(trap):
            return self._hang_up(server)
        self.take(run_id, name)
        if trap is not None and trap.when == "after" and not await self.stand_still(trap):
            return self._hang_up(server)
        return "250 OK"

    def _hang_up(self, server: SMTP) -> str:
        assert isinstance(server.transport, asyncio.WriteTransport)
        server.transport.abort()
        return "421 closing"
