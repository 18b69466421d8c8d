"""Target `https://…`: a POST of the report as JSON, with its key, and a GET with the same key that asks what became of it.

The key goes as the header Idempotency-Key, a string of RFC 8941 (draft-ietf-httpapi-idempotency-key-header-07). One
deadline stands over everything, from the connection to the last byte of the answer; what was begun and not answered in
that time is unknown. Each request has a connection of its own: one that a server had closed would be told from a
request that was cut by nobody.

The token of a host is a header of requests to that host; it stands in no record, no reason and no request to any other.
"""

import asyncio
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from ledger.canonical import Json, canonical
from ledger.contracts import Contract
from nodes.options import BadInput
from nodes.targets import replies
from nodes.targets.base import (
    Found,
    NotSent,
    Publication,
    Refused,
    Sending,
    Sent,
    Unknown,
)
from nodes.targets.text import as_text

DEFAULT_CONTRACT = Contract(kind="keyed", window_seconds=86_400, request_seconds=30)
KINDS: Final = frozenset({"keyed", "queryable", "opaque"})

# An answer is a receipt; nobody reads more of it.
ANSWER_BYTES_MAX = 64 * 1024
# Of the deadline, for the connection and again for TLS: what takes so long leaves no time to send, and nothing was sent.
_CONNECT_SHARE = 0.45
# The first of these events says that the server may have something of the request.
_SENDING: Final = ("send_request_headers.started", "send_request_body.started")


class _Broken(Exception):
    """The request got no whole answer; `begun` is whether any of it may have arrived."""

    def __init__(self, reason: str, *, begun: bool, certificate: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.begun = begun
        self.certificate = certificate


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """One address that takes reports; `token` is the one for its host."""

    url: httpx.URL
    client: httpx.AsyncClient | None
    token: str | None = field(default=None, repr=False)
    contract: Contract = DEFAULT_CONTRACT
    kind: str = field(default="webhook", init=False)

    @property
    def address(self) -> str:
        """The URL."""
        return str(self.url)

    def request(self, publication: Publication) -> dict[str, Json]:
        """Return what is posted, the report by its digest; raises BadInput for a report that is no text."""
        as_text(publication.content)
        return {
            "target": self.kind,
            "url": self.address,
            "run_id": str(publication.run_id),
            "question": publication.question,
            "report_artifact": publication.report_artifact,
        }

    async def check(self) -> str:
        """Say where reports go and with what; the server is not asked, as a request may be an effect there."""
        if self.client is None:
            raise BadInput("webhooks cannot be reached from here: no HTTP client was opened")
        known = "with a token" if self.token else "without a token"
        return f"reports are posted to {self.url.host} {known}"

    async def send(self, sending: Sending) -> Sent:
        """Post it, once."""
        publication = sending.publication
        body = canonical(
            {
                "run_id": str(publication.run_id),
                "question": publication.question,
                "report_artifact": publication.report_artifact,
                "markdown": as_text(publication.content),
                "request_digest": sending.request_digest,
            }
        )
        try:
            reply = await self._ask("POST", sending.key, body)
        except _Broken as broken:
            if broken.certificate:
                return Refused(broken.reason)
            return Unknown(broken.reason) if broken.begun else NotSent(broken.reason)
        return replies.sent(reply, sending.key, self.token)

    async def look_up(self, sending: Sending) -> Found:
        """Ask for what has this key."""
        try:
            reply = await self._ask("GET", sending.key)
        except _Broken as broken:
            return Unknown(f"the look-up failed: {broken.reason}")
        return replies.found(reply, sending.key, sending.request_digest, self.token)

    async def _ask(self, method: str, key: str, body: bytes | None = None) -> replies.Reply:
        if self.client is None:
            raise _Broken("no HTTP client was opened", begun=False)
        began = asyncio.Event()

        async def trace(event: str, _info: Mapping[str, Any]) -> None:
            if event.endswith(_SENDING):
                began.set()

        request = self.client.build_request(
            method,
            self.url,
            content=body,
            headers=self._headers(key, has_body=body is not None),
            timeout=httpx.Timeout(None, connect=self.contract.request_seconds * _CONNECT_SHARE),
            extensions={"trace": trace},
        )
        try:
            async with asyncio.timeout(self.contract.request_seconds):
                return await _reply(self.client, request)
        except TimeoutError as error:
            reason = f"no whole answer within {self.contract.request_seconds:g} s"
            raise _Broken(reason, begun=began.is_set()) from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            refused = any(isinstance(one, ssl.SSLCertVerificationError) for one in _causes(error))
            reason = (
                "the server's certificate is not valid for it"
                if refused
                else f"{'the request was cut' if began.is_set() else 'no connection'}: {type(error).__name__}"
            )
            raise _Broken(reason, begun=began.is_set(), certificate=refused) from error

    def _headers(self, key: str, *, has_body: bool) -> dict[str, str]:
        headers = {
            "Idempotency-Key": structured_string(key),
            "Accept": "application/json",
            # A compressed answer may be any length; a receipt needs no compression.
            "Accept-Encoding": "identity",
            "User-Agent": "perdure",
        }
        if has_body:
            headers["Content-Type"] = "application/json"
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers


def structured_string(text: str) -> str:
    """Return printable ASCII as a string of RFC 8941, 3.3.3; raises BadInput for any other text."""
    if not (text.isascii() and text.isprintable()):
        raise BadInput("an idempotency key is printable ASCII")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


async def _reply(client: httpx.AsyncClient, request: httpx.Request) -> replies.Reply:
    """Return the answer, read no further than a receipt may be long."""
    response = await client.send(request, stream=True, follow_redirects=False)
    try:
        content = bytearray()
        async for chunk in response.aiter_raw():
            content += chunk
            if len(content) > ANSWER_BYTES_MAX:
                break
    finally:
        await response.aclose()
    readable = len(content) <= ANSWER_BYTES_MAX and "content-encoding" not in response.headers
    return replies.Reply(
        response.status_code, response.headers, bytes(content) if readable else None
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
