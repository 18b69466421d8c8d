"""Reading documents within the process of a test: a worker process takes longer to start than a whole run takes."""

from typing import TypeVar

from typing_extensions import override

from nodes.resources import Remote
from nodes.tools.documents import Extracted
from nodes.tools.extract import extract
from nodes.tools.extractors import Extractors

T = TypeVar("T")


class Inline(Extractors):
    """Starts no worker."""

    @override
    async def extract(self, content: bytes, media_type: str) -> Extracted:
        """Return the text of a document; raises `Unreadable`."""
        return extract(content, media_type)


async def made(call: Remote[T]) -> T:
    """Make both halves of a call, as one does who keeps nothing between them."""
    return await call.understand(await call.receive())
