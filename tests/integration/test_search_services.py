"""Each search service is asked as it wants to be, and what it answers is a result, a failure, or a key that is refused."""

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from graph.secrets import CredentialMissing, resolved
from graph.settings import Settings, load_settings
from graph.web import provider_of
from ledger.errors import CredentialRefused, OperationFailed
from nodes.options import BadInput
from nodes.tools.search.base import Provider
from nodes.tools.web import WebSearch
from tests.support.inline import Inline, made
from tests.support.open_web import open_pages
from tests.support.site import Site, site

HITS = [
    {"url": "http://a.example/1?utm_source=x", "title": "One"},
    {"url": "http://a.example/1", "title": "Again"},
    {"url": "ftp://a.example/2", "title": "No page"},
    {"url": "http://a.example/3", "title": None},
]
FOUND = [("http://a.example/1", "One"), ("http://a.example/3", "")]
ANSWERS: dict[str, Any] = {
    "searxng": {"results": HITS},
    "tavily": {"query": "q", "results": HITS},
    "brave": {"type": "search", "web": {"results": HITS}},
    "exa": {"requestId": "1", "results": HITS},
}
KEYED = ("tavily", "brave", "exa")


class Endpoint:
    """A search service: answers `response`, and keeps what it was asked."""

    def __init__(self, response: Response) -> None:
        self.response = response
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        asked = json.loads(body) if body else dict(request.query_params)
        self.requests.append((request.method, dict(request.headers), asked))
        await self.response(scope, receive, send)


@pytest.fixture(name="web")
def _web() -> Iterator[Site]:
    with site() as served:
        yield served


@pytest.fixture(name="key")
def _key(tmp_path: Path) -> Path:
    key = tmp_path / "key"
    key.write_text("canary-1\n")
    return key


def replace_key(key: Path, text: str) -> None:
    """Do what a person does who has another key."""
    key.write_text(text)


def provider(name: str, address: str, key: Path) -> Provider:
    """Return a service as it is set up by settings."""
    given = {"search": name, "search_url": address}
    chosen = provider_of(
        Settings.model_validate({**given, "search_key": f"file:{key}"} if name in KEYED else given)
    )
    assert chosen is not None
    return chosen


async def searched(chosen: Provider, limit: int = 12) -> list[tuple[str, str]]:
    """Search, and return addresses and titles."""
    context = ssl.create_default_context()
    async with (
        httpx.AsyncClient(verify=context) as client,
        open_pages(certificates=context) as pages,
    ):
        result = await made(WebSearch(chosen, client, pages, Inline(1)).search("tide gauge", limit))
    return [(hit.uri, hit.title) for hit in result.hits]


@pytest.mark.parametrize("name", ANSWERS)
async def test_all_services_give_the_same_hits(web: Site, key: Path, name: str) -> None:
    service = Endpoint(JSONResponse(ANSWERS[name]))
    assert await searched(provider(name, web.answer("/search", service), key)) == FOUND
    method, headers, asked = service.requests[0]
    expected = {
        "searxng": ("GET", None, {"q": "tide gauge", "format": "json"}),
        "tavily": ("POST", ("authorization", "Bearer canary-1"), {"query": "tide gauge", "max_results": 12}),
        "brave": ("GET", ("x-subscription-token", "canary-1"), {"q": "tide gauge", "count": "12", "result_filter": "web"}),
        "exa": ("POST", ("x-api-key", "canary-1"), {"query": "tide gauge", "numResults": 12}),
    }[name]  # fmt: skip
    assert (method, asked) == (expected[0], expected[2])
    if expected[1] is not None:
        assert headers[expected[1][0]] == expected[1][1]


