"""What becomes of a sleeping run under a chain of upcasts: decided from what was read, checked, nothing written."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, NotRequired, Required, cast, get_args, get_origin
from uuid import UUID

from langgraph.graph.state import StateGraph
from pydantic import TypeAdapter, ValidationError

from graph.errors import CannotMigrate
from graph.upcasts.base import Asked, Sleeping, Upcast
from ledger import reviews
from ledger.canonical import canonical, digest
from ledger.errors import NotText
from nodes.options import RunOptions

_REVIEW = re.compile(rb"rev_[0-9a-f]{24}")


def upcast(run: Sleeping, steps: Sequence[tuple[int, Upcast]]) -> Sleeping:
    """Return a run after these steps; `steps` are upcasts with the versions that they come from.

    Raises CannotMigrate where one refuses, meets what its version never stored, or leaves the run without a next step.
    """
    for version, step in steps:
        try:
            run = step(run)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise CannotMigrate(
                f"the step from version {version} cannot read what was stored ({_shape(error)})"
            ) from error
    if not run.next:
        raise CannotMigrate("no step would be next: the run would end without a word")
    return run


def _shape(error: Exception) -> str:
    """Return what an error says without the values that it met: names of fields are ours, what they hold is people's."""
    if isinstance(error, ValidationError):
        return _told(error)
    is_name = isinstance(error, LookupError | AttributeError)
    return f"{type(error).__name__}: {error}" if is_name else type(error).__name__


@dataclass(frozen=True, slots=True)
class Reasked:
    """A review that is asked again, because what it shows has changed: under another id."""

    before: Asked
    after: Asked


def reask(run_id: UUID, old: Sleeping, new: Sleeping) -> tuple[Sleeping, list[Reasked]]:
    """Return the run with the ids of the reviews that show something else now, and those reviews.

    A decision that the run does not wait for is past: nobody is asked that again. Raises CannotMigrate for a review that is
    passed by: whoever was asked is heard.
    """
    before = {each.review_id: each for each in old.reviews}
    after = {each.review_id: each for each in new.reviews}
    _check_reviews(old, before, after)
    waited = _named(old, before) | {name for name, each in before.items() if not each.decided}
    again = [
        Reasked(before[name], _under_new_id(run_id, new, asked))
        for name, asked in after.items()
        if name in waited and (asked.kind, asked.shown) != (before[name].kind, before[name].shown)
    ]
    names = {each.before.review_id: each.after.review_id for each in again}
    moved = _renamed(new.model_dump(include={"values", "next"}), names)
    found = Sleeping.model_validate({**new.model_dump(), **moved})
    _check_named(old, found, names, after)
    return found, again


def _under_new_id(run_id: UUID, new: Sleeping, asked: Asked) -> Asked:
    shown = digest(canonical(asked.shown))
    name = reviews.review_id(run_id, asked.kind, shown, new.values.get("decided", 0))
    return asked.model_copy(update={"review_id": name, "decided": False})


def _check_reviews(old: Sleeping, before: Mapping[str, Asked], after: Mapping[str, Asked]) -> None:
    needed = {name for name, each in before.items() if not each.decided} | _named(old, before)
    if gone := sorted(needed - set(after)):
        raise CannotMigrate(f"review {', '.join(gone)} was asked, and would be passed by")
    if unknown := sorted(set(after) - set(before)):
        raise CannotMigrate(f"review {', '.join(unknown)} was never asked of this run")


def _check_named(
    old: Sleeping, new: Sleeping, names: Mapping[str, str], asked: Collection[str]
) -> None:
    known = {names.get(each, each) for each in asked}
    sent = _ids(new.model_dump(include={"next"}))
    waited = {names.get(each, each) for each in _ids(old.model_dump(include={"next"})) & set(asked)}
    named = {names.get(each, each) for each in _named(old, asked)}
    # What the state names only is applied by a later step; what is sent to a node is waited for now.
    if lost := sorted((waited - sent) | (named - _named(new, known))):
        raise CannotMigrate(f"the run would no longer wait for review {', '.join(lost)}")
    if unknown := sorted(sent - known):
        raise CannotMigrate(f"it waits for review {', '.join(unknown)}, which nobody was asked")


