"""Where the keys for seals come from: PERDURE_SEAL_KEY, or a file that is made once and kept in PERDURE_HOME.

A database that was sealed under other keys never gets a new one by itself: a lost file would go unnoticed until a run
is resumed that nobody can verify any more.
"""

import os
import secrets
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from graph.settings import Settings, SettingsInvalid
from ledger.errors import SealKeyMissing
from ledger.keys import KeyRing

FILE = "seal.key"
KEY_BYTES = 32


def seal_keys(settings: Settings, used: Collection[str]) -> KeyRing:
    """Return the ring to seal with; `used` are the ids of the keys that the database was sealed under.

    Raises SealKeyMissing where the file would have to be made anew although there are seals, SettingsInvalid for one that
    holds no key.
    """
    if (ring := known_keys(settings)).keys:
        return ring
    if used:
        raise SealKeyMissing(min(used))
    _create(settings.home / FILE)
    return known_keys(settings)


def known_keys(settings: Settings) -> KeyRing:
    """Return the ring that is set up, an empty one where there is none yet; creates nothing."""
    if settings.seal_key is not None:
        given = settings.seal_key.get_secret_value().split(",")
        return KeyRing.of(part.strip() for part in given if part.strip())
    try:
        text = (settings.home / FILE).read_text(encoding="ascii")
    except FileNotFoundError:
        return KeyRing()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(
            f"{settings.home / FILE} cannot be read ({type(error).__name__}); bring it back from a backup, or set"
            " PERDURE_SEAL_KEY"
        ) from None
    if not text.split():
        raise SettingsInvalid(
            f"{settings.home / FILE} is empty; bring it back from a backup, or set PERDURE_SEAL_KEY"
        )
    return KeyRing.of(text.split())


def _create(path: Path) -> None:
    """Write a new key that appears whole or not at all; of two processes that try, one wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{secrets.token_hex(KEY_BYTES)}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
