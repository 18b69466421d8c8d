"""Asks a language model through the journal: each HTTP call is an attempt, and no answer that was accepted is asked for again.

The operation is named by what is asked (the prompt's name and its inputs), not by its words or the model: new words, or
another model, find the answers that are there. Which words and which model it was stands in the record of each attempt.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from ledger import journal, runs, spending
from ledger.canonical import Json, canonical, digest
from ledger.db import Ledger, Transaction
from ledger.journal import Answer, Received
from ledger.requests import Request
from ledger.spending import Spent
from nodes.budgets import RESERVE, Budget, BudgetSpent
from nodes.clock import Clock, SystemClock
from nodes.models.answers import usage_in
from nodes.models.base import Ask, Message
from nodes.models.courses import Course, Patience
from nodes.models.endpoints import Endpoint
from nodes.models.errors import ModelError
from nodes.prompts import as_data, prompt

#: The kind of these operations in the journal.
KIND = "model"
# Under this name it stands beside an answer how many pieces of the material it is about.
_SHOWN = "shown"
_RESERVED = ", but for what is reserved for the report"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked: `inputs` name the operation, `values` and `pieces` stand in the text.

    `pieces` are numbered material, most important first: what does not fit the model is left out from the end, and
    `schema` is that of an answer about the first so many.
    """

    prompt: str
    inputs: Json
    schema: Callable[[int], Mapping[str, Json]]
    answer_tokens: int
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """The accepted answer, of its schema, and how many of the pieces the model was not shown."""

    value: Any
    left_out: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a task may use: of the run's budget, and of its own; None for what is no branch."""

    run: Budget = field(default_factory=Budget)
    branch: Budget | None = None

    def check(self, spent: Mapping[str, Spent], task_id: str, minutes: float) -> None:
        """Raise BudgetSpent where another call is too many; a branch leaves a part of the run's for the report.

        `minutes` are those since the run began.
        """
        whole = sum(spent.values(), Spent())
        part = 1.0 if self.branch is None else 1.0 - RESERVE
        if told := self.run.used_up(whole, minutes, part):
            raise BudgetSpent("run", told, "" if self.branch is None else _RESERVED)
        if self.branch is not None and (
            told := self.branch.used_up(spent.get(task_id, Spent()), minutes)
        ):
            raise BudgetSpent("branch", told)