async def test_a_search_that_finds_nothing_on_brave_is_no_failure(web: Site, key: Path) -> None:
    """It leaves the results out."""
    address = web.answer("/search", JSONResponse({"type": "search", "query": {"original": "q"}}))
    assert await searched(provider("brave", address, key)) == []


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("answer", [[], 1, None, {"error": "x"}, {"results": 7}, {"results": [1]}])
async def test_an_answer_of_another_form_is_a_failure(
    web: Site, key: Path, name: str, answer: Any
) -> None:
    address = web.answer("/search", JSONResponse(answer))
    with pytest.raises(OperationFailed, match="no list of results") as failed:
        await searched(provider(name, address, key))
    assert not failed.value.transient


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_said_without_the_key(
    web: Site, key: Path, name: str, status: int
) -> None:
    address = web.answer("/search", JSONResponse({"detail": "canary-1"}, status_code=status))
    with pytest.raises(CredentialRefused, match="PERDURE_SEARCH_KEY") as failed:
        await searched(provider(name, address, key))
    assert "canary" not in str(failed.value)


async def test_brave_refuses_a_key_in_a_way_of_its_own(web: Site, key: Path) -> None:
    error = {"error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "status": 422}}
    address = web.answer("/search", JSONResponse(error, status_code=422))
    with pytest.raises(CredentialRefused):
        await searched(provider("brave", address, key))
    web.answer("/search", JSONResponse({"error": {"code": "VALIDATION"}}, status_code=422))
    with pytest.raises(OperationFailed, match="HTTP 422") as failed:
        await searched(provider("brave", address, key))
    assert not isinstance(failed.value, CredentialRefused)


@pytest.mark.parametrize("name", KEYED)
async def test_a_key_is_not_carried_to_another_place(web: Site, key: Path, name: str) -> None:
    other = Endpoint(JSONResponse(ANSWERS[name]))
    address = web.answer("/search", RedirectResponse(web.answer("/other", other), status_code=307))
    with pytest.raises(OperationFailed, match="HTTP 307"):
        await searched(provider(name, address, key))
    assert other.requests == []


async def test_a_key_is_read_anew_at_each_call(web: Site, key: Path) -> None:
    service = Endpoint(JSONResponse(ANSWERS["exa"]))
    chosen = provider("exa", web.answer("/search", service), key)
    await searched(chosen)
    replace_key(key, "canary-2")
    await searched(chosen)
    assert [headers["x-api-key"] for _, headers, _ in service.requests] == ["canary-1", "canary-2"]


async def test_without_its_key_nobody_is_asked(web: Site, key: Path) -> None:
    service = Endpoint(JSONResponse(ANSWERS["exa"]))
    chosen = provider("exa", web.answer("/search", service), key)
    replace_key(key, "")
    with pytest.raises(CredentialMissing, match="PERDURE_SEARCH_KEY"):
        await searched(chosen)
    assert service.requests == []


def test_a_reference_may_name_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXA_KEY", "canary\n")
    assert resolved("env:EXA_KEY", "X") == "canary"
    monkeypatch.setenv("EXA_KEY", "two\nlines")
    with pytest.raises(CredentialMissing):
        resolved("env:EXA_KEY", "X")
    with pytest.raises(CredentialMissing):
        resolved("env:NOBODY_SET_THIS", "X")


def test_runs_in_progress_find_their_searches(key: Path) -> None:
    """The identity is part of the key of every operation; this one was released."""
    chosen = provider("searxng", "http://me:secret@search.test/s?key=1#x", key)
    assert chosen.identity == {
        "name": "web",
        "service": "sha256:4c6623ce6ed06169b27d5327e050d7785d72dca23adff40f53b433285d9e171e",
    }
    assert (
        provider("exa", "http://x.test/", key).identity
        != provider("tavily", "http://x.test/", key).identity
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"search": "searxng"}, "PERDURE_SEARCH_URL"),
        ({"search": "exa"}, "PERDURE_SEARCH_KEY"),
        ({"search": "brave", "search_url": "http://x.test/"}, "PERDURE_SEARCH_KEY"),
    ],
)
def test_what_a_search_needs_is_named_where_it_is_missing(given: dict[str, str], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        provider_of(load_settings(**given))
