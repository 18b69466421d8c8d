"""Splitting a question into the tasks that it consists of.

"What is A, how does B work and when is C used?" asks three things that can be looked up apart; "How does X differ from
Y?" asks for X, for Y and then for the comparison. Anything else, in whatever form or language, is one task.
"""

import re
from collections.abc import Sequence

from nodes.material import TaskDraft
from nodes.researchers.keywords import read_question

# Longer than any question a person asks in one go; what follows is material that was pasted in.
QUESTION_LENGTH_MAX = 2_000

_ASKS = r"(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|could|should|must|may|will|would)"
_JOINT = re.compile(
    rf"[?？؟]+\s*(?:and\s+)?|[;\n]+\s*(?:and\s+)?(?={_ASKS}\b)|,\s*(?:and|or|but)?\s*(?={_ASKS}\b)|\s+and\s+(?={_ASKS}\b)",
    re.IGNORECASE,
)
_OPENS = re.compile(rf"{_ASKS}\b", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"\b(?:it|its|they|them|their|this|these|those|that one)\b", re.IGNORECASE
)
_SUBJECT = re.compile(
    r"^\s*(?:what(?:'s|’s| is| are| does| do)|who is|which is|where is|how (?:does|do|is|are))\s+(?:an?\s+|the\s+)?(.{2,60}?)"
    r"(?=\s+(?:work|do|mean|for|used|differ|in|on|and|good|look|made|when|if)\b|[?,;.]|$)",
    re.IGNORECASE,
)
# Either side, then both.
_COMPARISON_TASKS = 3
_SIDE = r"(?:an?\s+|the\s+)?(\S+(?:\s+\S+){0,4}?)"
_COMPARISONS = (
    re.compile(
        rf"\bdifferences?\s+between\s+{_SIDE}\s+and\s+{_SIDE}\s*(?:$|[?.,;]|\bin\b|\bwhen\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\bhow\s+(?:do|does|is|are)\s+{_SIDE}\s+(?:differ|different)\s+from\s+{_SIDE}\s*(?:$|[?.,;]|\bin\b|\bwhen\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\bcompare\s+{_SIDE}\s+(?:and|with|to)\s+{_SIDE}\s*(?:$|[?.,;]|\bin\b|\bwhen\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^\s*{_SIDE}\s+(?:vs\.?|versus)\s+{_SIDE}\s*(?:$|[?.,;]|\bin\b|\bwhen\b)", re.IGNORECASE
    ),
)


def plan_tasks(question: str, tasks_max: int) -> tuple[TaskDraft, ...]:
    """Split a question into at least one and at most `tasks_max` tasks named t1, t2, ..."""
    asked = (question.strip() or question)[:QUESTION_LENGTH_MAX]
    facets = split_facets(asked)
    if len(facets) == 1 and tasks_max >= _COMPARISON_TASKS and (sides := compared(facets[0])):
        return _comparison(facets[0], sides)
    facets = facets if len(facets) <= tasks_max else (asked,)
    return tuple(TaskDraft(f"t{number}", facet) for number, facet in enumerate(facets, start=1))


def split_facets(question: str) -> tuple[str, ...]:
    """Return the questions within a question; each can be understood without the others."""
    parts = [" ".join(part.split()) for part in _JOINT.split(question)]
    facets: list[str] = []
    for part in parts:
        if not part:
            continue
        if facets and not _stands_alone(part):
            facets[-1] = f"{facets[-1]} {part}"
        elif facets and not _OPENS.match(facets[-1]):
            # "I edited the file, how do I …" sets the scene for the question that follows.
            facets[-1] = f"{facets[-1]}, {part}"
        else:
            facets.append(part)
    if not facets:
        return (question,)
    subject = subject_of(facets[0])
    return tuple(
        _marked(facet if n == 0 else _carry(facet, subject)) for n, facet in enumerate(facets)
    )


def compared(question: str) -> tuple[str, str] | None:
    """Return the two things that a question compares, or None."""
    for pattern in _COMPARISONS:
        if match := pattern.search(question):
            first, second = (side.rstrip("?.,;") for side in match.groups())
            return _completed(first, second), second
    return None


def _completed(first: str, second: str) -> str:
    """Return the first side with the word that both share: in "deep and shallow copying", "deep copying"."""
    longer = len(second.split()) > len(first.split())
    name = any(keyword.is_name for keyword in read_question(f"is {first}").keywords)
    return f"{first} {second.rsplit(maxsplit=1)[-1]}" if longer and not name else first


def subject_of(question: str) -> str:
    """Return what a question is about in its own words; empty if it names nothing."""
    if match := _SUBJECT.search(question):
        return match.group(1).strip()
    keywords = read_question(question).keywords
    names = [keyword.word for keyword in keywords if keyword.is_name or len(keyword.terms) > 1]
    return " ".join(names or [keyword.word for keyword in keywords if not keyword.is_asking][:4])


def _stands_alone(part: str) -> bool:
    return bool(_OPENS.match(part)) and bool(read_question(part).keywords)


def _carry(facet: str, subject: str) -> str:
    if subject and _POINTS_BACK.search(facet) and subject.casefold() not in facet.casefold():
        return f"{facet.rstrip('.')} ({subject})"
    return facet


def _marked(facet: str) -> str:
    return f"{facet}?" if _OPENS.match(facet) and facet[-1] not in "?.!" else facet


def _comparison(question: str, sides: Sequence[str]) -> tuple[TaskDraft, ...]:
    first, second = sides
    return (
        TaskDraft("t1", f"What is {first}?"),
        TaskDraft("t2", f"What is {second}?"),
        TaskDraft("t3", question, depends_on=("t1", "t2")),
    )
