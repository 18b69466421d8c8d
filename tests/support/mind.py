"""A scripted model's mind: it answers each of our prompts by the words that stand in it, and by nothing else.

It is no good researcher, but a consistent one: what it names is what the prompt shows, so a run that is harmed and resumed
must come to the same report as one that is not.
"""

import json
import re
from typing import Any

from tests.support.moonshot.brain import default_brain
from tests.support.moonshot.chat import ChatRequest, ToolCall

_WORD = re.compile(r"[a-z]{4,}")
_LINE = re.compile(r"^([EDF]\d+)(?: \(task ([^)]*)\))?: (.*)$", re.MULTILINE)
_TASK = re.compile(r"^(T\d+): (.*)$", re.MULTILINE)


def sensible(request: ChatRequest) -> str | list[ToolCall]:
    """Answer one of Perdure's questions; any other as `default_brain` does."""
    asked = next(str(each["content"]) for each in request.messages if each["role"] == "user")
    answer = _ANSWERS.get(request.schema_name or "")
    return default_brain(request) if answer is None else json.dumps(answer(asked))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _after(label: str, text: str) -> str:
    found = re.search(rf"^{label}: (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def _plan(asked: str) -> dict[str, Any]:
    parts = re.split(r",? and |, ", _after("Question", asked).rstrip("?"))
    return {"tasks": [{"question": f"{part.strip()}?", "depends_on": []} for part in parts[:12]]}


def _queries(asked: str) -> dict[str, Any]:
    # The second is in more than one document of the corpus, so that there is something to choose.
    return {"queries": [" ".join(sorted(_words(_after("The task", asked))))[:120] or "x", "air"]}


def _choose(asked: str) -> dict[str, Any]:
    return {"documents": [name for name, _, _ in _LINE.findall(asked)]}


def _extract(asked: str) -> dict[str, Any]:
    wanted = _words(_after("The task", asked))
    scored = [(len(wanted & _words(text)), name, text) for name, _, text in _LINE.findall(asked)]
    best = [each for each in sorted(scored, key=lambda each: -each[0]) if each[0] > 1][:2]
    return {
        "claims": [
            {"claim": text[:600], "evidence": [name], "confidence": "high"}
            for _, name, text in best
        ]
    }


def _assess(asked: str) -> dict[str, Any]:
    found = bool(_LINE.search(asked))
    return {"answered": found, "queries": [], "gaps": [] if found else [_after("The task", asked)]}


def _statements(asked: str) -> dict[str, Any]:
    claims = _LINE.findall(asked)
    # Of each five claims, what the first of them says.
    joined = [claims[at : at + 5] for at in range(0, len(claims), 5)][:2]
    return {
        "statements": [
            {"text": part[0][2][:600], "claims": [name for name, _, _ in part]} for part in joined
        ]
    }


def _synthesize(asked: str) -> dict[str, Any]:
    claims = _LINE.findall(asked)
    names = [name for name, _ in _TASK.findall(asked)]
    order = list(dict.fromkeys(task for _, task, _ in claims))
    sections = [
        {
            "task": names[min(at, len(names) - 1)],
            "sentences": [
                {"text": text[:600], "claims": [name]} for name, of, text in claims if of == task
            ][:12],
        }
        for at, task in enumerate(order)
    ]
    return {"sections": sections[: len(names)]}


def _check(asked: str) -> dict[str, Any]:
    words = _words(_after("Sentence", asked))
    quoted = _words(asked.partition("Quote 1: ")[2])
    verdict = "supported" if words <= quoted else "insufficient"
    return {"verdict": verdict, "why": "the words of the sentence were looked for in the quotes"}


_ANSWERS = {
    "plan": _plan,
    "queries": _queries,
    "choose": _choose,
    "extract": _extract,
    "assess": _assess,
    "gaps": lambda _: {"tasks": []},
    "conflicts": lambda _: {"pairs": []},
    "summary": lambda asked: {"keep": [name for name, _, _ in _LINE.findall(asked)]},
    "statements": _statements,
    "synthesize": _synthesize,
    "check": _check,
}
