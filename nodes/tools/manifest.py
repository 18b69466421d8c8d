"""What a corpus consists of: its documents by digest and what was skipped, in one canonical order and form."""

import json
from dataclasses import asdict, dataclass
from typing import Self

import rfc8785

from nodes.material import Document, Skipped
from nodes.tools.documents import artifact_of


@dataclass(frozen=True, slots=True)
class Manifest:
    """The documents of a corpus in the order in which they were found, and what in it could not be read.

    The same files and extractors give the same bytes of `to_json()`, whose digest names the corpus.
    """

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...]

    @property
    def digest(self) -> str:
        """Return the artifact id of the canonical form."""
        return artifact_of(self.to_json())

    def to_json(self) -> bytes:
        """Return the canonical JSON (RFC 8785) of the manifest."""
        return rfc8785.dumps(
            {
                "documents": [asdict(document) for document in self.documents],
                "skipped": [asdict(skipped) for skipped in self.skipped],
            }
        )

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        """Read what `to_json` wrote."""
        value = json.loads(content)
        return cls(
            tuple(Document(**document) for document in value["documents"]),
            tuple(Skipped(**skipped) for skipped in value["skipped"]),
        )
