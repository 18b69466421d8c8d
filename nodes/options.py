"""What a run is started with: small plain JSON, a form in Studio, written to the run's row by the first step.

Later steps read the row and not these: a resume comes without them.
"""

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator

ReviewKind: TypeAlias = Literal["plan", "sources", "report"]

REVIEW_KINDS: tuple[ReviewKind, ...] = ("plan", "sources", "report")

# A question that does not fit two printed pages is a document: it belongs into the corpus.
QUESTION_CHARACTERS_MAX = 8_000
# More branches than this and one worker waits on its own connections.
BRANCHES_MAX = 16
# A plan longer than this cannot be reviewed by a person.
TASKS_MAX = 12


class BadInput(ValueError):
    """What the user gave cannot be used; the text says what, why and what to do."""


class ToolMissing(BadInput):
    """A run was begun with a tool that this process does not have."""

    def __init__(self) -> None:
        super().__init__(
            "this run searches the web, and no web search is set up here; set PERDURE_SEARCH_URL as it was when the run"
            " began, then `perdure resume` goes on"
        )


class RunOptions(BaseModel):
    """How a run works; every field has a default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    corpus: tuple[str, ...] = Field(
        default=(),
        description="Files and folders to research, or pydoc:topics for Python's own reference",
    )
    model: str = Field(
        default="extractive", description="Who thinks: 'extractive' needs no language model"
    )
    review: str = Field(
        default="auto",
        description="When to stop for a person: none, auto, or a list out of plan,sources,report",
    )
    branches: int = Field(
        default=4, ge=1, le=BRANCHES_MAX, description="Tasks researched at the same time"
    )

    publish: tuple[str, ...] = Field(
        default=(),
        description="Where the report goes when it is done: file:PATH, https://…, mailto:…, postgres:TABLE",
    )
    notify: tuple[str, ...] = Field(
        default=(),
        description="Who is told when a person is needed or the run is done, without the run waiting for it: the same forms",
    )

    @field_validator("review")
    @classmethod
    def _known_reviews(cls, value: str) -> str:
        wanted = [part.strip() for part in value.split(",")]
        if wanted in (["none"], ["auto"]) or (wanted and set(wanted) <= set(REVIEW_KINDS)):
            return ",".join(wanted)
        raise ValueError(f"{value!r} is none of: none, auto, or a list out of plan,sources,report")

    def asks(self, kind: ReviewKind, *, needed: bool) -> bool:
        """Say whether this run stops for a review; `needed` is whether something needs a person under `auto`."""
        return needed if self.review == "auto" else kind in self.review.split(",")


def checked_question(text: str) -> str:
    """Return the question without surrounding space; raises BadInput for one that cannot be researched."""
    question = text.strip()
    if not question:
        raise BadInput(
            'the question is empty; ask something, for example: perdure run "What does assert do?"'
        )
    if len(question) > QUESTION_CHARACTERS_MAX:
        raise BadInput(
            f"the question has {len(question):,} characters, at most {QUESTION_CHARACTERS_MAX:,} are read;"
            " put long material into a file and pass it with --corpus"
        )
    for position, character in enumerate(question):
        if character == "\x00" or "\ud800" <= character <= "\udfff":
            name = "a NUL character" if character == "\x00" else "bytes that are no valid text"
            raise BadInput(
                f"the question has {name} at position {position}; type it anew, as UTF-8"
            )
    return question
