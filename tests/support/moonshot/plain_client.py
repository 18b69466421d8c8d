"""A client that adds nothing: what goes over the wire is what a test wrote, and no proxy of the environment is asked."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.support.moonshot.answers import DONE
from tests.support.moonshot.chat import JsonObject
from tests.support.moonshot.server import KEY, MoonshotServer


class PlainClient:
    """Asks one server with one key."""

    def __init__(self, server: MoonshotServer, http: httpx.Client) -> None:
        self._server = server
        self.http = http

    def chat(self, **body: object) -> httpx.Response:
        """Ask for a completion of "Which lock?" by kimi-k3, with whatever else is given."""
        return self.http.post("/chat/completions", json=asking(**body))

    def content(self, **body: object) -> str:
        """Ask, and return the content of the answer."""
        answered = self.chat(**body)
        assert answered.status_code == 200, answered.text
        content: str = answered.json()["choices"][0]["message"]["content"]
        return content


def refusal(client: PlainClient, **body: object) -> str:
    """Ask what is refused, and return the text of the refusal: a body of type and message, and no code."""
    refused = client.chat(**body)
    assert refused.status_code == 400, refused.text
    assert refused.json().keys() == {"error"}
    error: dict[str, str] = refused.json()["error"]
    assert error.keys() == {"type", "message"}
    assert error["type"] == "invalid_request_error"
    return error["message"]


@contextmanager
def plain_client(server: MoonshotServer, key: str = KEY) -> Iterator[PlainClient]:
    """Keep a client open for the block."""
    headers = {"authorization": f"Bearer {key}"}
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False, timeout=None) as http:
        yield PlainClient(server, http)


def user(content: str) -> JsonObject:
    """Return a user's message."""
    return {"role": "user", "content": content}


def asking(**body: object) -> JsonObject:
    """Return the body of a request."""
    return {"model": "kimi-k3", "messages": [user("Which lock?")], **body}


def by_schema(schema: JsonObject, name: str = "answer", **others: object) -> JsonObject:
    """Return the response format that asks for an instance of a schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, **others}}


def object_of(*required: str, **properties: JsonObject) -> JsonObject:
    """Return the schema of an object."""
    return {"type": "object", "properties": properties, "required": list(required)}


def events(text: str) -> list[str]:
    """Return the data of each event of a stream."""
    return [one.removeprefix("data: ") for one in text.split("\n\n") if one]


def chunks(text: str) -> list[JsonObject]:
    """Return the chunks of a stream that ended with [DONE]."""
    *before, last = events(text)
    assert last == DONE
    return [json.loads(one) for one in before]
