"""A prompt's version is no change of the workflow: a sleeping run goes on, and only new attempts bear the new one."""

import json
import re
from pathlib import Path

import pytest

from graph.runs import start_run
from ledger.journal import Operation
from tests.migrations.copies import GOES_ON, copied, run_by
from tests.support.mind import sensible
from tests.support.model_runs import asking, model_calls, thinking_runtime
from tests.support.moonshot.server import moonshot_server
from tests.support.runtimes import QUESTION, decided, write_corpus

_VERSION = re.compile(r"\Aversion: (\d+)$", re.MULTILINE)


def with_other_prompts(folder: Path) -> Path:
    """Return a copy in which every prompt has other words and the next version."""
    for file in (copied(folder) / "nodes" / "prompts").glob("*.md"):
        text = file.read_text(encoding="utf-8")
        file.write_text(_VERSION.sub(_raised, text), encoding="utf-8")
    return folder


def _raised(found: re.Match[str]) -> str:
    return f"version: {int(found[1]) + 1}\nTake your time."


def versions(asked: list[Operation]) -> dict[str, set[str]]:
    """Return under which prompts each operation was attempted."""
    return {
        each.operation_id: {str(attempt.settings["prompt"]) for attempt in each.attempts}
        for each in asked
    }


@pytest.mark.parametrize("stop", ["plan", "report"])
async def test_new_attempts_bear_the_new_version_and_what_was_asked_is_not_asked_again(
    database_url: str, tmp_path: Path, stop: str
) -> None:
    corpus, home = write_corpus(tmp_path / "garden"), tmp_path / "home"
    with moonshot_server(sensible) as server:
        async with thinking_runtime(database_url, home, server) as (runtime, _):
            paused = await start_run(runtime, QUESTION, asking(corpus, review="plan,report"))
            if stop == "report":
                paused = await decided(runtime, paused, choice="approve")
            assert [each.kind for each in paused.reviews] == [stop]
            run_id, before = (
                paused.run.run_id,
                versions(await model_calls(runtime.ledger, paused.run.run_id)),
            )
        calls = len(server.calls)
        told = json.loads(
            run_by(
                with_other_prompts(tmp_path / "copy"),
                str(GOES_ON),
                str(run_id),
                PERDURE_DATABASE_URL=database_url,
                PERDURE_HOME=str(home),
                PERDURE_MODEL_BASE_URL=server.url,
                PERDURE_MODEL_KEY=f"file:{home / 'model.key'}",
            )
        )
        assert (told["status"], told["version"]) == ("completed", paused.run.workflow_version)
        assert told["reviews"] == [["report", "decided"], ["plan", "decided"]]
        async with thinking_runtime(database_url, home, server) as (runtime, _):
            after = versions(await model_calls(runtime.ledger, run_id))
        assert {name: after[name] for name in before} == before
        new = {prompt for name in after.keys() - before.keys() for prompt in after[name]}
        old = {prompt.split()[0]: int(prompt.split()[1]) for each in before.values() for prompt in each}  # fmt: skip
        assert all(int(each.split()[1]) > old.get(each.split()[0], 1) for each in new)
        assert len(server.calls) - calls == len(after) - len(before)
        if stop == "plan":
            assert new
