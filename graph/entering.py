"""A step is entered only with a state of the form that this version stores: what anything else means, nobody guesses.

LangGraph hands a step whatever the checkpoint held: a channel that was retyped, renamed or emptied would be read as it is,
or as missing, and the step would work with half of what it needs.
"""

from collections.abc import Awaitable, Callable
from functools import cache, wraps
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from graph.errors import StateInvalid

Node = TypeVar("Node", bound=Callable[..., Awaitable[Any]])

# Damage is usually one thing in one place.
TOLD_MAX = 3


def entered(name: str, schema: Any, node: Node) -> Node:
    """Return a node that raises StateInvalid instead of beginning with a state that is not of the schema, a TypedDict.

    `node` takes its resources and then its state; LangGraph sees the same function, so the topology stays what it is.
    """
    form = _form(schema)

    @wraps(node)
    async def enter(resources: Any, state: Any, *rest: Any, **named: Any) -> Any:
        try:
            form.validate_python(state, strict=True, extra="forbid")
        except ValidationError as error:
            raise StateInvalid(name, _problems(error)) from None
        return await node(resources, state, *rest, **named)

    return cast("Node", enter)


@cache
def _form(schema: Any) -> TypeAdapter[Any]:
    return TypeAdapter(schema)


def _problems(error: ValidationError) -> list[str]:
    """Say what is wrong in which channel; the values are left out, because they may come from outside."""
    found = error.errors(include_input=False, include_url=False)
    told = [f"{'.'.join(map(str, each['loc'])) or 'state'}: {each['msg']}" for each in found]
    more = len(told) - TOLD_MAX
    return [*told[:TOLD_MAX], *([f"and {more} more"] if more > 0 else [])]
