"""Routes beside LangGraph's own on its server: what people are asked, and their decisions.

A decision is recorded as from everywhere else, before anything is woken; the run goes on when it is resumed. It is taken as
`application/json` only: what a page of another site makes a browser post in any other form is sent without asking us first.
"""

import json
import re
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from graph.cli.shapes import of_review, of_whole_review
from graph.process import SERVER
from graph.runs import decide, find_run
from ledger import reviews
from ledger.canonical import Json
from ledger.errors import Ambiguous, LedgerError, NotFound, NotText, ReviewClosed
from ledger.questions import Choice, Decision
from nodes.options import BadInput

#: A decision of a report's whole text takes a fifth of this.
BODY_BYTES_MAX = 4_000_000
#: Of the forms of edits the deepest is nested a tenth as deep.
NESTING_MAX = 50
_JSON = "application/json"
#: A person may shorten an id; a program that posts a beginning, or nothing, would decide whatever fits.
_WHOLE_ID = re.compile(r"rev_[0-9a-f]{24}")


class Answer(BaseModel):
    """What is posted to a review."""

    model_config = ConfigDict(extra="forbid")

    choice: Choice
    decided_by: str = Field(min_length=1)
    comment: str | None = None
    edit: Any = None
    response: str | None = None


class Unread(ValueError):
    """A body that is no decision; the text says why."""


async def list_reviews(request: Request) -> Response:
    """`GET /reviews?run=&status=`: what was asked, newest first."""
    runtime = await SERVER.runtime()
    status = request.query_params.get("status")
    try:
        named = request.query_params.get("run")
        run = await find_run(runtime, named) if named else None
        async with runtime.ledger.transaction(one_moment=True) as tx:
            found = await reviews.newest_first(tx, run.run_id if run else None)
    except LedgerError as error:
        return _refused(error)
    shown = [of_review(review) for review in found if status in {None, review.status}]
    return JSONResponse(shown)


async def get_review(request: Request) -> Response:
    """`GET /reviews/{id}`: one review with all that it shows."""
    runtime = await SERVER.runtime()
    try:
        name = _whole_id(request)
        async with runtime.ledger.transaction(one_moment=True) as tx:
            review = await reviews.find(tx, name)
    except LedgerError as error:
        return _refused(error)
    return JSONResponse(of_whole_review(review))


async def decide_review(request: Request) -> Response:
    """`POST /reviews/{id}`: a decision, or the first of two alike."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        return _told(415, "BadInput", f"a decision is posted with Content-Type: {_JSON}")
    try:
        answer = Answer.model_validate(await _body(request))
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
            for one in error.errors(include_input=False)
        )
        return _told(422, "BadInput", told)
    except Unread as error:
        return _told(422, "BadInput", str(error))
    runtime = await SERVER.runtime()
    decision = Decision.model_validate(answer.model_dump())
    try:
        decided = await decide(runtime, _whole_id(request), decision)
    except (LedgerError, BadInput) as error:
        return _refused(error)
    return JSONResponse(of_whole_review(decided))


async def _body(request: Request) -> Any:
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > BODY_BYTES_MAX:
            raise Unread(f"a decision has at most {BODY_BYTES_MAX:,} bytes")
    try:
        found = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Unread(f"the body is no JSON: {error}") from error
    if _is_deep(found):
        raise Unread(f"a decision is nested at most {NESTING_MAX} deep")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _is_deep(value: Any) -> bool:
    level: list[Any] = [value]
    for _ in range(NESTING_MAX):
        level = [part for each in level for part in _parts(each)]
    return bool(level)


def _parts(value: Any) -> list[Any]:
    match value:
        case dict():
            return list(cast("dict[str, Any]", value).values())
        case list():
            return list(cast("list[object]", value))
        case _:
            return []


def _whole_id(request: Request) -> str:
    name: str = request.path_params["review_id"]
    if not _WHOLE_ID.fullmatch(name):
        raise NotFound("no review has that id; `GET /reviews` lists them")
    return name


def _refused(error: LedgerError | BadInput) -> Response:
    match error:
        case NotFound() | Ambiguous():
            status = 404
        case ReviewClosed():
            status = 409
        case BadInput() | NotText():
            status = 422
        case _:
            # The database is away, or what it holds of the run is damaged: nothing was recorded.
            status = 503
    return _told(status, type(error).__name__, str(error))


def _told(status: int, name: str, reason: str) -> Response:
    # What was posted may stand in it, and be no text.
    readable = reason.encode(errors="backslashreplace").decode()
    body: dict[str, Json] = {"error": name, "reason": readable}
    return JSONResponse(body, status_code=status)


app = Starlette(
    routes=[
        Route("/reviews", list_reviews, methods=["GET"]),
        Route("/reviews/{review_id}", get_review, methods=["GET"]),
        Route("/reviews/{review_id}", decide_review, methods=["POST"]),
    ]
)
