"""Looks into what a run needs and says what works. Each check stands for itself: one that fails does not hide the rest.

Nothing secret is told: of the database its place and version, of the search service its host.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
from psycopg.conninfo import conninfo_to_dict
from pydantic import SecretStr

from graph.cluster import EmbeddedPostgresFailed
from graph.model_checks import model_checks
from graph.opening import connect, open_database
from graph.seal_keys import FILE, known_keys
from graph.settings import Settings, SettingsInvalid, load_settings
from graph.supporting import check_workers
from graph.web import provider_of
from ledger.db import Connection, Transaction
from ledger.deliveries import reachable
from ledger.errors import CredentialRefused, LedgerError, SealKeyMissing
from ledger.keys import KeyRing
from ledger.migrate import migrations, pending
from ledger.payloads import PlainCodec
from ledger.sealing import used_keys
from ledger.translation import wrap_errors
from ledger.verification import Check
from nodes.options import BadInput
from nodes.targets.smtp import MailBroken, mail_server, reach

PYTHON_MIN = (3, 11)
POSTGRES_MIN = 15
# The embedded database alone takes 60 MB, its log up to 1 GB under load; a corpus is stored twice, bytes and text.
FREE_BYTES_MIN = 1_000_000_000
# A service that takes longer makes every search slow.
SEARCH_SECONDS_MAX = 10.0

# A run waits longer than a person who looks whether a target is there.
TARGET_SECONDS_MAX = 10.0

_PACKAGES = (
    "perdure",
    "langgraph",
    "langgraph-checkpoint-postgres",
    "psycopg",
    "pydantic",
    "trafilatura",
    "bm25s",
)


async def examine() -> tuple[Check, ...]:
    """Return all checks; only what needs the settings is left out where they cannot be read."""
    try:
        settings = load_settings()
    except SettingsInvalid as error:
        return (*_installation(), Check("settings", ok=False, detail=str(error)))
    return (
        *_installation(),
        Check("settings", ok=True, detail=_chosen(settings)),
        _home(settings.home),
        *await _database(settings),
        await _search(settings),
        *await model_checks(settings),
        await _mail(settings),
        *[await _other_database(name, url) for name, url in settings.databases.items()],
    )


def _installation() -> Sequence[Check]:
    running = ".".join(str(part) for part in sys.version_info[:3])
    needed = ".".join(str(part) for part in PYTHON_MIN)
    return (
        Check("python", sys.version_info >= PYTHON_MIN, f"{running} (needs {needed} or later)"),
        Check(
            "packages", ok=True, detail=", ".join(f"{name} {version(name)}" for name in _PACKAGES)
        ),
    )


def _chosen(settings: Settings) -> str:
    """Name what was set, never its value."""
    names = sorted(settings.model_fields_set)
    return f"set: {', '.join(names)}" if names else "all as they come"


def _home(home: Path) -> Check:
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            free = shutil.disk_usage(home).free
    except OSError as error:
        detail = (
            f"{home} cannot be written ({error.strerror}); set PERDURE_HOME to a folder that can"
        )
        return Check("home", ok=False, detail=detail)
    detail = f"{home}, {free / 1e9:.1f} GB free"
    if free < FREE_BYTES_MIN:
        return Check("home", ok=False, detail=f"{detail}: free some, or set PERDURE_HOME elsewhere")
    return Check("home", os.access(home, os.R_OK | os.X_OK), detail)


async def _database(settings: Settings) -> Sequence[Check]:
    try:
        async with open_database(settings) as url:
            with wrap_errors():
                async with await connect(url) as connection:
                    return await _connected(settings, connection, _place(settings, url))
    except (LedgerError, EmbeddedPostgresFailed) as error:
        return (Check("database", ok=False, detail=str(error)),)


async def _connected(settings: Settings, connection: Connection, place: str) -> Sequence[Check]:
    number = connection.info.server_version // 10_000
    server = Check(
        "database",
        number >= POSTGRES_MIN,
        f"PostgreSQL {number}, {place} (needs {POSTGRES_MIN} or later)",
    )
    missing = await pending(connection)
    told = f"{missing} of {len(migrations())} not applied yet; `perdure migrate` applies them"
    # Not a failure: the next run applies them.
    migrated = Check("migrations", ok=True, detail=told if missing else "all applied")
    keys = await _seal_keys(settings, connection, migrated=not missing)
    if missing:
        return server, migrated, keys
    async with connection.transaction():
        tx = Transaction(connection, settings.tenant, "doctor", None, PlainCodec(), KeyRing())
        return server, migrated, keys, await check_workers(tx)


async def _seal_keys(settings: Settings, connection: Connection, *, migrated: bool) -> Check:
    """Say which keys runs were sealed with and which of them are here; of a key only its id is told."""
    try:
        ring = known_keys(settings)
    except SettingsInvalid as error:
        return Check("seal key", ok=False, detail=str(error))
    used = await used_keys(connection, settings.tenant) if migrated else []
    if missing := [name for name in used if name not in ring.ids]:
        return Check("seal key", ok=False, detail=str(SealKeyMissing(", ".join(missing))))
    where = "PERDURE_SEAL_KEY" if settings.seal_key else str(settings.home / FILE)
    if not ring.keys:
        return Check("seal key", ok=True, detail=f"none yet; the first run makes one in {where}")
    return Check("seal key", ok=True, detail=f"{ring.key_id} seals, from {where}: keep a backup")


def _place(settings: Settings, url: str) -> str:
    if settings.database_url is None:
        return f"embedded under {settings.home}"
    given: dict[str, Any] = conninfo_to_dict(url)
    where = f"{given.get('host') or 'local socket'}:{given.get('port') or 5432}"
    return f"external at {where}, database {given.get('dbname') or given.get('user') or 'default'}"


async def _search(settings: Settings) -> Check:
    try:
        provider = provider_of(settings)
        if provider is None:
            return Check("web search", ok=True, detail="none is set; runs search their corpus only")
        host = httpx.URL(provider.address).host
        if provider.check() is None:  # a search would cost something
            return Check(
                "web search", ok=True, detail=f"{provider.name} at {host}; its key is there"
            )
    except (BadInput, CredentialRefused) as error:
        return Check("web search", ok=False, detail=str(error))
    return await _asked(host, provider.request("perdure", 1))


async def _asked(host: str, request: httpx.Request) -> Check:
    try:
        async with httpx.AsyncClient(timeout=SEARCH_SECONDS_MAX) as client:
            response = await client.send(request)
            results = response.raise_for_status().json()["results"]
    except httpx.HTTPStatusError as error:
        return Check("web search", ok=False, detail=f"{host}: HTTP {error.response.status_code}")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Check("web search", ok=False, detail=f"{host}: {type(error).__name__}")
    except (ValueError, KeyError, TypeError):
        return Check("web search", ok=False, detail=f"{host} gives no list of results as JSON")
    return Check("web search", ok=True, detail=f"{host} answers, {len(results)} results")


async def _mail(settings: Settings) -> Check:
    """Log in where mail is handed in, and hand in nothing."""
    if settings.smtp_url is None:
        return Check("mail", ok=True, detail="none is set; reports cannot go to mailto:")
    if settings.mail_from is None:
        return Check("mail", ok=False, detail="PERDURE_MAIL_FROM says who it comes from; set it")
    server = mail_server(settings.smtp_url.get_secret_value())
    try:
        await reach(server, TARGET_SECONDS_MAX)
    except MailBroken as broken:
        return Check("mail", ok=False, detail=f"{server.host}:{server.port}: {broken.reason}")
    return Check("mail", ok=True, detail=f"{server.host}:{server.port} takes our log-in")


async def _other_database(name: str, url: SecretStr) -> Check:
    """Connect to a database that reports may go to."""
    label = f"database {name}"
    try:
        await reachable(url.get_secret_value(), TARGET_SECONDS_MAX)
    except LedgerError as error:
        return Check(label, ok=False, detail=str(error))
    return Check(label, ok=True, detail="answers; its tables are looked at when a run names one")
