"""What is posted to the routes of the server, by whom, and in which form."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from graph.process import SERVER
from graph.routes import app
from graph.runs import start_run
from tests.support.runtimes import QUESTION, options, runtime_on, write_corpus

JSON = {"Content-Type": "application/json"}
APPROVAL = {"choice": "approve", "decided_by": "ada"}


@pytest.fixture
async def client(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the routes, in whose database a run waits for a review of its sources."""
    corpus = write_corpus(tmp_path / "garden")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        await start_run(runtime, QUESTION, options(corpus, "sources"))
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    transport = httpx.ASGITransport(app=app)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as opened:
            yield opened
    finally:
        await SERVER.close()


async def _asked(client: httpx.AsyncClient) -> dict[str, Any]:
    listed: list[dict[str, Any]] = (await client.get("/reviews", params={"status": "open"})).json()
    (asked,) = listed
    return asked


async def test_a_decision_is_taken_in_one_form_and_for_a_whole_id(
    client: httpx.AsyncClient,
) -> None:
    name = (await _asked(client))["review_id"]
    place = f"/reviews/{name}"
    for form in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        headers = {"Content-Type": form, "Origin": "https://elsewhere.example"}
        refused = await client.post(place, content=json.dumps(APPROVAL), headers=headers)
        assert refused.status_code == 415, form
    for begin in ("rev_", "r", name[:-1], f"{name}0", "%00", f"{name}%00", "%ed%a0%80"):
        assert (await client.get(f"/reviews/{begin}")).status_code == 404, begin
        assert (await client.post(f"/reviews/{begin}", json=APPROVAL)).status_code == 404, begin
    assert (await _asked(client))["review_id"] == name
    assert (await client.post(place, json=APPROVAL)).status_code == 200


async def test_what_cannot_be_kept_or_done_whole_is_refused_with_the_reason(
    client: httpx.AsyncClient,
) -> None:
    asked = await _asked(client)
    place, source = f"/reviews/{asked['review_id']}", asked["shown"]["sources"][0]["id"]
    deep = "[" * 300 + "]" * 300
    for edit, told in (
        ('{"omit": ["\\ud800"]}', "ud800"),
        (f'{{"omit": ["{source}"], "stand": []}}', "says one thing"),
        (f'{{"omit": ["{source}"], "x": NaN}}', "no number"),
        (f'{{"omit": {deep}}}', "nested"),
        (f'{{"omit": ["{source}", 7]}}', "an edit here"),
    ):
        body = f'{{"choice": "edit", "decided_by": "ada", "edit": {edit}}}'
        refused = await client.post(place, content=body, headers=JSON)
        assert (refused.status_code, told in refused.json()["reason"]) == (422, True), edit
    for named in (
        "a\x00da",
        "\ud800",
        " ",
        "\u200b",
        "dead\u200bline",
        "DEADLINE",
        "a" * 201,
        "a\nb",
    ):
        body = json.dumps({**APPROVAL, "decided_by": named})
        assert (await client.post(place, content=body, headers=JSON)).status_code == 422, named
    said = json.dumps({**APPROVAL, "comment": "a\x00b"})
    assert (await client.post(place, content=said, headers=JSON)).status_code == 422
    assert (await _asked(client))["status"] == "open"
