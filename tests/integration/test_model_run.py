"""A run that thinks with a language model: over HTTP, every call recorded, nothing asked twice, no citation invented."""

from pathlib import Path

from ledger.ids import new_run_id
from tests.support.leaks import tables_with
from tests.support.mind import sensible
from tests.support.model_runs import (
    asking,
    fabricated,
    model_calls,
    thinking_runtime,
    used,
    worked_to_its_end,
)
from tests.support.moonshot.server import KEY, moonshot_server
from tests.support.runtimes import write_corpus

PROMPTS = {"plan", "queries", "choose", "extract", "assess", "conflicts", "synthesize"}


async def test_a_model_researches_and_each_citation_is_cut_from_what_was_kept(
    database_url: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "garden")
    with moonshot_server(sensible) as server:
        async with thinking_runtime(database_url, tmp_path / "home", server) as (runtime, _):
            run, _ = await worked_to_its_end(runtime, asking(corpus), new_run_id())
            assert run.status == "completed"
            asked = await model_calls(runtime.ledger, run.run_id)
            spent = await used(runtime.ledger, run.run_id)
            assert {each.request["prompt"] for each in asked} >= PROMPTS
            assert await fabricated(runtime.ledger, run, runtime.resources.reports) == []
            # The key is nowhere, and neither is it in what was recorded of the calls.
            assert await tables_with(runtime.ledger, KEY) == []
        settings = [attempt.settings for each in asked for attempt in each.attempts]
        assert {each["model"] for each in settings} == {"kimi-k3"}
        assert all(each["prompt"].split()[1].isdigit() for each in settings)
        billed = [
            each.outcome.answer.usage
            for each in server.calls
            if each.outcome and each.outcome.answer
        ]
        assert len(asked) == len(server.calls) == spent["calls"]
        assert spent["prompt_tokens"] == sum(each.prompt for each in billed)
        assert spent["completion_tokens"] == sum(each.completion for each in billed)
        assert spent["cached_tokens"] == sum(each.cached for each in billed) > 0
        assert spent["cost_usd"] > 0
        assert not any(
            name in each.chat.body
            for each in server.calls
            for name in ("temperature", "top_p", "n", "presence_penalty", "frequency_penalty")
        )
