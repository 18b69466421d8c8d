"""Real manuals: Debian's documentation packages, downloaded once and unpacked without being installed."""

import os
import shutil
import subprocess
from pathlib import Path

POSTGRESQL_DOC = "postgresql-doc-15"
PYTHON_DOC = "python3.11-doc"
DEBIAN_POLICY = "debian-policy"

DOWNLOAD_SECONDS_MAX = 300
EDITIONS = 2


def debian_docs(package: str, version: str | None = None) -> Path | None:
    """Return the folder of an unpacked package (`/usr/share/doc` is below it), None where it cannot be had.

    `version` is one of several that are served; unset, the newest.
    The folder is kept in `$PERDURE_TEST_CACHE`, else in the user's cache folder; a package that was put there by hand is
    taken as it is.
    """
    cache = _cache()
    unpacked = cache / (f"{package}={version}" if version else package)
    wanted = unpacked.name
    if unpacked.is_dir():
        return unpacked
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return None
    # Unpacked beside and renamed, so that an interrupted download is not taken for a package.
    partial = cache / f"{wanted}.{os.getpid()}.partial"
    partial.mkdir(parents=True)
    try:
        _download(wanted, partial)
        (archive,) = partial.glob("*.deb")
        _run(["dpkg-deb", "-x", str(archive), str(partial / "root")], partial)
        (partial / "root").rename(unpacked)
    except (OSError, subprocess.SubprocessError, ValueError):
        # Without a network, without the package in the sources, or another process was faster.
        return unpacked if unpacked.is_dir() else None
    finally:
        shutil.rmtree(partial)
    return unpacked


def two_editions(package: str) -> tuple[Path, Path] | None:
    """Return the folders of the two newest versions of a package, the older one first; None where one cannot be had."""
    kept = sorted(_cache().glob(f"{package}=*"))
    versions = [each.name.partition("=")[2] for each in kept if each.suffix != ".partial"]
    if len(versions) != EDITIONS:
        versions = sorted(_served(package)[:2])
    folders = [debian_docs(package, version) for version in versions]
    older, newer = folders if len(folders) == EDITIONS else (None, None)
    return (older, newer) if older and newer else None


def _served(package: str) -> list[str]:
    """Return the versions of a package that are served, newest first."""
    if not shutil.which("apt-cache"):
        return []
    command = ["apt-cache", "madison", package]
    try:
        told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [line.split("|") for line in told.stdout.splitlines()]
    return list(dict.fromkeys(row[1].strip() for row in rows if len(row) > 1))


def _download(package: str, folder: Path) -> None:
    try:
        _run(["apt-get", "download", package], folder)
    except subprocess.CalledProcessError:
        # A new machine has no package lists, or old ones.
        _run(["apt-get", "update"], folder)
        _run(["apt-get", "download", package], folder)


def _run(command: list[str], folder: Path) -> None:
    # As root apt drops its rights, may then not write here, and says so on stderr before it goes on as root.
    subprocess.run(
        command, cwd=folder, check=True, capture_output=True, timeout=DOWNLOAD_SECONDS_MAX
    )


def _cache() -> Path:
    if chosen := os.environ.get("PERDURE_TEST_CACHE"):
        return Path(chosen)
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(user) / "perdure-tests"