@dataclass(frozen=True, slots=True)
class Thinker:
    """Asks one model for one task of a run."""

    ledger: Ledger
    run_id: UUID
    task_id: str
    retry: int
    endpoint: Endpoint
    allowance: Allowance = field(default_factory=Allowance)
    patience: Patience = field(default_factory=Patience)
    clock: Clock = field(default_factory=SystemClock)

    async def ask(self, wanted: Wanted) -> Answered:
        """Return the accepted answer, asking for it if there is none.

        Raises ModelError for what no further try mends, BudgetSpent, CredentialRefused, and RunPostponed where the run has
        to wait.
        """
        course, last = Course(self.patience, self.clock), _Last()
        while True:
            try:
                return await self._once(wanted, course, last)
            except ModelError as error:
                await course.after(error)

    async def _once(self, wanted: Wanted, course: Course, last: "_Last") -> Answered:
        shown, asked = await self._fitting(wanted, course, last)
        request = self._request(wanted, asked)
        await self._check_budget(request)

        async def receive() -> Received:
            async with self.endpoint.places:
                last.received = None
                last.received = _about(await self._counting(asked), shown)
            return last.received

        async def understand(received: Received) -> Answer:
            # It may be left of a worker that sent less, or more, than this one would.
            sent = int(received.detail.get(_SHOWN, shown))
            about = replace(asked, schema=wanted.schema(sent))
            return self._understood(about, received, len(wanted.pieces) - sent)

        recorded = await journal.fetch(self.ledger, self.run_id, request, receive, understand)
        return Answered(recorded.body["value"], recorded.body["left_out"])

    @property
    def answer_tokens_max(self) -> int:
        """The tokens of the longest answer: half of the context, as the other half is for what is asked."""
        return self.endpoint.model.profile.context_tokens // 2

    async def _fitting(self, wanted: Wanted, course: Course, last: "_Last") -> tuple[int, Ask]:
        """Return as many pieces as fit, and the ask about them."""
        profile = self.endpoint.model.profile
        longer = wanted.answer_tokens * 2**course.longer
        tokens = min(longer, self.answer_tokens_max)
        room = course.room
        if course.longer and tokens < longer:
            # An answer that was cut short and has no more room to get: about less there is less to say.
            room *= 0.5**course.longer
        shown = max(1, int(len(wanted.pieces) * room)) if wanted.pieces else 0
        while True:
            asked = Ask(
                self._messages(wanted, shown, course, last),
                wanted.prompt,
                wanted.schema(shown),
                tokens,
            )
            size = await self.endpoint.model.tokens(asked)
            if shown <= 1 or size + tokens <= profile.context_tokens:
                return shown, asked
            shown = max(1, int(shown * 0.8))

    def _messages(
        self, wanted: Wanted, shown: int, course: Course, last: "_Last"
    ) -> tuple[Message, ...]:
        words = prompt(wanted.prompt)
        values = {name: as_data(value) for name, value in wanted.values.items()}
        text = words.user.substitute(values, pieces=as_data("\n".join(wanted.pieces[:shown])))
        asked = (Message("system", words.system), Message("user", text))
        if course.complaint is None or last.received is None:
            return asked
        said = json.loads(last.received.content)
        complaint = (
            f"This cannot be used: {course.complaint}. Answer again, with JSON of the schema only."
        )
        content = said.get("content") or "{}"
        return (
            *asked,
            Message("assistant", content, said.get("reasoning")),
            Message("user", complaint),
        )

    def _request(self, wanted: Wanted, asked: Ask) -> Request:
        settings: dict[str, Json] = {
            **self.endpoint.model.settings,
            "prompt": f"{wanted.prompt} {prompt(wanted.prompt).version}",
            "asked": digest(canonical(asked.body)),
        }
        body: Json = {"prompt": wanted.prompt, "inputs": wanted.inputs}
        return Request(self.task_id, KIND, body, settings, self.retry)

    async def _check_budget(self, request: Request) -> None:
        """Raise BudgetSpent, unless the answer is there already and costs nothing."""
        async with self.ledger.transaction() as tx:
            if not await spending.is_answered(tx, self.run_id, request):
                await self._check_allowance(tx)

    async def _check_allowance(self, tx: Transaction) -> None:
        spent, minutes = (
            await spending.spent(tx, self.run_id, KIND),
            await runs.minutes(tx, self.run_id),
        )
        self.allowance.check(spent, self.task_id, minutes)

    async def used_up(self) -> str | None:
        """Say which budget leaves no further call, or None."""
        async with self.ledger.transaction() as tx:
            try:
                await self._check_allowance(tx)
            except BudgetSpent as error:
                return error.reason
        return None

    async def _counting(self, asked: Ask) -> Received:
        """Make the call when the rate allows it, and count what it used."""
        model = self.endpoint.model
        expected = await model.tokens(asked) + asked.answer_tokens_max
        taken = await self.endpoint.rate.take(expected, self.clock)
        try:
            received = await model.receive(asked)
        except ModelError as error:
            error.spent = self.endpoint.cost_of(error.usage)
            taken.cost(error.usage)
            raise
        taken.cost(usage_in(received))
        return received

    def _understood(self, asked: Ask, received: Received, left_out: int) -> Answer:
        try:
            reply = self.endpoint.model.understand(asked, received)
        except ModelError as error:
            error.spent = self.endpoint.cost_of(error.usage)
            raise
        return Answer(
            {"value": reply.value, "left_out": left_out},
            response_id=reply.response_id,
            usage=self.endpoint.cost_of(reply.usage),
        )


def _about(received: Received, shown: int) -> Received:
    return replace(received, detail={**received.detail, _SHOWN: shown})


@dataclass
class _Last:
    """What came last, as it came."""

    received: Received | None = None
