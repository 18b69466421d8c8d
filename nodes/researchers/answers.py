"""The schemas of what a model answers, in the dialect that Kimi takes (nodes/models/dialect.py).

Every text and every list has a greatest length: a server that enforces the schema would else let a small model ramble until
its room is used up. What exists is named by numbers out of an enumeration, so that nothing else can be named.
"""

from collections.abc import Mapping, Sequence

from ledger.canonical import Json

Schema = Mapping[str, Json]

#: Characters of one sentence, one question, one search.
SENTENCE_MAX, QUESTION_MAX, QUERY_MAX = 600, 400, 120
#: Characters of a reason: a small model says the same over and over until it is stopped.
REASON_MAX = 200
#: Tokens that one sentence with its names may take.
SENTENCE_TOKENS = 200
#: Evidence, or claims, that one sentence may rest on.
SUPPORT_MAX = 3
#: Claims that one statement of a working summary may sum up.
SUMMED_MAX = 5
#: An enumeration of Kimi's holds at most 1,000; more than this no model tells apart.
NAMES_MAX = 300


def text(longest: int) -> Schema:
    """Return the schema of a text."""
    return {"type": "string", "minLength": 1, "maxLength": longest}


def one_of(names: Sequence[str]) -> Schema:
    """Return the schema of one of these names."""
    return {"type": "string", "enum": list(names)}


def many(item: Schema, most: int, least: int = 0) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": dict(item), "minItems": least, "maxItems": most}


def record(**fields: Schema) -> Schema:
    """Return the schema of an object that has these members and no others."""
    return {
        "type": "object",
        "properties": {name: dict(field) for name, field in fields.items()},
        "required": list(fields),
        "additionalProperties": False,
    }


def names(letter: str, count: int) -> list[str]:
    """Return the names of numbered things: E1, E2 and so on."""
    return [f"{letter}{number}" for number in range(1, count + 1)]


def place(name: str) -> int:
    """Return the position, from 0, of what a name stands for."""
    return int(name[1:]) - 1


def fitting(most: int, tokens: int) -> int:
    """Return how many sentences an answer of so many tokens has room for: at least one, at most `most`."""
    return max(1, min(most, tokens // SENTENCE_TOKENS))


def plan(tasks_max: int) -> Schema:
    """Return the schema of a plan; dependencies are numbers of tasks, from 1."""
    number: Schema = {"type": "integer", "minimum": 1, "maximum": tasks_max}
    task = record(question=text(QUESTION_MAX), depends_on=many(number, tasks_max))
    return record(tasks=many(task, tasks_max, 1))


def queries(most: int) -> Schema:
    """Return the schema of searches."""
    return record(queries=many(text(QUERY_MAX), most, 1))


def choice(count: int) -> Schema:
    """Return the schema of documents, best first."""
    return record(documents=many(one_of(names("D", count)), count))


def claims(most: int, evidence: int) -> Schema:
    """Return the schema of claims, each with the evidence that it rests on."""
    claim = record(
        claim=text(SENTENCE_MAX),
        evidence=many(one_of(names("E", evidence)), SUPPORT_MAX, 1),
        confidence=one_of(("high", "medium", "low")),
    )
    return record(claims=many(claim, most))


def assessment(queries_max: int, gaps_max: int) -> Schema:
    """Return the schema of a judgement on a task."""
    return record(
        answered={"type": "boolean"},
        queries=many(text(QUERY_MAX), queries_max),
        gaps=many(text(QUESTION_MAX), gaps_max),
    )


def gaps(tasks_max: int) -> Schema:
    """Return the schema of further tasks."""
    return record(tasks=many(text(QUESTION_MAX), tasks_max))


def pairs(count: int, most: int) -> Schema:
    """Return the schema of pairs of claims that disagree."""
    claim = one_of(names("F", count))
    return record(pairs=many(record(one=claim, other=claim, reason=text(REASON_MAX)), most))


def kept(count: int) -> Schema:
    """Return the schema of claims to keep, the most important first."""
    return record(keep=many(one_of(names("F", count)), count, 1))


def statements(count: int, most: int) -> Schema:
    """Return the schema of statements, each with the claims that it rests on."""
    statement = record(
        text=text(SENTENCE_MAX), claims=many(one_of(names("F", count)), SUMMED_MAX, 1)
    )
    return record(statements=many(statement, most, 1))


def report(tasks: int, findings: int, sentences_max: int) -> Schema:
    """Return the schema of a report."""
    sentence = record(
        text=text(SENTENCE_MAX), claims=many(one_of(names("F", findings)), SUPPORT_MAX, 1)
    )
    section = record(task=one_of(names("T", tasks)), sentences=many(sentence, sentences_max, 1))
    return record(sections=many(section, tasks))


def verdict() -> Schema:
    """Return the schema of a verdict on one sentence."""
    return record(
        verdict=one_of(("supported", "contradicted", "insufficient")), why=text(REASON_MAX)
    )
