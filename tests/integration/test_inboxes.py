"""Clients that know the published HumanInterrupt form, and no more, decide; and so does whoever posts to our routes."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from pydantic import TypeAdapter, with_config

from graph.runs import outcome
from graph.runtime import open_runtime
from graph.settings import load_settings
from ledger import reviews
from ledger.questions import Kind, Review
from nodes.decisions.kinds import KINDS
from nodes.review import human_interrupt
from tests.support.dev_server import DevServer, dev_server
from tests.support.postgres import temporary_database
from tests.support.runtimes import QUESTION, write_corpus

with warnings.catch_warnings():
    # It is published there for as long as inboxes use it.
    warnings.simplefilter("ignore")
    from langgraph.prebuilt.interrupt import HumanInterrupt

    # Whatever is not part of the form is refused.
    FORM = TypeAdapter(with_config({"extra": "forbid"})(HumanInterrupt))

JSON = {"Content-Type": "application/json"}

SHOWN: dict[Kind, Any] = {
    "plan": {"tasks": [{"id": "t1", "question": "Why <b>?", "depends_on": ["t0"]}]},
    "sources": {
        "sources": [{"id": "src_1", "uri": "file:///a", "status": "changed"}],
        "claims": [{"id": "fnd_1", "claim": "It *is*.", "sources": ["src_1"]}],
        "disagreements": [{"between": ["fnd_1", "fnd_2"], "reason": "the numbers differ"}],
    },
    "conflict": {
        "reason": "the numbers differ",
        "claims": [{"id": "fnd_1", "claim": "It is.", "sources": ["src_1"]}],
    },
    "sensitive": {"sensitive": [{"id": "fnd_1", "name": "depths", "place": "line 3"}]},
    "report": {"report": "# Why?\n", "citations": [], "claims": [], "sources": []},
    "effect": {"act": "release", "target": "mailto:ada@example.org"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_review_is_asked_in_the_published_form(kind: Kind) -> None:
    shown = SHOWN[kind]
    asked = human_interrupt(
        {
            "kind": kind,
            "review_id": "rev_1",
            "summary": KINDS[kind].described(shown),
            "form": KINDS[kind].form(shown),
        }
    )
    assert FORM.validate_python(asked, strict=True) == asked
    assert asked["action_request"]["args"]["review_id"] == "rev_1"
    assert asked["config"]["allow_accept"]


@pytest.fixture(scope="module")
def environment(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    with temporary_database(server_url, template=template) as url:
        yield {
            "PERDURE_DATABASE_URL": url,
            "PERDURE_HOME": str(tmp_path_factory.mktemp("inbox-home")),
            "PERDURE_CORPUS": str(write_corpus(tmp_path_factory.mktemp("inbox") / "garden")),
        }


@pytest.fixture(scope="module")
def server(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DevServer]:
    with dev_server(tmp_path_factory.mktemp("server"), environment) as running:
        yield running


async def asked_of(server: DevServer, thread_id: str) -> Any:
    """Return what an inbox shows of a thread: one interrupt in the published form."""
    asked = (await server.interrupt(thread_id))["value"]
    return FORM.validate_python(asked)


async def decided(environment: dict[str, str], thread_id: str) -> list[Review]:
    """Return the reviews of a run in the order of their asking."""
    settings = load_settings(
        database_url=environment["PERDURE_DATABASE_URL"], home=environment["PERDURE_HOME"]
    )
    async with open_runtime(settings) as runtime, runtime.ledger.transaction() as tx:
        return list(reversed(await reviews.newest_first(tx, UUID(thread_id))))


async def status_of(environment: dict[str, str], thread_id: str) -> tuple[str, Path | None]:
    settings = load_settings(
        database_url=environment["PERDURE_DATABASE_URL"], home=environment["PERDURE_HOME"]
    )
    async with open_runtime(settings) as runtime:
        standing = await outcome(runtime, UUID(thread_id))
    return standing.run.status, standing.report_path


async def test_an_inbox_edits_a_plan_and_a_report_and_approves(
    server: DevServer, environment: dict[str, str]
) -> None:
    thread_id = await server.new_thread()
    await server.ask(thread_id, QUESTION, review="plan,report")
    asked = await asked_of(server, thread_id)
    args = asked["action_request"]["args"]
    args["tasks"] = args["tasks"][:1]
    await server.answer(thread_id, [{"type": "edit", "args": asked["action_request"]}])

    asked = await asked_of(server, thread_id)
    text = asked["action_request"]["args"]["text"]
    assert text in asked["description"]
    asked["action_request"]["args"]["text"] = text.replace("##", "I like beans.\n\n##", 1)
    await server.answer(thread_id, {"type": "edit", "args": asked["action_request"]})

    asked = await asked_of(server, thread_id)
    assert "I like beans. *(added by studio)*" in asked["description"]
    await server.answer(thread_id, [{"type": "accept", "args": None}])

    status, path = await status_of(environment, thread_id)
    assert status == "completed"
    assert path is not None
    assert "I like beans. *(added by studio)*" in path.read_text()
    found = await decided(environment, thread_id)
    assert [(each.kind, each.decision and each.decision.choice) for each in found] == [
        ("plan", "edit"),
        ("report", "edit"),
        ("report", "approve"),
    ]


async def test_an_inbox_says_what_is_missing_and_rejects(
    server: DevServer, environment: dict[str, str]
) -> None:
    thread_id = await server.new_thread()
    await server.ask(thread_id, QUESTION, review="plan")
    await server.answer(thread_id, [{"type": "response", "args": "And what of noise?"}])
    asked = await asked_of(server, thread_id)
    assert "And what of noise" in asked["description"]
    await server.answer(thread_id, [{"type": "ignore", "args": None}])
    assert (await status_of(environment, thread_id))[0] == "cancelled"


async def test_an_answer_with_the_id_of_another_review_decides_nothing(
    server: DevServer, environment: dict[str, str]
) -> None:
    other, thread_id = await server.new_thread(), await server.new_thread()
    await server.ask(other, QUESTION, review="plan")
    await server.ask(thread_id, QUESTION, review="plan")
    foreign = await asked_of(server, other)
    for answer in (
        foreign["action_request"]["args"]["review_id"],
        {"type": "edit", "args": foreign["action_request"]},
    ):
        await server.answer(thread_id, answer)
        assert "nothing was recorded" in (await asked_of(server, thread_id))["description"]
    assert [each.status for each in await decided(environment, thread_id)] == ["open"]
    assert [each.status for each in await decided(environment, other)] == ["open"]


async def test_reviews_are_listed_and_decided_over_http(server: DevServer) -> None:
    thread_id = await server.new_thread()
    await server.ask(thread_id, QUESTION, review="plan")
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        (asked,) = (
            await client.get("/reviews", params={"run": thread_id, "status": "open"})
        ).json()
        place = f"/reviews/{asked['review_id']}"
        shown = (await client.get(place)).json()
        assert (shown["kind"], shown["form"]["tasks"]) == ("plan", asked["shown"]["tasks"])
        for body, told in (
            (b"no", "is no JSON"),
            (b"{}", "choice"),
            (b'{"choice": "approve", "decided_by": ""}', "decided_by"),
            (b'{"choice": "edit", "decided_by": "ada", "edit": {"tasks": 7}}', "edited plan"),
            (b'{"choice": "approve", "decided_by": "\\ud800"}', "decided_by"),
        ):
            refused = await client.post(place, content=body, headers=JSON)
            assert (refused.status_code, told in refused.json()["reason"]) == (422, True), body
        approval = {"choice": "approve", "decided_by": "ada", "comment": "good"}
        done = await client.post(place, json=approval)
        assert (done.status_code, done.json()["comment"]) == (200, "good")
        late = await client.post(place, json={**approval, "decided_by": "bob"})
        assert (late.status_code, late.json()["error"]) == (409, "ReviewDecided")
        assert "approve by ada" in late.json()["reason"]
        for absent in ("/reviews/rev_nope", "/reviews?run=ffff"):
            assert (await client.get(absent)).status_code == 404
        assert (await client.post("/reviews/rev_nope", json=approval)).status_code == 404
        assert (
            await client.get("/reviews", params={"status": "open", "run": thread_id})
        ).json() == []
    ended = await server.answer(thread_id, asked["review_id"])
    assert ended["step"]["name"] == "publish"
