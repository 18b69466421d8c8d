"""Reads documents of a corpus again: the file as it is now, or the topic of the Python that runs."""

import asyncio

from ledger.errors import OperationFailed
from ledger.sources import Source
from nodes.recheck import Reread
from nodes.tools.corpus_files import at
from nodes.tools.documents import Unreadable


class CorpusFiles:
    """Files and topics that a corpus was made of."""

    def serves(self, source: Source) -> bool:
        """Whether the source is a file or a topic, whoever removed it since."""
        return source.uri.startswith(("file://", "pydoc:topics#"))

    async def reread(self, source: Source) -> Reread:
        """Return the bytes as they are now; raises OperationFailed for what cannot be read any more."""
        found = at(source.uri)
        if found is None:
            raise OperationFailed("there is no such topic in this Python", transient=False)
        try:
            return Reread(*await asyncio.to_thread(found.read))
        except Unreadable as error:
            raise OperationFailed(error.reason, transient=False) from error
