"""Reads the body of a response, as far as it may be long, both as it travels and as it unpacks."""

import zlib

import httpx

from nodes.tools.fetch.outcomes import FetchFailed, place_of

#: What we say that we can unpack, and nothing else is unpacked.
ACCEPTED_ENCODINGS = "gzip, deflate"
_GZIP = frozenset({"gzip", "x-gzip"})
# zlib: 16 added to the window size reads a gzip header; a negative one reads no header at all.
_GZIP_WINDOW, _ZLIB_WINDOW, _RAW_WINDOW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
# The method and window of a zlib header (RFC 1950, section 2.2); servers send deflate with and without it.
_ZLIB_METHOD = 8
_METHOD_MASK = 0x0F


async def body_of(response: httpx.Response, bytes_max: int, *, cut: bool = False) -> bytes:
    """Return the body, unpacked; raises FetchFailed for one that is longer than `bytes_max`, or damaged.

    With `cut` a longer body ends there instead. Never more than one piece of the transfer is held besides.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    unpacked = _Unpacked(place_of(response.request.url), encoding, bytes_max)
    received = 0
    async for piece in response.aiter_raw():
        received += len(piece)
        unpacked.add(piece)
        if max(received, len(unpacked.body)) > bytes_max:
            if not cut:
                raise unpacked.failure("larger than a document may be")
            return bytes(unpacked.body[:bytes_max])
    unpacked.end()
    return bytes(unpacked.body)


class _Unpacked:
    """The body so far; it grows to one byte more than it may have, which says that there is more."""

    def __init__(self, place: str, encoding: str, bytes_max: int) -> None:
        self.place, self.encoding, self.bytes_max = place, encoding, bytes_max
        self.body = bytearray()
        self._inflate, self._begun = zlib.decompressobj(), False
        if "," in encoding:
            # Compressed twice, a few kB unpack to gigabytes before the first byte is counted.
            raise self.failure("compressed more than once")
        if encoding not in {"", "identity", "deflate", *_GZIP}:
            raise self.failure("compressed in a way that was not asked for")

    def failure(self, why: str) -> FetchFailed:
        return FetchFailed(self.place, "unsupported", why)

    def add(self, piece: bytes) -> None:
        """Unpack a piece of the transfer."""
        if self.encoding in {"", "identity"}:
            self.body += piece
            return
        try:
            while piece and len(self.body) <= self.bytes_max:
                piece = self._inflated(piece)
        except zlib.error as error:
            raise self.failure("its compression is damaged") from error

    def end(self) -> None:
        """Raise FetchFailed where the transfer ended before what it carried."""
        if self._begun and not self._inflate.eof:
            why = "its compression ends too early"
            raise FetchFailed(self.place, "unavailable", why, transient=True)

    def _inflated(self, piece: bytes) -> bytes:
        """Unpack as much as there is room for, and return the rest of the piece."""
        if not self._begun or self._inflate.eof:
            self._inflate, self._begun = zlib.decompressobj(self._window(piece)), True
        self.body += self._inflate.decompress(piece, self.bytes_max + 1 - len(self.body))
        # gzip may have several members (RFC 1952, section 2.2); what follows the end of deflate means nothing.
        rest = self._inflate.unused_data if self.encoding in _GZIP else b""
        return self._inflate.unconsumed_tail or rest.lstrip(b"\0")

    def _window(self, piece: bytes) -> int:
        if self.encoding in _GZIP:
            return _GZIP_WINDOW
        return _ZLIB_WINDOW if piece[0] & _METHOD_MASK == _ZLIB_METHOD else _RAW_WINDOW
