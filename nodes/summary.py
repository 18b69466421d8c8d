"""The working summary: which findings a report is written from whole, and statements that stand for others.

A statement is never evidence. It names the findings that it rests on, and what a report says by it is checked against the
exact quotes of those.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ledger.canonical import Json
from nodes.material import Claim, Statement

#: Version 1 had no statements.
SUMMARY_VERSION = 2


def summary_of(
    used: Sequence[Claim], statements: Sequence[Statement], left_out: Mapping[str, int]
) -> dict[str, Json]:
    """Return the summary as it is kept: by ids, so that it points to findings and replaces none."""
    told: list[Json] = [
        {"task": each.task_id, "text": each.text, "findings": list(each.finding_ids)}
        for each in statements
    ]
    return {
        "version": SUMMARY_VERSION,
        "findings": [claim.finding_id for claim in used],
        "statements": told,
        "left_out": {name: count for name, count in left_out.items() if count},
    }


def material_of(summary: Mapping[str, Any], claims: Sequence[Claim]) -> list[Claim]:
    """Return what a report is written from: the findings that stand whole, and each statement all of whose findings stand."""
    used = set(summary["findings"])
    statements = [
        Statement(each["task"], each["text"], tuple(each["findings"]))
        for each in summary.get("statements", ())
    ]
    return [claim for claim in claims if claim.finding_id in used] + as_claims(statements, claims)


def as_claims(statements: Sequence[Statement], claims: Sequence[Claim]) -> list[Claim]:
    """Return statements as claims on the evidence of their findings; one whose findings are not all there is none."""
    by_id = {claim.finding_id: claim for claim in claims}
    return [
        _claim(each, [by_id[name] for name in each.finding_ids])
        for each in statements
        if each.finding_ids and set(each.finding_ids) <= set(by_id)
    ]


def _claim(statement: Statement, resting: Sequence[Claim]) -> Claim:
    evidence = dict.fromkeys(name for claim in resting for name in claim.evidence_ids)
    sources = dict.fromkeys(name for claim in resting for name in claim.source_ids)
    return replace(
        resting[0],
        task_id=statement.task_id,
        text=statement.text,
        evidence_ids=tuple(evidence),
        # It is there because they do not fit.
        quotes=(),
        confidence=min(claim.confidence for claim in resting),
        source_ids=tuple(sources),
        sums_up=statement.finding_ids,
    )
