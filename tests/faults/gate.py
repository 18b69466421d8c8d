"""Where a case does its harm: boundaries are named as they are reached, and the one that a case has chosen is held.

A boundary's label is what reaches it and how often that has been reached before, so that branches stay parallel: the
third commit of an answer is the third, whichever branch it is of.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

When: TypeAlias = Literal["before", "after"]


class Held(Protocol):
    """What stands still at a boundary."""

    @property
    def pid(self) -> int:
        """The process that reached it."""
        ...

    def let_go(self) -> None:
        """Go on: send what was held to the server, or its answer to the client."""
        ...

    def drop(self) -> None:
        """Forget what was held and end the connection."""
        ...


Act: TypeAlias = Callable[[Held], Awaitable[None]]


@dataclass(frozen=True)
class Trap:
    """What happens at a label. Whatever it does, it lets go of what it was given, or drops it."""

    label: str
    when: When
    act: Act


@dataclass
class Gate:
    """Counts boundaries and holds those that have a trap, each once."""

    traps: list[Trap] = field(default_factory=list[Trap])
    reached: list[str] = field(default_factory=list[str])
    #: By each boundary's label, that of the beginning of its transaction.
    begun: dict[str, str] = field(default_factory=dict[str, str])
    #: What is being done, and to which process.
    acting: dict["asyncio.Task[None]", int] = field(default_factory=dict["asyncio.Task[None]", int])
    _counts: Counter[str] = field(default_factory=Counter[str])

    def arrive(self, name: str, begun: str | None = None) -> Trap | None:
        """Count a boundary of this name and return its trap; `begun` is the label of its transaction's beginning."""
        self._counts[name] += 1
        label = f"{name} #{self._counts[name]}"
        self.reached.append(label)
        self.begun[label] = begun or label
        return self._trap_at(label)

    def begin(self, role: str) -> tuple[str, Trap | None]:
        """Count a transaction that begins; returns its label and its trap."""
        self._counts[role] += 1
        label = f"{role} begins #{self._counts[role]}"
        return label, self._trap_at(label)

    def _trap_at(self, label: str) -> Trap | None:
        for trap in self.traps:
            if trap.label == label:
                self.traps.remove(trap)
                return trap
        return None

    def count_anew(self) -> list[str]:
        """Begin to count again, as a recovery does; returns what was reached so far."""
        reached, self.reached = self.reached, []
        self._counts.clear()
        return reached

    def spring(self, trap: Trap, held: Held) -> None:
        """Do what the trap does while the boundary stands still."""
        task = asyncio.create_task(_act(trap, held))
        self.acting[task] = held.pid
        task.add_done_callback(self.acting.pop)

    def acting_on(self, pid: int) -> list["asyncio.Task[None]"]:
        """Return what is being done to a process."""
        return [task for task, whom in self.acting.items() if whom == pid]


async def _act(trap: Trap, held: Held) -> None:
    await trap.act(held)
