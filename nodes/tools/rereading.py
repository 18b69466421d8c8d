"""Reads documents again: a file of a corpus as it is now, a topic of the Python that runs, a page of the web."""

import asyncio
from dataclasses import dataclass
from typing import assert_never

from ledger.sources import Source
from nodes.recheck import NotReread, Reread
from nodes.tools.corpus_files import at
from nodes.tools.documents import HTML, Unreadable
from nodes.tools.fetch.pages import Changed, Gone, Pages, Unchanged
from nodes.tools.fetch.paywall import is_paywalled


class CorpusFiles:
    """Files and topics that a corpus was made of."""

    def serves(self, source: Source) -> bool:
        """Whether the source is a file or a topic, whoever removed it since."""
        return source.uri.startswith(("file://", "pydoc:topics#"))

    async def reread(self, source: Source) -> Reread:
        """Return the bytes as they are now; raises NotReread for what cannot be read any more."""
        found = at(source.uri)
        if found is None:
            why = "there is no such topic in this Python"
            raise NotReread(why, "unavailable", transient=False)
        try:
            return Reread(*await asyncio.to_thread(found.read))
        except Unreadable as error:
            raise NotReread(error.reason, "unavailable", transient=False) from error


@dataclass(frozen=True, slots=True)
class WebPages:
    """Pages of the web, under the rules that they were fetched under."""

    pages: Pages

    def serves(self, source: Source) -> bool:
        """Whether the source has an address that pages have."""
        return source.uri.startswith(("http://", "https://"))

    async def reread(self, source: Source) -> Reread | None:
        """Return the page as it is now, None for the edition that was read; raises NotReread."""
        found = await self.pages.recheck(source)
        match found:
            case Unchanged():
                return None
            case Changed(received):
                media_type, content = received.media_type, received.content
                if media_type.startswith(HTML) and is_paywalled(content):
                    why = "the page says that it is not accessible for free"
                    raise NotReread(why, "forbidden", transient=False)
                return Reread(content, media_type)
            case Gone():
                raise _not_reread(found)
            case _:
                assert_never(found)


def _not_reread(gone: Gone) -> NotReread:
    """Return what a page that is not to be had says of its source.

    A server that does not answer now may answer later, and where our own rules let no request go none was answered.
    """
    if gone.transient or gone.state == "blocked":
        return NotReread(gone.reason, "unchecked", transient=gone.transient)
    is_refused = gone.state in {"forbidden", "paywalled"}
    return NotReread(gone.reason, "forbidden" if is_refused else "unavailable", transient=False)
