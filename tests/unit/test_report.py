"""A report cites by number, says what was not done, and lets no text from outside act as markup."""

import re
from datetime import UTC, datetime

from ledger.evidence import Evidence
from ledger.sources import Source
from ledger.tasks import Task
from nodes.compact import chosen, left_out
from nodes.material import (
    Claim,
    Disagreement,
    Draft,
    DraftSection,
    DraftSentence,
    Skipped,
    Verdict,
)
from nodes.report import Material, escaped, write

QUOTES = {
    name: Evidence(
        evidence_id=name,
        source_id="src",
        text_artifact="sha256:" + "a" * 64,
        start=start,
        end=start + 5,
        exact=exact,
        prefix="",
        suffix="",
    )
    for name, start, exact in [("e1", 0, "First"), ("e2", 10, "Secon"), ("e3", 20, "Third")]
}
SOURCE = Source(
    source_id="src",
    uri="file:///a",
    canonical_uri="file:///a",
    title="A <script>title</script>",
    content_artifact="sha256:" + "b" * 64,
    text_artifact="sha256:" + "a" * 64,
    extractor="x/1",
    retrieved_at=datetime(2026, 1, 1, tzinfo=UTC),
)


def _material(*sentences: DraftSentence, **changed: object) -> Material:
    values: dict[str, object] = {
        "question": "Why?",
        "disclosure": "Made by hand.",
        "draft": Draft((DraftSection("Part", sentences),) if sentences else ()),
        "verdicts": dict.fromkeys(sentences, Verdict.SUPPORTED),
        "evidence": QUOTES,
        "sources": {"src": SOURCE},
        "tasks": (),
        "skipped": (),
        "left_out": {},
        **changed,
    }
    return Material(**values)  # type: ignore[arg-type]


def test_numbers_follow_the_first_citation_of_each_quote() -> None:
    report = write(
        _material(
            DraftSentence("One.", "f1", ("e2", "e1")), DraftSentence("Two.", "f2", ("e1", "e3"))
        )
    )
    assert report.citations == ("e2", "e1", "e3")
    assert "One. [1][2]" in report.markdown
    assert "Two. [2][3]" in report.markdown
    assert [line[:2] for line in report.markdown.splitlines() if re.match(r"\d\. ", line)] == [
        "1.",
        "2.",
        "3.",
    ]


def test_a_sentence_that_its_quotes_do_not_support_is_named_and_not_claimed() -> None:
    sentence = DraftSentence("Bold claim.", "f1", ("e1",))
    report = write(_material(sentence, verdicts={sentence: Verdict.INSUFFICIENT}))
    assert report.citations == ()
    assert "nothing in it could be cited" in report.markdown
    assert "Bold claim. (insufficient)" in report.markdown


def test_everything_that_was_not_done_is_said() -> None:
    blocked = Task.model_validate(
        {
            "task_id": "t",
            "position": 0,
            "question": "Blocked?",
            "depends_on": (),
            "worker": "branch",
            "status": "blocked",
            "attempts": 1,
            "reason": "no route",
            "failures": ("read: http://x: HTTP 500",),
        }
    )
    draft = Draft((), (Disagreement(("f1", "f2"), "5 against 7"),), ("Unanswered?",))
    skipped = tuple(Skipped(f"file:///{n}", "it is empty") for n in range(12))
    report = write(
        _material(draft=draft, tasks=(blocked,), skipped=skipped, left_out={"t": 3})
    ).markdown
    for said in (
        "5 against 7",
        "Unanswered?",
        "Blocked? (no route)",
        "HTTP 500",
        "3 further claims of task t",
        "it is empty",
        "and 2 more",
    ):
        assert said in report, said


def test_text_from_outside_is_text_and_no_markup() -> None:
    report = write(
        _material(DraftSentence("![x](http://evil) <b>[9]</b>\n# no heading", "f1", ("e1",)))
    ).markdown
    assert "<b>" not in report.replace("\\<b", "")
    assert "\\!" in report or "!\\[x\\]" in report
    assert "\n# no heading" not in report
    assert "<script>" not in report.replace("\\<script", "")
    assert escaped("a\n*b*  c") == "a \\*b\\* c"


def _claim(task_id: str, number: int, length: int = 10) -> Claim:
    return Claim(f"{task_id}-{number}", task_id, "x" * length, ("e1",), ("First",), 1.0)


def test_what_fits_into_a_report_is_taken_from_every_task_in_turn() -> None:
    claims = [_claim(task_id, number) for task_id in ("a", "b") for number in range(5)]
    used = chosen(claims, ["a", "b"], 40)
    assert [claim.finding_id for claim in used] == ["a-0", "a-1", "b-0", "b-1"]
    assert left_out(claims, used) == {"a": 3, "b": 3}


def test_a_claim_that_is_longer_than_the_report_is_not_lost() -> None:
    assert len(chosen([_claim("a", 0, 100)], ["a"], 10)) == 1


def test_an_address_from_outside_can_not_end_itself() -> None:
    """A search service names addresses, and a report is read as Markdown."""
    uri = "http://a/> <script>x</script> [7]\n## Injected\u202e?q=ü#part"
    source = SOURCE.model_copy(update={"uri": uri})
    report = write(_material(DraftSentence("Claim.", "f1", ("e1",)), sources={"src": source}))
    assert (
        "<http://a/%3E%20%3Cscript%3Ex%3C/script%3E%20%5B7%5D%0A##%20Injected%E2%80%AE?q=ü#part>"
        in report.markdown
    )
