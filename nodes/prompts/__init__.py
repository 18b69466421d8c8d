"""Prompts: versioned text, one file each, read once.

The first line of a file is `version: N`; it goes up with every change of the words, and stands in the record of each
attempt. Then comes what the model is told once, a line `---`, and what it is asked, with `$name` for what is filled in.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

# Our own marks; and what chat templates have between messages (ChatML, Kimi, Llama, Gemma, Mistral), which many a server
# takes for what it says wherever it stands.
_MARK = re.compile(
    r"<(?=\s*/?\s*material\b|\s*\||\s*/?\s*s\s*>|\s*(?:start|end)_of_turn\s*>)|\[(?=\s*/?\s*(?:INST|SYSTEM_PROMPT)\s*\])",
    re.IGNORECASE,
)
_SHOWN_AS = {"<": "\u2039", "[": "\u2045"}


def as_data(text: str) -> str:
    """Return text from outside so that it neither ends the material that it stands in nor begins another message."""
    return _MARK.sub(lambda found: _SHOWN_AS[found[0]], text)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt; `version` is recorded with every call that it makes."""

    name: str
    version: int
    system: str
    user: Template


@cache
def prompt(name: str) -> Prompt:
    """Return the prompt of this name."""
    text = (files(__name__) / f"{name}.md").read_text(encoding="utf-8")
    head, _, rest = text.partition("\n")
    system, _, user = rest.partition("\n---\n")
    return Prompt(name, int(head.removeprefix("version: ")), system.strip(), Template(user.strip()))
