"""Whose processes a server is made of: ours, or for root, whom PostgreSQL refuses, those of the data's owner.

Root's own folders stay closed for reading: the account is only let through those above what it needs.
"""

import os
import pwd
import shlex
import stat
import subprocess
from pathlib import Path
from typing import TypedDict

ACCOUNT = "perdure"


class ServerAccountMissing(Exception):
    """PostgreSQL does not run as root and no other account could be made for it."""


class RunAs(TypedDict):
    """The arguments that make a child process somebody else's; all None for our own."""

    user: int | None
    group: int | None
    extra_groups: list[int] | None


def is_root() -> bool:
    """Whether we are the one user that PostgreSQL does not run as."""
    return os.geteuid() == 0


def as_owner(path: Path) -> RunAs:
    """Return what makes a child process run as the owner of `path` where we are root."""
    owner = path.stat()
    if not is_root():
        return RunAs(user=None, group=None, extra_groups=None)
    return RunAs(user=owner.st_uid, group=owner.st_gid, extra_groups=[])


def give(path: Path) -> None:
    """Give a new folder to the account that root's server runs as; without root it is ours already."""
    if is_root():
        account = _account()
        os.chown(path, account.pw_uid, account.pw_gid)


def let_pass(data: Path, installation: Path) -> None:
    """Let the account of root's server through to its data, and read PostgreSQL's `installation`."""
    if not is_root():
        return
    for folder in {*data.resolve().parents, *installation.resolve().parents}:
        _add_mode(folder, stat.S_IXOTH)
    if not installation.stat().st_mode & stat.S_IXOTH:  # installed under a strict umask
        for path in [installation, *installation.rglob("*")]:
            _add_mode(path, (path.stat().st_mode >> 6) & (stat.S_IROTH | stat.S_IXOTH))


def _account() -> pwd.struct_passwd:
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", ACCOUNT]
    try:
        return pwd.getpwnam(ACCOUNT)
    except KeyError:
        pass
    try:
        subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - no part of it comes from outside
        return pwd.getpwnam(ACCOUNT)  # made by us, or just now by another process
    except (OSError, KeyError) as error:
        raise ServerAccountMissing(
            f"PostgreSQL does not run as root, and `{shlex.join(command)}` made no account for it. "
            f"Make one by hand, work as another user, or set PERDURE_DATABASE_URL."
        ) from error


def _add_mode(path: Path, bits: int) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode | bits != mode:
        path.chmod(mode | bits)
