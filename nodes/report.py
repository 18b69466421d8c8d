"""Writes a report as Markdown: claims with numbered citations, then the exact quotes that the numbers stand for.

Pure text work. A number is given to an evidence id when it is first cited; nothing else can be cited. What was not done
is said: gaps, disagreements, documents that could not be read, claims left out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote as percent_encoded

from ledger.evidence import Evidence
from ledger.sources import Source
from ledger.tasks import Task
from nodes.material import Draft, DraftSection, DraftSentence, Skipped, Verdict

# The list of unread documents is for the reader's judgement; `perdure show` has all of them.
SKIPPED_SHOWN_MAX = 10

#: The heading of the section that code writes, whatever a person wrote there.
CITATIONS = "## Citations"

_MARKUP = re.compile(r"([\\`*_\[\]<>#|])")
# What RFC 3986 has in no path or query, with the brackets that would look like a citation.
_NOT_IN_ADDRESS = re.compile(r"[\x00-\x20\x7f-\xa0\u2000-\u206f\"<>\\^`{|}\[\]]")


@dataclass(frozen=True, slots=True)
class Material:
    """What a report is written from."""

    question: str
    disclosure: str
    draft: Draft
    verdicts: Mapping[DraftSentence, Verdict]
    evidence: Mapping[str, Evidence]
    sources: Mapping[str, Source]
    tasks: tuple[Task, ...]
    skipped: tuple[Skipped, ...]
    left_out: Mapping[str, int]
    #: What a person let stand although it differs, in words.
    kept_apart: tuple[str, ...] = ()
    #: The kinds of reviews that the run went on without when their deadline passed.
    unreviewed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The report, and the evidence ids that its numbers 1, 2, … stand for."""

    markdown: str
    citations: tuple[str, ...]


def write(material: Material) -> Report:
    """Write the report of what stands."""
    numbers: dict[str, int] = {}
    body = [_section(section, material, numbers) for section in material.draft.sections]
    parts = [
        f"# {escaped(material.question)}",
        f"> {material.disclosure}",
        *([not_reviewed(material.unreviewed)] if material.unreviewed else []),
        *(part for part in body if part),
        *(
            []
            if numbers
            else ["The material does not answer this question: nothing in it could be cited."]
        ),
        *_reservations(material),
        *citation_list(numbers, material.evidence, material.sources),
    ]
    return Report("\n\n".join(parts) + "\n", tuple(numbers))


def escaped(text: str) -> str:
    """Return text from outside so that it is text in Markdown too: no markup, no HTML, on one line."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def unescaped(markdown: str) -> str:
    """Return text that was escaped as it was."""
    return re.sub(r"\\([\\`*_\[\]<>#|])", r"\1", markdown)


def _section(section: DraftSection, material: Material, numbers: dict[str, int]) -> str:
    standing = [
        sentence
        for sentence in section.sentences
        if material.verdicts.get(sentence) is Verdict.SUPPORTED
    ]
    if not standing:
        return ""
    lines = [f"- {escaped(sentence.text)} {_numbers(sentence, numbers)}" for sentence in standing]
    return f"## {escaped(section.heading)}\n\n" + "\n".join(lines)


def _numbers(sentence: DraftSentence, numbers: dict[str, int]) -> str:
    return "".join(
        f"[{numbers.setdefault(name, len(numbers) + 1)}]" for name in sentence.evidence_ids
    )


def _reservations(material: Material) -> list[str]:
    draft = material.draft
    blocked = [
        f"{task.question} ({task.reason})" for task in material.tasks if task.status == "blocked"
    ]
    failures = [failure for task in material.tasks for failure in task.failures]
    doubted = [
        f"{sentence.text} ({material.verdicts[sentence].value})"
        for section in draft.sections
        for sentence in section.sentences
        if material.verdicts[sentence] is not Verdict.SUPPORTED
    ]
    left_out = [
        f"{count} further claims of task {task_id}" for task_id, count in material.left_out.items()
    ]
    disagreements = [*(pair.reason for pair in draft.disagreements), *material.kept_apart]
    return [
        *_listed("Where the sources disagree", list(dict.fromkeys(disagreements))),
        *_listed("What was not answered", list(dict.fromkeys(draft.gaps))),
        *_listed(
            "What could not be researched",
            list(dict.fromkeys([*blocked, *failures, *draft.notes])),
        ),
        *_listed("What the quotes do not support", doubted),
        *_listed("What did not fit into this report", left_out),
        *_listed("Documents that could not be read", _skipped(material.skipped)),
    ]


def _skipped(skipped: Sequence[Skipped]) -> list[str]:
    shown = [f"{document.uri}: {document.reason}" for document in skipped[:SKIPPED_SHOWN_MAX]]
    return shown + (
        [f"and {len(skipped) - SKIPPED_SHOWN_MAX} more"] if len(skipped) > SKIPPED_SHOWN_MAX else []
    )


def _listed(heading: str, lines: Sequence[str]) -> list[str]:
    return (
        [f"## {heading}\n\n" + "\n".join(f"- {escaped(line)}" for line in lines)] if lines else []
    )


def citation_list(
    numbers: Mapping[str, int], evidence: Mapping[str, Evidence], sources: Mapping[str, Source]
) -> list[str]:
    """Return the section that says what the numbers of evidence ids stand for, nothing where none is cited."""
    lines = [
        _citation(number, evidence[name], sources[evidence[name].source_id])
        for name, number in numbers.items()
    ]
    return [f"{CITATIONS}\n\n" + "\n".join(lines)] if lines else []


def _citation(number: int, quote: Evidence, source: Source) -> str:
    title = escaped(source.title or source.uri)
    place = f"characters {quote.start}–{quote.end} of `{quote.text_artifact[:19]}…`"
    return f"{number}. “{escaped(quote.exact)}”\n   — {title}, <{address(source.uri)}>, {place}"


def not_reviewed(kinds: Sequence[str]) -> str:
    """Return the notice of a report that went on without reviews."""
    return f"> Not reviewed: deadline passed ({', '.join(kinds)})."


def with_notice(markdown: str, notice: str) -> str:
    """Return a report with a notice below its title."""
    title, _, rest = markdown.partition("\n\n")
    return f"{title}\n\n{notice}\n\n{rest}"


def address(uri: str) -> str:
    """Return an address from outside so that it stays one in Markdown: what would end it is percent-encoded."""
    return _NOT_IN_ADDRESS.sub(lambda found: percent_encoded(found[0]), uri)
