"""Checks what is recorded of a run against itself: digests, quotes, citations, journal, chains.

Reads only. Artifacts are read one at a time, so that a run is verified in the memory of its largest document; evidence
that shares a text is checked while that text is at hand.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from uuid import UUID

from ledger import (
    artifacts,
    audit,
    checkpoint_checks,
    citations,
    effect_checks,
    evidence,
    forks,
    integrity,
    journal,
    records,
    runs,
    tasks,
)
from ledger.db import Transaction
from ledger.errors import ArtifactCorrupt, LedgerDamaged, NotFound
from ledger.evidence import CONTEXT_CHARACTERS, Evidence
from ledger.payloads import UnknownKey
from ledger.records import CheckpointRecord
from ledger.requests import Request
from ledger.sql import load

_SQL = load("verification")
_ARTIFACTS, _ACCEPTED = _SQL["ArtifactsOfRun"], _SQL["AcceptedAttempts"]
_UNFOUNDED, _UNSUPPORTED = _SQL["UnfoundedReuses"], _SQL["UnsupportedFindings"]

# Damage is usually one thing with many consequences; the first few name it.
PROBLEMS_TOLD_MAX = 5

# What reading damaged rows may raise: payloads that are no JSON, or another; values that a row cannot have.
UNREADABLE = (LedgerDamaged, UnknownKey, ValueError, TypeError, LookupError, AttributeError)

# A report's own brackets: those in quoted text are escaped (nodes/report.py).
_CITED = re.compile(r"(?<!\\)\[(\d+)\]")
_LISTED = re.compile(r"^(\d+)\. “", re.MULTILINE)
_QUOTED = re.compile(r"^(\d+)\. “(.*)”$", re.MULTILINE)
_ESCAPED = re.compile(r"\\([\\`*_\[\]<>#|])")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked into; `detail` says what was counted, or what is wrong."""

    name: str
    ok: bool
    detail: str


async def verify(
    tx: Transaction, run_id: UUID, progress: Callable[[int], None] = lambda done: None
) -> tuple[Check, ...]:
    """Return the checks of a run; `progress` is told after each artifact. Raises NotFound for a run that is not there."""
    found = [await _rows(tx, run_id)]
    try:
        run = await runs.get(tx, run_id)
    except NotFound as error:
        if found[0].ok:
            raise
        return (*found, _unreadable("run", error))
    except UNREADABLE as error:
        return (*found, _unreadable("run", error))
    looks: dict[str, Callable[[], Awaitable[Check]]] = {
        "artifacts": lambda: _artifacts(tx, run, progress),
        "quotes": lambda: _quotes(tx, run_id),
        "citations": lambda: _citations(tx, run),
        "findings": lambda: _findings(tx, run_id),
        "journal": lambda: _journal(tx, run_id),
        "checkpoints": lambda: _checkpoints(tx, run_id),
        "effects": lambda: _effects(tx, run_id),
        "audit log": lambda: _audit(tx, run),
    }
    for name, look in looks.items():
        try:
            found.append(await look())
        except UNREADABLE as error:
            found.append(_unreadable(name, error))
    return tuple(found)


def _unreadable(name: str, error: Exception) -> Check:
    detail = f"what is stored cannot be read ({type(error).__name__})"
    return Check(name, ok=False, detail=detail)


async def _effects(tx: Transaction, run_id: UUID) -> Check:
    count, problems = await effect_checks.problems(tx, run_id)
    return _check("effects", problems, f"{count}, each as its target or a person said")


async def _artifacts(tx: Transaction, run: runs.Run, progress: Callable[[int], None]) -> Check:
    names = [row["artifact_id"] for row in await tx.many(_ARTIFACTS, run_id=run.run_id)]
    names += await integrity.corpus_artifacts(tx, run.corpus_artifact)
    problems: list[str] = []
    unique = list(dict.fromkeys(names))
    for done, name in enumerate(unique, start=1):
        try:
            await artifacts.get(tx, name)
        except NotFound:
            problems.append(f"{name} is missing")
        except ArtifactCorrupt:
            problems.append(f"{name} does not match its bytes")
        progress(done)
    return _check("artifacts", problems, f"{len(unique)} match their digests")


async def _rows(tx: Transaction, run_id: UUID) -> Check:
    problems = [str(damage) for damage in await integrity.damaged_rows(tx, run_id)]
    return _check("rows", problems, "every row, and its history, is as it was sealed")


async def _quotes(tx: Transaction, run_id: UUID) -> Check:
    recorded = list((await evidence.everything(tx, run_id)).values())
    problems: list[str] = []
    for name in sorted({quote.text_artifact for quote in recorded}):
        try:
            text = await artifacts.get_text(tx, name)
        except (NotFound, ArtifactCorrupt, UnicodeDecodeError):
            problems.append(f"{name}, which is quoted, cannot be read")
            continue
        problems += [
            f"{quote.evidence_id} does not stand in its text"
            for quote in recorded
            if quote.text_artifact == name and not stands(quote, text)
        ]
    return _check("quotes", problems, f"{len(recorded)} stand in their texts, letter for letter")


def stands(quote: Evidence, text: str) -> bool:
    """Tell whether a quote and what surrounds it stand at its place in a text."""
    start, end = quote.start, quote.end
    return (quote.prefix, quote.exact, quote.suffix) == (
        text[max(0, start - CONTEXT_CHARACTERS) : start],
        text[start:end],
        text[end : end + CONTEXT_CHARACTERS],
    )


