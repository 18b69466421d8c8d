"""How a researcher asks a model: where no answer is to be had it goes on without, and notes what it did without."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ledger.errors import CredentialRefused, OperationFailed
from nodes.researchers import answers
from nodes.thinking import Answered, Thinker, Wanted

T = TypeVar("T")


@dataclass
class Noting:
    """Asks, and keeps in words for the report what came of no use and what was not shown."""

    thinker: Thinker
    #: Whether what the model reads leaves this machine.
    leaves: bool = True
    _notes: list[str] = field(default_factory=list[str])

    @property
    def name(self) -> str:
        """The model's name."""
        return self.thinker.endpoint.model.name

    @property
    def outside(self) -> bool:
        """Whether what it reads leaves this machine."""
        return self.leaves

    @property
    def notes(self) -> Sequence[str]:
        """What it could not do so far, each once."""
        return tuple(dict.fromkeys(self._notes))

    async def used_up(self) -> str | None:
        """Say which budget leaves nothing for another branch, or None."""
        return await self.thinker.used_up()

    def _nameable(self, pieces: Sequence[T]) -> list[T]:
        """Return the first pieces, as many as can be named in one answer; of the others a note is made."""
        if (beyond := len(pieces) - answers.NAMES_MAX) > 0:
            self._notes.append(
                f"{beyond} of {len(pieces)} pieces of material were not shown to the model"
            )
        return list(pieces)[: answers.NAMES_MAX]

    async def _ask(self, wanted: Wanted) -> Answered | None:
        """Return the answer, or None where there is none to be had; the reason stands in `notes`."""
        try:
            answer = await self.thinker.ask(wanted)
        except CredentialRefused:
            raise
        except OperationFailed as error:
            self._notes.append(f"{wanted.prompt}: {error.reason}")
            return None
        if answer.left_out:
            self._notes.append(
                f"{wanted.prompt}: {answer.left_out} of {len(wanted.pieces)} pieces of material did not fit the model"
            )
        return answer
