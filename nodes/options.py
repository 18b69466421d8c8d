"""What a run is started with: small plain JSON, a form in Studio, written to the run's row by the first step.

Later steps read the row and not these: a resume comes without them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ledger.questions import AtDeadline, Kind, Rules
from nodes.budgets import Budget
from nodes.sensitive import SensitiveRule

ReviewKind: TypeAlias = Literal["plan", "sources", "conflict", "report", "effect"]

#: The reviews that a run can be told to stop for; the other kinds stop it where something needs a person.
REVIEW_KINDS: tuple[ReviewKind, ...] = ("plan", "sources", "conflict", "report", "effect")

# A question that does not fit two printed pages is a document: it belongs into the corpus.
QUESTION_CHARACTERS_MAX = 8_000
# What a reviewer writes is read whole, a pasted document included: about twenty printed pages.
ANSWER_CHARACTERS_MAX = 65_536
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
            "this run searches the web, and no web search is set up here; set PERDURE_SEARCH or PERDURE_SEARCH_URL"
            " as they were when the run began, then `perdure resume` goes on"
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
        description="When to stop for a person: none, auto, or a list out of plan,sources,conflict,report,effect",
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
    two_persons: tuple[Kind, ...] = Field(
        default=(), description="Reviews that two different people have to decide alike"
    )
    review_deadline: str | None = Field(
        default=None,
        pattern=r"^[0-9]{1,6}[smhdw]$",
        description="How long a review waits for a person, for example 3d; unset, for ever",
    )
    at_deadline: AtDeadline = Field(
        default="stay", description="What happens to a review then: stay, reject or go-on"
    )
    budget: Budget = Field(
        default_factory=Budget,
        description="What the run may ask of a language model: tokens, usd, calls, minutes; unset, no limit",
    )
    branch_budget: Budget = Field(default_factory=Budget, description="The same for each branch")
    sensitive: tuple[SensitiveRule, ...] = Field(
        default=(), description="What a person has to release before it is published"
    )

    @field_validator("review")
    @classmethod
    def _known_reviews(cls, value: str) -> str:
        wanted = [part.strip() for part in value.split(",")]
        if wanted in (["none"], ["auto"]) or (wanted and set(wanted) <= set(REVIEW_KINDS)):
            return ",".join(wanted)
        raise ValueError(
            f"{value!r} is none of: none, auto, or a list out of plan,sources,conflict,report,effect"
        )

    def asks(self, kind: ReviewKind, *, needed: bool) -> bool:
        """Say whether this run stops for a review; `needed` is whether something needs a person under `auto`."""
        return needed if self.review == "auto" else kind in self.review.split(",")

    def rules(self, kind: Kind) -> Rules:
        """Return who decides a review of this kind, and until when."""
        return Rules(
            persons=2 if kind in self.two_persons else 1,
            due_seconds=_seconds(self.review_deadline),
            at_deadline=self.at_deadline,
        )


_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def _seconds(length: str | None) -> float | None:
    return None if length is None else float(int(length[:-1]) * _SECONDS[length[-1]])


@dataclass(frozen=True, slots=True)
class Policy:
    """What is set for all runs of an installation: a run can ask for more, never for less."""

    sensitive: Sequence[SensitiveRule] = ()
    two_persons: Sequence[Kind] = ()

    def over(self, options: RunOptions) -> RunOptions:
        """Return the options of a new run with what is set for all."""
        return options.model_copy(
            update={
                "sensitive": tuple(dict.fromkeys([*self.sensitive, *options.sensitive])),
                "two_persons": tuple(dict.fromkeys([*self.two_persons, *options.two_persons])),
            }
        )


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
    check_text(question, "question")
    return question


def checked_answer(text: str) -> str:
    """Return what a reviewer wrote, exactly as it is; raises BadInput for what cannot be passed on."""
    if not text.strip():
        raise BadInput("an answer needs words: what should be researched besides?")
    if len(text) > ANSWER_CHARACTERS_MAX:
        raise BadInput(
            f"the answer has {len(text):,} characters, at most {ANSWER_CHARACTERS_MAX:,} are read;"
            " put long material into a file of the corpus"
        )
    check_text(text, "answer")
    return text


_NO_TEXT = re.compile("[\x00\ud800-\udfff]")


def check_text(text: str, what: str) -> None:
    """Raise BadInput for what is no text, and can be kept neither in the database nor in a report."""
    found = _NO_TEXT.search(text)
    if found:
        name = "a NUL character" if found[0] == "\x00" else "bytes that are no valid text"
        raise BadInput(f"the {what} has {name} at position {found.start()}; type it anew, as UTF-8")
