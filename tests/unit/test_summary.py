"""What a working summary may say, and what it is worth when its findings change."""

import pytest

from nodes.material import Claim, Statement, Task
from nodes.researchers import said
from nodes.researchers.numbered import claim_lines, named
from nodes.summary import as_claims, material_of, summary_of

TASK = Task("t1", "How is it sown?", "How is it sown?")


def claim(number: int, text: str) -> Claim:
    return Claim(f"f{number}", "t1", text, (f"e{number}",), (text,), 0.1 * number, (f"s{number}",))


CLAIMS = [
    claim(1, "Runner beans are sown in May."),
    claim(2, "Runner beans are sown after the last frost."),
    claim(3, "The pump is not switched off in November."),
]
BOTH = Statement("t1", "Runner beans are sown in May, after the last frost.", ("f1", "f2"))


def statement(text: str, *names: str) -> dict[str, object]:
    return {"text": text, "claims": list(names)}


def test_a_statement_stands_on_the_evidence_of_all_its_findings() -> None:
    (made,) = as_claims([BOTH], CLAIMS)
    assert (made.finding_id, made.evidence_ids, made.source_ids) == (
        "f1",
        ("e1", "e2"),
        ("s1", "s2"),
    )
    assert made.confidence == pytest.approx(0.1)
    assert claim_lines([made]) == [
        f"F1 (task t1): {BOTH.text}\n    sums up 2 claims that are not shown"
    ]
    # Other words on the same findings are another question to a model, and a claim is named as it always was.
    assert named(made) == ["f1", "f2", BOTH.text]
    assert named(CLAIMS[0]) == "f1"


def test_a_statement_does_not_outlive_one_of_its_findings() -> None:
    summary = summary_of([CLAIMS[2]], [BOTH], {"t1": 0})
    assert [each.sums_up for each in material_of(summary, CLAIMS)] == [(), ("f1", "f2")]
    assert [each.finding_id for each in material_of(summary, CLAIMS[1:])] == ["f3"]


def test_a_summary_of_the_version_before_is_read() -> None:
    before = {"version": 1, "findings": ["f2"], "left_out": {"t1": 2}}
    assert material_of(before, CLAIMS) == [CLAIMS[1]]


@pytest.mark.parametrize(
    ("text", "rests_on"),
    [
        ("Runner beans are sown in 1847.", "F1"),
        ("All say that Ostby sows runner beans.", "F1"),
        ("The pump is switched off in November.", "F3"),
    ],
)
def test_what_its_claims_do_not_say_is_dropped_and_counted(text: str, rests_on: str) -> None:
    answer = [statement(BOTH.text, "F1", "F2", "F1"), statement(text, rests_on)]
    assert said.statements(answer, TASK, CLAIMS) == ((BOTH,), 1)
