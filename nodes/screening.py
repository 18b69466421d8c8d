"""Looks for sensitive material in a report before it is published: in its lines, in its quotes, among its sources.

Pure. Each find has an id that an edit can leave out: of a claim or a source, or of a line of text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from ledger.canonical import Json
from ledger.evidence import Evidence
from ledger.ids import derived_id
from ledger.sources import Source
from nodes.material import Claim
from nodes.report import CITATIONS, Report, unescaped
from nodes.sensitive import SensitiveRule, rules_in, rules_over

#: A citation as code and people write it; an escaped bracket is text.
CITED = re.compile(r"(?<!\\)\[(\d{1,6})\]")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: the id to leave out, the rule's name, the place in words."""

    id: str
    name: str
    place: str

    @property
    def key(self) -> tuple[str, str]:
        """What is released when a person approves."""
        return self.id, self.name

    def shown(self) -> dict[str, Json]:
        """Return what the review shows of it."""
        return {"id": self.id, "name": self.name, "place": self.place}


def line_id(run_id: UUID, line: str) -> str:
    """Return the id of a line of a report's text."""
    return derived_id("line", str(run_id), line)


def screened(
    rules: Sequence[SensitiveRule],
    run_id: UUID,
    report: Report,
    *,
    evidence: Mapping[str, Evidence],
    sources: Mapping[str, Source],
    claims: Sequence[Claim],
) -> list[Finding]:
    """Return what the rules find, each once."""
    found: dict[tuple[str, str], Finding] = {}
    of_quotes = _in_quotes(rules, report, evidence, sources, claims)
    for each in [*of_quotes, *_in_lines(rules, run_id, report, claims)]:
        found.setdefault(each.key, each)
    return list(found.values())


def _in_quotes(
    rules: Sequence[SensitiveRule],
    report: Report,
    evidence: Mapping[str, Evidence],
    sources: Mapping[str, Source],
    claims: Sequence[Claim],
) -> Iterator[Finding]:
    for number, name in enumerate(report.citations, start=1):
        quote = evidence[name]
        source = sources[quote.source_id]
        for rule in rules_over(rules, source.uri, source.canonical_uri):
            yield Finding(source.source_id, rule, f"the source of citation {number}")
        for rule in rules_in(rules, f"{source.title}\n{source.uri}"):
            yield Finding(source.source_id, rule, f"title or address of citation {number}")
        for rule in rules_in(rules, quote.exact):
            for claim in claims:
                if name in claim.evidence_ids:
                    yield Finding(claim.finding_id, rule, f"the quote of citation {number}")


def _in_lines(
    rules: Sequence[SensitiveRule], run_id: UUID, report: Report, claims: Sequence[Claim]
) -> Iterator[Finding]:
    body, _, _ = report.markdown.partition(f"\n{CITATIONS}\n")
    for number, line in enumerate(body.splitlines(), start=1):
        cited = {
            report.citations[int(each) - 1]
            for each in CITED.findall(line)
            if 0 < int(each) <= len(report.citations)
        }
        for rule in rules_in(rules, unescaped(line)):
            own = [
                claim.finding_id
                for claim in claims
                if cited & set(claim.evidence_ids) and rule in rules_in(rules, claim.text)
            ]
            for name in own or [line_id(run_id, line)]:
                yield Finding(name, rule, f"line {number}")
