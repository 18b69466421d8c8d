"""An answer that a worker received and died over is the one that was paid for: it counts, about what it was asked about."""

import asyncio
import json
from uuid import UUID

import pytest

from ledger import spending
from ledger.db import Ledger
from ledger.faults import FaultPoint
from nodes.budgets import Budget
from nodes.material import Claim, Passage, Task
from nodes.models.base import Model
from nodes.models.endpoints import Endpoint
from nodes.researchers import answers
from nodes.researchers.model import ModelResearcher
from nodes.thinking import Allowance, Answered, Thinker, Wanted
from tests.support.carrying import Died, DiesAt
from tests.support.ledgers import new_run, open_ledger
from tests.support.mind import sensible
from tests.support.model_asks import client
from tests.support.moonshot.server import moonshot_server

PIECES = [f"E{at}: Runner beans number {at} are sown in May." for at in range(1, 201)]
WANTED = Wanted(
    "extract",
    {"task": "When?"},
    lambda count: answers.claims(3, count),
    512,
    {"task": "When are runner beans sown?", "question": "When?", "claims_max": "3"},
    PIECES,
)


def thinker(ledger: Ledger, run_id: UUID, model: Model, budget: Budget | None = None) -> Thinker:
    endpoint = Endpoint(model, asyncio.Semaphore(1))
    return Thinker(ledger, run_id, "t1", 0, endpoint, Allowance(budget or Budget()))


async def test_an_answer_that_was_left_is_paid_for_and_needs_no_budget(database_url: str) -> None:
    with moonshot_server(sensible) as server:
        async with client(server) as model:
            run_id = await died_over(database_url, model)
            async with open_ledger(database_url) as ledger:
                answer = await thinker(ledger, run_id, model, Budget(calls=1)).ask(WANTED)
                async with ledger.transaction() as tx:
                    spent = await spending.spent(tx, run_id, "model")
    assert answer.value["claims"]
    assert spent["t1"].calls == len(server.calls) == 1


async def test_an_answer_that_was_left_is_about_what_its_model_was_shown(database_url: str) -> None:
    with moonshot_server(sensible) as server:
        async with client(server, context_tokens=4_000) as small:
            run_id = await died_over(database_url, small)
            async with open_ledger(database_url) as ledger:
                other = await thinker(ledger, await new_run(ledger), small).ask(WANTED)
        # Who goes on has a larger context, or has not yet been told that it is smaller.
        async with client(server) as large, open_ledger(database_url) as ledger:
            answer = await thinker(ledger, run_id, large).ask(WANTED)
    assert len(server.calls) == 2
    assert answer == Answered(other.value, other.left_out)
    assert answer.left_out > 0


async def died_over(database_url: str, model: Model) -> UUID:
    """Return a run whose worker died with an answer in its hands."""
    async with open_ledger(database_url, faults=DiesAt(FaultPoint.AFTER_RECEIPT)) as ledger:
        run_id = await new_run(ledger)
        with pytest.raises(Died):
            await thinker(ledger, run_id, model).ask(WANTED)
    return run_id


async def test_a_report_of_another_plan_is_another_question(database_url: str) -> None:
    """Its sections are named by the numbers of the tasks: under another plan they would stand for other tasks."""
    plan = [Task(f"t{at}", f"Question {at}?", "Why?") for at in (1, 2)]
    claim = Claim("f", "t2", "Runner beans are sown in May.", ("e",), ("Runner beans.",), 0.9)

    def of_the_last(_: object) -> str:
        sentence = {"text": claim.text, "claims": ["F1"]}
        last = f"T{2 - len(server.calls[1:])}"
        return json.dumps({"sections": [{"task": last, "sentences": [sentence]}]})

    with moonshot_server(of_the_last) as server:
        async with client(server) as model, open_ledger(database_url) as ledger:
            run_id = await new_run(ledger)
            for tasks in (plan, plan[1:]):
                researcher = ModelResearcher(thinker(ledger, run_id, model))
                draft = await researcher.synthesize("Why?", tasks, [claim], [])
                assert [section.heading for section in draft.sections] == ["Question 2?"]
    assert len(server.calls) == 2


async def test_more_than_can_be_named_is_said_to_be_left_out(database_url: str) -> None:
    text = " ".join(f"Runner beans number {at} are sown in May." for at in range(400))
    passage = Passage("file:beans", "Beans", "sha256:beans", 0, len(text), text, 1.0)
    with moonshot_server(sensible) as server:
        async with client(server) as model, open_ledger(database_url) as ledger:
            researcher = ModelResearcher(thinker(ledger, await new_run(ledger), model))
            found = await researcher.extract(
                Task("t1", "When are runner beans sown?", "Why?"), [passage], {}
            )
    assert found
    assert researcher.notes == ("100 of 400 pieces of material were not shown to the model",)
