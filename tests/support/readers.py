"""The worker processes that read documents, told from the other children that a session of tests has."""

import psutil

MODULE = "nodes.tools.extraction_worker"


def readers() -> list[psutil.Process]:
    """Return the readers that this process started and that still are."""
    return [child for child in psutil.Process().children() if _reads(child)]


def _reads(child: psutil.Process) -> bool:
    try:
        return MODULE in child.cmdline()
    except psutil.NoSuchProcess:
        return False
