"""Resolves references to secrets when they are used: `env:NAME` is a variable, `file:PATH` the content of a file.

What is set, stored and shown is the reference. A key that is replaced meanwhile counts from the next call on.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ledger.errors import CredentialRefused, OperationFailed

_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:.+")


class CredentialMissing(CredentialRefused):
    """There is no key where a setting says that it is; nobody was asked, and the run waits for one."""

    def __init__(self, reference: str, setting: str) -> None:
        OperationFailed.__init__(
            self,
            f"there is no key at {reference}, where {setting} says that it is: put a valid one there, then"
            " `perdure resume RUN` goes on",
            transient=False,
        )


def checked_reference(text: str) -> str:
    """Return a reference; raises ValueError for anything else, which may be the secret itself."""
    if not _REFERENCE.fullmatch(text):
        raise ValueError(
            "give env:NAME or file:PATH, which say where the key is, not the key itself"
        )
    return text


def first_set(variables: Sequence[str]) -> str | None:
    """Return the value of the first of these variables that is set."""
    return next((os.environ[name] for name in variables if os.environ.get(name)), None)


def resolved(reference: str, setting: str) -> str:
    """Return the secret that a reference names; raises CredentialMissing."""
    kind, _, name = reference.partition(":")
    try:
        text = (
            os.environ.get(name, "")
            if kind == "env"
            else Path(name).expanduser().read_text("utf-8")
        )
    except (OSError, UnicodeError) as error:
        raise CredentialMissing(reference, setting) from error
    secret = text.strip()
    # A header takes nothing else.
    if not (secret and secret.isascii() and secret.isprintable()):
        raise CredentialMissing(reference, setting)
    return secret
