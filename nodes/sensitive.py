"""What policy calls sensitive: a pattern in a text, or a label, that is a glob over the addresses of documents.

Pure text work. What is found is told by the name of its rule and its place, never by what was found.
"""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class SensitiveRule(BaseModel):
    """One rule: `pattern` is a regular expression over texts, `label` a glob over addresses; exactly one is given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=60)
    pattern: str | None = None
    label: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.pattern is None) == (self.label is None):
            raise ValueError(f"rule {self.name!r} has a pattern or a label, and not both")
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except re.error as error:
                raise ValueError(
                    f"the pattern of rule {self.name!r} is no regular expression: {error}"
                ) from None
        return self

    def is_in(self, text: str) -> bool:
        """Tell whether a text matches the pattern; a label matches none."""
        return self.pattern is not None and re.search(self.pattern, text) is not None

    def covers(self, uri: str) -> bool:
        """Tell whether an address bears the label; a pattern covers none."""
        return self.label is not None and fnmatchcase(uri, self.label)


def rules_in(rules: Sequence[SensitiveRule], text: str) -> Iterator[str]:
    """Yield the names of the rules whose pattern a text matches."""
    return (rule.name for rule in rules if rule.is_in(text))


def rules_over(rules: Sequence[SensitiveRule], *uris: str) -> Iterator[str]:
    """Yield the names of the rules whose label one of these addresses of one document bears."""
    return (rule.name for rule in rules if any(rule.covers(uri) for uri in uris))
