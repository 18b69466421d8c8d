"""Where the runs of the campaign publish, by short names: addresses, and what each place promises."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.faults.taking import Hook

Place: TypeAlias = Hook | Literal["mail", "file", "table", "other"]

#: After so long a request is over: a server that holds one back for longer drops it. Waited out in earnest.
REQUEST_SECONDS = 2.0
#: The lease of runs that wait for requests to be over: a frozen worker believes in it for so long.
LEASE_SECONDS = 3.0
SENDER = "perdure@example.org"
OTHER_DATABASE = "other"
TABLE = "public.reports"

_HOOKS: dict[Hook, str] = {
    "keyed": "keyed",
    "mute": "keyed",
    "queryable": "queryable",
    "opaque": "opaque",
}
_CREATE = (
    "CREATE TABLE reports (idempotency_key text PRIMARY KEY, run_id uuid NOT NULL, question text NOT NULL,"
    " report_artifact text NOT NULL, markdown text NOT NULL, request_digest text NOT NULL)"
)


def in_database(url: str, name: str) -> str:
    """Return the URL of another database of the same server."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


async def make_tables(url: str) -> None:
    """Make the tables that take reports, in the ledger's database and in another one."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(_CREATE)
        await connection.execute("CREATE DATABASE other")
    other = in_database(url, OTHER_DATABASE)
    async with await psycopg.AsyncConnection.connect(other, autocommit=True) as connection:
        await connection.execute(_CREATE)


@dataclass(frozen=True)
class Places:
    """The places of one run; `address` is that of its world."""

    run_id: str
    address: str
    folder: Path
    request_seconds: float = REQUEST_SECONDS

    def of(self, place: Place) -> str:
        """Return the address of a place."""
        match place:
            case "mail":
                return f"mailto:{self.run_id}@example.org"
            case "file":
                return f"file:{self.folder}/"
            case "table":
                return f"postgres:{TABLE}"
            case "other":
                return f"postgres:{TABLE}@{OTHER_DATABASE}"
            case _:
                return f"{self.address}/hooks/{place}"

    @property
    def contracts(self) -> dict[str, dict[str, Any]]:
        """What PERDURE_CONTRACTS says of them."""
        kinds = {self.of(hook): kind for hook, kind in _HOOKS.items()}
        kinds |= {"mailto:": "opaque", self.of("other"): "queryable"}
        return {
            address: {"kind": kind, "request_seconds": self.request_seconds}
            for address, kind in kinds.items()
        }


def hook_of(path: str) -> Hook | None:
    """Return the hook that a path of a world names; None for any other path."""
    name = path.removeprefix("hooks/")
    return cast("Hook", name) if path != name and name in get_args(Hook) else None
