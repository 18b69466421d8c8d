"""Reading documents within the process of a test: a worker process takes longer to start than a whole run takes."""

from dataclasses import replace
from typing import TypeVar

from typing_extensions import override

from graph.runtime import Runtime
from nodes.resources import Remote
from nodes.tools.documents import Extracted
from nodes.tools.extract import extract
from nodes.tools.extractors import Extractors
from nodes.tools.toolbox import RunToolbox

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


def with_inline_readers(runtime: Runtime) -> Runtime:
    """Return a runtime whose web tool reads pages within the process."""
    toolbox = runtime.resources.toolbox
    assert isinstance(toolbox, RunToolbox)
    if toolbox.web is None:
        return runtime
    toolbox = replace(toolbox, web=replace(toolbox.web, extractors=Inline(1)))
    return replace(runtime, resources=replace(runtime.resources, toolbox=toolbox))