async def _citations(tx: Transaction, run: runs.Run) -> Check:
    if run.report_artifact is None:
        return _check("citations", [], "there is no report yet")
    recorded = {
        each.number: each.exact
        for each in await citations.of_report(tx, run.run_id, run.report_artifact)
    }
    try:
        report = await artifacts.get_text(tx, run.report_artifact)
    except (NotFound, ArtifactCorrupt):
        return _check("citations", ["the report cannot be read"], "")
    problems = miscited(report, list(recorded)) + misquoted(report, recorded)
    return _check("citations", problems, f"{len(recorded)} in the report, each with its evidence")


def miscited(report: str, recorded: Sequence[int]) -> list[str]:
    """Return where the numbers in a report, its list of citations and the recorded citations differ."""
    cited = {int(number) for number in _CITED.findall(report)}
    listed = {int(number) for number in _LISTED.findall(report)}
    known = set(recorded)
    return [
        *(f"[{number}] is cited and not recorded" for number in sorted(cited - known)),
        *(f"[{number}] is recorded and not cited" for number in sorted(known - cited)),
        *(f"[{number}] is not in the report's list" for number in sorted(known - listed)),
    ]


def misquoted(report: str, recorded: Mapping[int, str]) -> list[str]:
    """Return which quotes in a report's list are not those of the recorded citations, by number."""
    return [
        f"[{number}] is quoted in the report otherwise than it is recorded"
        for number, quoted in _QUOTED.findall(report)
        if (exact := recorded.get(int(number))) is not None
        and _ESCAPED.sub(r"\1", quoted) != " ".join(exact.split())
    ]


async def _findings(tx: Transaction, run_id: UUID) -> Check:
    rows = await tx.many(_UNSUPPORTED, run_id=run_id)
    problems = [f"{row['name']} {row['problem']}" for row in rows]
    return _check("findings", problems, "every claim rests on recorded evidence")


async def _journal(tx: Transaction, run_id: UUID) -> Check:
    # That an operation accepts at most one attempt is the shape of its row.
    rows = await tx.many(_ACCEPTED, run_id=run_id)
    problems = [
        f"{row['operation_id']} accepted attempt {row['accepted_attempt']}, which has no result"
        for row in rows
        if row["outcome"] != "succeeded" or not row["has_result"]
    ]
    problems += [
        f"{row['operation_id']} took an answer of {row['reused']}, which did not give it"
        for row in await tx.many(_UNFOUNDED, run_id=run_id)
    ]
    # A fork has the operations of the run that it was forked from, under their names.
    runs_of_names = await forks.ancestry(tx, run_id)
    retries = max((task.retries for task in await tasks.everything(tx, run_id)), default=0)
    problems += [
        f"{each.operation_id} is recorded with another request than it was named by"
        for each in await journal.operations(tx, run_id)
        if not any(
            Request(each.task_id, each.kind, each.request, retry=retry).key(name) == each.key
            for name in runs_of_names
            for retry in range(retries + 1)
        )
    ]
    return _check("journal", problems, f"{len(rows)} operations have one accepted result each")


async def _checkpoints(tx: Transaction, run_id: UUID) -> Check:
    problems: list[str] = []
    rejected: set[tuple[str, str]] = set()
    counted = 0
    async with aclosing(checkpoint_checks.walk(tx, run_id)) as checkpoints:
        async for stored in checkpoints:
            counted += 1
            if stored.rejected is not None:
                # Found out and passed over: what is wrong with it is known.
                rejected.add((stored.checkpoint_ns, stored.checkpoint_id))
                continue
            problems += [
                f"{stored.checkpoint_id}: {problem}"
                for problem in checkpoint_checks.all_problems(tx.keys, tx.tenant, stored)
            ]
    recorded = await records.newest_first(tx, run_id)
    problems += broken_lines(
        [each for each in recorded if (each.checkpoint_ns, each.checkpoint_id) not in rejected]
    )
    passed = f", {len(rejected)} rejected before and not looked at" if rejected else ""
    return _check(
        "checkpoints", problems, f"{counted} in unbroken lines, each as it was sealed{passed}"
    )


def broken_lines(recorded: Sequence[CheckpointRecord]) -> list[str]:
    """Return where the checkpoint records of a run, or of one of its branches, are no unbroken line."""
    known = {(record.checkpoint_ns, record.checkpoint_id) for record in recorded}
    followed: dict[tuple[str, str | None], str] = {}
    problems: list[str] = []
    for record in reversed(recorded):
        parent = (record.checkpoint_ns, record.parent_checkpoint)
        if record.parent_checkpoint is not None and parent not in known:
            problems.append(
                f"{record.checkpoint_id} follows {record.parent_checkpoint}, which is missing"
            )
        if parent in followed:
            problems.append(
                f"{record.checkpoint_id} and {followed[parent]} follow the same checkpoint"
            )
        followed[parent] = record.checkpoint_id
    return problems


async def _audit(tx: Transaction, run: runs.Run) -> Check:
    chain = await audit.entries(tx, run.run_id)
    broken = audit.first_broken(run.run_id, chain)
    problems = [f"entry {broken} does not follow from the one before"] if broken else []
    if not chain:
        problems = ["there is no entry, not even of the run's creation"]
    reports = [entry.detail["report"] for entry in chain if entry.event == "run_completed"]
    if run.status == "completed" and reports != [run.report_artifact]:
        problems.append("the run was not completed with the report that it has")
    return _check("audit log", problems, f"{len(chain)} entries in an unbroken chain")


def _check(name: str, problems: Sequence[str], detail: str) -> Check:
    if not problems:
        return Check(name, ok=True, detail=detail)
    told = "; ".join(problems[:PROBLEMS_TOLD_MAX])
    more = len(problems) - PROBLEMS_TOLD_MAX
    return Check(name, ok=False, detail=told + (f"; and {more} more" if more > 0 else ""))
