"""Pages that a run read are asked for again: unchanged, changed, gone and forbidden ones are told apart, and the report stays."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from tests.support.commands import perdure
from tests.support.open_web import LOOPBACK
from tests.support.site import Site, site

QUESTION = "When are runner beans sown?"
FIRST = "Runner beans climb a pole that is two metres high."
SOWN = "Runner beans are sown in May, after the last frost of the year."
LAST = "A bean plant fixes nitrogen from the air with the help of bacteria in its roots."
PEAS = "Peas are sown in March, under a cover of straw that keeps the birds away."


class Page:
    """A page of which the server knows the edition: who has it is told so (304) and sent nothing."""

    def __init__(self, *paragraphs: str) -> None:
        self.paragraphs = paragraphs
        self.statuses: list[int] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = self._answer(Request(scope).headers.get("if-none-match"))
        self.statuses.append(response.status_code)
        await response(scope, receive, send)

    def _answer(self, known: str | None) -> Response:
        edition = f'"{abs(hash(self.paragraphs))}"'
        if known == edition:
            return Response(status_code=304, headers={"etag": edition})
        text = "".join(f"<p>{each}</p>" for each in self.paragraphs)
        content = f"<html><head><title>Beans</title></head><body>{text}</body></html>"
        return HTMLResponse(content, headers={"etag": edition})


@pytest.fixture(name="web")
def _web(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PERDURE_PRIVATE_NETWORKS", LOOPBACK)
    with site() as served:
        monkeypatch.setenv("PERDURE_SEARCH_URL", f"{served.url}/search")
        yield served


@pytest.fixture(name="page")
def _page(web: Site) -> Page:
    page = Page(FIRST, SOWN, LAST)
    web.answer("/beans", page)
    hits = [{"url": f"{web.url}/beans", "title": "Beans"}]
    web.answer("/search", JSONResponse({"results": hits}))
    return page


def rows(*arguments: str) -> Any:
    ended = perdure(*arguments, "--json")
    assert ended.code == 0, ended.messages
    return ended.json


def run_over_the_web() -> str:
    run_id: str = rows("run", QUESTION, "--review", "none")["run_id"]
    assert "sown in May" in perdure("show", run_id).text
    return run_id


def rechecked(run_id: str) -> dict[str, Any]:
    (source,) = rows("sources", run_id, "--recheck")
    return dict(source)


def quote_of(source: dict[str, Any]) -> dict[str, Any]:
    (quote,) = [each for each in source["citations"] if "sown in May" in each["exact"]]
    return dict(quote)


def status_of(run_id: str) -> str:
    (source,) = rows("sources", run_id)
    return str(source["status"])


def test_a_page_whose_server_knows_the_edition_is_not_sent_again(
    web: Site, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = run_over_the_web()
    assert page.statuses == [200]
    # Whoever has pages to read again needs no search.
    monkeypatch.delenv("PERDURE_SEARCH_URL")
    source = rechecked(run_id)
    assert page.statuses == [200, 304]
    assert source["uri"] == f"{web.url}/beans"
    assert (source["state"], quote_of(source)["state"]) == ("same", "same")
    assert status_of(run_id) == "retained"
    assert perdure("verify", run_id).code == 0


def test_a_page_that_changed_is_told_with_its_quotes_and_the_report_stays(page: Page) -> None:
    run_id = run_over_the_web()
    shown = rows("show", run_id)
    page.paragraphs = (PEAS, FIRST, SOWN, LAST)
    source = rechecked(run_id)
    assert (source["state"], quote_of(source)["state"]) == ("changed", "moved")
    page.paragraphs = (FIRST, SOWN.replace("in May", "in June"), LAST)
    source = rechecked(run_id)
    assert (source["state"], quote_of(source)["state"]) == ("changed", "changed")
    page.paragraphs = (PEAS, "Nothing else is known of what grows here.")
    source = rechecked(run_id)
    assert (source["state"], quote_of(source)["state"]) == ("changed", "gone")
    assert status_of(run_id) == "changed"
    assert page.statuses == [200] * 4
    assert rows("show", run_id) == shown
    page.paragraphs = (FIRST, SOWN, LAST)
    assert rechecked(run_id)["state"] == "same"
    assert status_of(run_id) == "retained"
    assert perdure("verify", run_id).code == 0


def test_other_bytes_with_the_same_text_are_the_same(page: Page) -> None:
    run_id = run_over_the_web()
    page.paragraphs = (FIRST, SOWN, f"{LAST}<!-- visitor 17 -->")
    assert rechecked(run_id)["state"] == "same"
    assert page.statuses == [200, 200]


#: What a status says of the source, and what becomes of the source's own status.
STATES = {
    404: ("unavailable", "unavailable"),
    410: ("unavailable", "unavailable"),
    403: ("forbidden", "forbidden"),
    402: ("forbidden", "forbidden"),
    503: ("unchecked", "forbidden"),
}


def test_a_page_that_is_not_to_be_had_is_told_with_the_reason(web: Site, page: Page) -> None:
    """A server that does not answer now (503) says nothing new of the page."""
    run_id = run_over_the_web()
    for status, (state, kept) in STATES.items():
        web.text("/beans", status)
        source = rechecked(run_id)
        assert (source["state"], source["citations"]) == (state, [])
        assert f"HTTP {status}" in source["reason"]
        assert status_of(run_id) == kept
    web.answer("/beans", page)
    assert rechecked(run_id)["state"] == "same"
    assert status_of(run_id) == "retained"
    assert perdure("verify", run_id).code == 0


def test_a_page_that_robots_txt_forbids_by_now_is_not_asked_for(web: Site, page: Page) -> None:
    run_id = run_over_the_web()
    web.answer("/robots.txt", PlainTextResponse("User-agent: perdure\nDisallow: /beans\n"))
    source = rechecked(run_id)
    assert (source["state"], source["citations"]) == ("forbidden", [])
    assert "robots.txt" in source["reason"]
    assert page.statuses == [200]
    assert status_of(run_id) == "forbidden"
    assert perdure("verify", run_id).code == 0


def test_a_page_that_our_own_rules_forbid_by_now_says_nothing_of_the_page(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = run_over_the_web()
    monkeypatch.delenv("PERDURE_PRIVATE_NETWORKS")
    assert rechecked(run_id)["state"] == "unchecked"
    assert page.statuses == [200]
    assert status_of(run_id) == "retained"
