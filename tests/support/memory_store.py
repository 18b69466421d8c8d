"""A document store in memory, which counts what it is asked and checks what it is given."""

from collections.abc import Sequence

from ledger.documents import Extraction, NewExtraction
from nodes.tools.documents import artifact_of


class MemoryStore:
    """Keeps extractions and artifacts in dictionaries."""

    def __init__(self) -> None:
        self.artifacts: dict[str, bytes] = {}
        self.extractions: dict[tuple[str, str], Extraction] = {}
        self.batches: list[int] = []

    async def known(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Extraction]:
        return {key: self.extractions[key] for key in keys if key in self.extractions}

    async def keep(self, batch: Sequence[NewExtraction]) -> list[Extraction]:
        self.batches.append(len(batch))
        return [self._kept(new) for new in batch]

    def _kept(self, new: NewExtraction) -> Extraction:
        assert (new.text is None) != (new.reason is None)
        text = None if new.text is None else self._artifact(new.text.encode())
        kept = Extraction(
            content_artifact=self._artifact(new.content),
            extractor=new.extractor,
            text_artifact=text,
            title=new.title,
            media_type=new.media_type,
            reason=new.reason,
        )
        return self.extractions.setdefault((kept.content_artifact, kept.extractor), kept)

    def _artifact(self, content: bytes) -> str:
        artifact = artifact_of(content)
        self.artifacts[artifact] = content
        return artifact
