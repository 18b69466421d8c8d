"""Named places at which a test may end the process; in production each does nothing.

The crash campaign is parametrised over FaultPoint, so that a new point is tested or the build fails.
"""

from enum import StrEnum
from typing import Protocol


class FaultPoint(StrEnum):
    """A boundary at which something becomes durable."""

    BEFORE_INTENT = "before_intent"
    AFTER_INTENT = "after_intent"
    BEFORE_RECEIPT = "before_receipt"
    AFTER_RECEIPT = "after_receipt"
    BEFORE_RESULT = "before_result"
    AFTER_RESULT = "after_result"
    BEFORE_CHECKPOINT = "before_checkpoint"
    AFTER_CHECKPOINT = "after_checkpoint"
    BEFORE_WRITES = "before_writes"
    AFTER_WRITES = "after_writes"
    BEFORE_SEND = "before_send"
    AFTER_SEND = "after_send"
    AFTER_OUTCOME = "after_outcome"
    BEFORE_COMPLETION = "before_completion"
    AFTER_COMPLETION = "after_completion"


class Faults(Protocol):
    """Told of each fault point as it is reached."""

    def reach(self, point: FaultPoint) -> None:
        """Do nothing, or end the process."""
        ...


class NoFaults:
    """What production passes."""

    def reach(self, point: FaultPoint) -> None:
        """Do nothing."""


NO_FAULTS = NoFaults()