def _named(run: Sleeping, known: Collection[str]) -> set[str]:
    """Return the reviews that a run names, in its state or to its next steps."""
    return _ids(run.model_dump(include={"values", "next"})) & set(known)


def _ids(value: Any) -> set[str]:
    return {each.decode() for each in _REVIEW.findall(_json(value, "its state"))}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {names.get(name, name): _renamed(part, names) for name, part in items}
    if isinstance(value, list | tuple):
        return [_renamed(part, names) for part in cast("Sequence[Any]", value)]
    return value


def check(builder: StateGraph[Any, Any, Any, Any], new: Sleeping) -> None:
    """See that a graph can take over a run: its channels are there and of their types, all is JSON; or CannotMigrate."""
    _json(new.model_dump(), "its state")
    joins = {f"join:{'+'.join(starts)}:{end}": set(starts) for starts, end in builder.waiting_edges}
    for name, value in new.values.items():
        if name.startswith("join:"):
            if name not in joins or not set(value) < joins[name]:
                raise CannotMigrate(f"{name} is no join of this version that {value} wait at")
        elif name not in builder.channels:
            raise CannotMigrate(f"channel {name} is not one of this version")
        else:
            _check_type(name, builder.channels[name], value)
    _check_joins(builder, new)
    try:
        RunOptions.model_validate(new.options)
    except ValidationError as error:
        raise CannotMigrate(f"its options are none of this version: {_told(error)}") from error


def _check_joins(builder: StateGraph[Any, Any, Any, Any], new: Sleeping) -> None:
    """See that no join waits for ever: whoever comes to one meets all others that it waits for."""
    come = _ahead(builder, new)
    for starts, end in builder.waiting_edges:
        there = come | _arrived(new, starts, end)
        if there & set(starts) and (missing := sorted(set(starts) - there)):
            raise CannotMigrate(
                f"{end} would wait for {', '.join(missing)} for ever: no next step leads there"
            )


def _ahead(builder: StateGraph[Any, Any, Any, Any], new: Sleeping) -> set[str]:
    """Return the nodes that the run may still come to, the next ones among them."""
    come: set[str] = set()
    more = {each.node for each in new.next}
    while more - come:
        come |= more
        more = {end for start, end in builder.edges if start in come}
        more |= {
            end
            for starts, end in builder.waiting_edges
            if set(starts) <= come | _arrived(new, starts, end)
        }
        for name in come & builder.branches.keys():
            for router in builder.branches[name].values():
                # A router that does not say where it leads may lead anywhere.
                more |= set(router.ends.values() if router.ends else builder.nodes)
        for name in come & builder.nodes.keys():
            more |= set(builder.nodes[name].ends or ())
    return come


def _arrived(new: Sleeping, starts: Sequence[str], end: str) -> set[str]:
    return set(new.values.get(f"join:{'+'.join(starts)}:{end}", ()))


def _check_type(name: str, channel: Any, value: Any) -> None:
    try:
        TypeAdapter(_bare(channel.typ)).validate_python(value, strict=True)
    except ValidationError as error:
        raise CannotMigrate(f"channel {name} is not of its type: {_told(error)}") from error


def _bare(annotation: Any) -> Any:
    """Return a type without what only says that a key may be missing."""
    if get_origin(annotation) in {Required, NotRequired} and not isinstance(annotation, UnionType):
        return get_args(annotation)[0]
    return annotation


def _told(error: ValidationError) -> str:
    """Return what is wrong, without the values: they may be of people."""
    problems = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(".".join(map(str, (*each["loc"], each["type"]))) for each in problems[:3])


def _json(value: Any, what: str) -> bytes:
    try:
        return canonical(value)
    except NotText as error:
        raise CannotMigrate(f"{what} is no JSON: {error}") from error
