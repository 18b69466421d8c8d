"""What a model said, as material: numbers become the quotes, the claims and the evidence that they stand for."""

from collections.abc import Mapping, Sequence
from typing import Any

from nodes.material import (
    Claim,
    ClaimDraft,
    Disagreement,
    DraftSection,
    DraftSentence,
    Statement,
    Task,
    TaskDraft,
    Verdict,
)
from nodes.researchers.answers import place
from nodes.researchers.numbered import Sentence, one_line
from nodes.researchers.verdicts import judge, unfounded

_CONFIDENCE: Mapping[str, float] = {"high": 0.9, "medium": 0.6, "low": 0.3}


def plan(said: Sequence[Any]) -> tuple[TaskDraft, ...]:
    """Return the tasks of a plan, each waiting for earlier ones only: so that nothing waits for itself."""
    return tuple(
        TaskDraft(
            f"t{number}",
            one_line(task["question"]),
            # JSON has 1.0 for a whole number, too.
            tuple(f"t{each:.0f}" for each in sorted(set(task["depends_on"])) if each < number),
        )
        for number, task in enumerate(said, start=1)
    )


def tasks(said: Sequence[str]) -> tuple[TaskDraft, ...]:
    """Return further tasks, each once."""
    asked = dict.fromkeys(map(one_line, said))
    return tuple(TaskDraft(f"t{at}", each) for at, each in enumerate(asked, start=1))


def claim(said: Any, shown: Sequence[Sentence]) -> ClaimDraft:
    """Return a claim with the quotes that it names."""
    quotes = [shown[place(name)].quote for name in dict.fromkeys(said["evidence"])]
    return ClaimDraft(one_line(said["claim"]), tuple(quotes), _CONFIDENCE[said["confidence"]])


def pairs(
    said: Sequence[Any], shown: Sequence[Claim], known: set[frozenset[str]]
) -> tuple[Disagreement, ...]:
    """Return the pairs of claims that were said to disagree, each once and none that is known."""
    found: list[Disagreement] = []
    for pair in said:
        one, other = (shown[place(pair[side])].finding_id for side in ("one", "other"))
        if one != other and frozenset((one, other)) not in known:
            known.add(frozenset((one, other)))
            found.append(Disagreement((one, other), pair["reason"]))
    return tuple(found)


def statements(
    said: Sequence[Any], task: Task, shown: Sequence[Claim]
) -> tuple[tuple[Statement, ...], int]:
    """Return the statements of a working summary, each once, and how many were dropped.

    One is dropped that has a number or a name which stands in none of its claims, or that they contradict.
    """
    kept: dict[str, Statement] = {}
    for each in said:
        resting = [shown[place(name)] for name in dict.fromkeys(each["claims"])]
        text, given = one_line(each["text"]), [text for one in resting for text in _texts(one)]
        if not unfounded(text, given) and judge(text, given) is not Verdict.CONTRADICTED:
            names = tuple(claim.finding_id for claim in resting)
            kept.setdefault(text, Statement(task.task_id, text, names))
    return tuple(kept.values()), len({one_line(each["text"]) for each in said}) - len(kept)


def _texts(claim: Claim) -> Sequence[str]:
    return (claim.text, *claim.quotes)


def sections(
    said: Sequence[Any], tasks: Sequence[Task], shown: Sequence[Claim]
) -> tuple[DraftSection, ...]:
    """Return the sections in the order of the plan; what was written for one task twice is one section."""
    by_task: dict[int, list[DraftSentence]] = {}
    for section in said:
        written = by_task.setdefault(place(section["task"]), [])
        written += [_sentence(each, shown) for each in section["sentences"]]
    return tuple(
        DraftSection(tasks[at].question, tuple(dict.fromkeys(by_task[at])))
        for at in sorted(by_task)
    )


def _sentence(said: Any, shown: Sequence[Claim]) -> DraftSentence:
    resting = [shown[place(name)] for name in dict.fromkeys(said["claims"])]
    evidence = dict.fromkeys(name for claim in resting for name in claim.evidence_ids)
    return DraftSentence(one_line(said["text"]), resting[0].finding_id, tuple(evidence))


def of_a_person(instruction: str | None) -> str:
    """Return what a person said of the plan before; nothing where nobody did, or a small model makes a task of it."""
    return f"\nWhat a person said of the plan before: {instruction}" if instruction else ""


def numbered(letter: str, lines: Sequence[str]) -> str:
    """Return lines under numbers: T1, T2 and so on."""
    return "\n".join(f"{letter}{at}: {one_line(line)}" for at, line in enumerate(lines, start=1))
