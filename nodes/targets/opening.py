"""Addresses of targets: which kinds there are, how each is read, and which contract is declared for it.

An address is recorded with the run and opened again by every process that goes on with it: so it is made absolute, and one
that holds a secret is refused.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qsl

import httpx

from ledger.contracts import Contract
from ledger.db import Ledger
from nodes.options import BadInput
from nodes.targets import email, file, postgres, webhook
from nodes.targets.base import Target
from nodes.targets.smtp import MailServer

CONTRACTS_SETTING = "PERDURE_CONTRACTS"
#: Every form of an address, for errors and help.
FORMS: Final = "file:PATH, https://HOST/PATH (http:// for this machine only), mailto:NAME@HOST, postgres:TABLE or postgres:TABLE@DATABASE"

# No control characters, and no halves of characters, which arguments of a command line hold for bytes that are no UTF-8.
_TEXT: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]+")
# As it is asked for: names in ASCII (others are encoded by then), addresses of both families.
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_PORT_MAX = 65_535
# Words in the names of parameters that hold keys, however they are written (X-Amz-Signature, authToken, api_key): the
# address of a target is recorded and shown.
_SECRET_WORDS: Final = frozenset(
    {
        "apikey", "auth", "authorization", "bearer", "credential", "credentials", "jwt", "key", "pass", "passwd", "password",
        "pwd", "secret", "sig", "signature", "token",
    }
)  # fmt: skip
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class Targets:
    """What targets are opened with; graph/runtime.py sets it up."""

    ledger: Ledger
    #: Returns the client of this process, which is opened when the first webhook is.
    client: Callable[[], httpx.AsyncClient] | None = None
    mail_server: MailServer | None = None
    sender: str | None = None
    #: URLs of databases by name, tokens of webhooks by host or host:port; both are secret.
    databases: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    tokens: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    #: Contracts by the beginning of an address; the longest counts.
    contracts: Mapping[str, Contract] = field(default_factory=dict[str, Contract])

    def open(self, address: str) -> Target:
        """Return the target that an address names; raises BadInput for one that cannot be used."""
        return open_target(address, self)


def open_target(address: str, targets: Targets) -> Target:
    """Return the target that an address names.

    Raises BadInput for a kind that there is not, for an address that holds a secret, and for a contract that the kind
    cannot keep.
    """
    given = address.strip()
    scheme, colon, rest = given.partition(":")
    if not colon or not rest or not _TEXT.fullmatch(given):
        raise BadInput(f"no target is written like that; there are: {FORMS}")
    match scheme.lower():
        case "file":
            return _file(rest, targets)
        case "http" | "https":
            return _webhook(given, targets)
        case "mailto":
            return _email(rest, targets)
        case "postgres" | "postgresql":
            return _postgres(rest, targets)
        case _:
            raise BadInput(f"no target is called {scheme}:; there are: {FORMS}")


def _file(rest: str, targets: Targets) -> Target:
    found = file.file_target(rest, file.DEFAULT_CONTRACT)
    contract = _contract(found.address, targets, file.DEFAULT_CONTRACT, file.KINDS)
    return file.FileTarget(found.path, found.is_folder, contract)


def _webhook(address: str, targets: Targets) -> Target:
    try:
        url = httpx.URL(address)
        host, port = url.host, url.port
    # UnicodeError: a host that claims to be encoded and is not.
    except (httpx.InvalidURL, UnicodeError) as error:
        raise BadInput("that is no URL of a webhook: write https://HOST/PATH") from error
    has_port = port is None or 0 < port <= _PORT_MAX
    if not _HOST.fullmatch(url.raw_host.decode()) or not has_port:
        raise BadInput(
            "a webhook needs a host, and a port up to 65535: write https://HOST:PORT/PATH"
        )
    if url.userinfo:
        raise BadInput(
            "an address is recorded and shown, so it holds no user or password; put a token for the host into"
            " PERDURE_WEBHOOK_TOKENS"
        )
    if secret := _secrets_in(url):
        raise BadInput(
            f"an address is recorded and shown, so it holds no {', '.join(secret)}; put a token for the host into"
            " PERDURE_WEBHOOK_TOKENS"
        )
    if "#" in address:
        raise BadInput("a server never sees what is behind a #; leave it out of the address")
    if url.scheme == "http" and not _is_this_machine(host):
        raise BadInput(
            f"what goes to http://{host} can be read and changed on its way; write https://, http:// is for this"
            " machine only"
        )
    # The same place, written the same: else a report would be posted there twice.
    url = url.copy_with(raw_path=url.raw_path)
    contract = _contract(str(url), targets, webhook.DEFAULT_CONTRACT, webhook.KINDS)
    client = targets.client() if targets.client else None
    return webhook.WebhookTarget(url, client, _token(url, targets.tokens), contract)


def _secrets_in(url: httpx.URL) -> list[str]:
    """Return the names of the parameters of an address that sound as if they held a secret."""
    parameters = parse_qsl(url.query.decode().replace(";", "&"), keep_blank_values=True)
    return sorted(
        {
            name.lower()
            for name, _ in parameters
            if {word.lower() for word in _WORDS.findall(name)} & _SECRET_WORDS
        }
    )


def _email(rest: str, targets: Targets) -> Target:
    contract = _contract(f"mailto:{rest}", targets, email.DEFAULT_CONTRACT, email.KINDS)
    return email.email_target(rest, targets.mail_server, targets.sender, contract)


def _postgres(rest: str, targets: Targets) -> Target:
    if "/" in rest:
        raise BadInput(
            "an address is recorded and shown, so it names no database by its URL: put that into PERDURE_DATABASES"
            ' ({"NAME": "postgresql://…"}) and write postgres:TABLE@NAME'
        )
    text, at, name = rest.partition("@")
    table = postgres.table_named(text)
    if not at:
        contract = _contract(
            f"postgres:{table.shortly}", targets, postgres.OWN_CONTRACT, postgres.OWN_KINDS
        )
        return postgres.OwnTableTarget(table, targets.ledger, contract)
    url = targets.databases.get(name)
    if url is None:
        known = ", ".join(sorted(targets.databases)) or "none"
        raise BadInput(
            f"no database is called {name!r} in {postgres.SETTING}, which names: {known}; without @NAME a table of the"
            " ledger's own database is meant"
        )
    address = f"postgres:{table.shortly}@{name}"
    contract = _contract(address, targets, postgres.OTHER_CONTRACT, postgres.OTHER_KINDS)
    return postgres.OtherTableTarget(table, name, url, contract)


def _contract(address: str, targets: Targets, default: Contract, kinds: frozenset[str]) -> Contract:
    """Return the contract that is declared for the longest beginning of an address, or the default."""
    prefix = max(
        (one for one in targets.contracts if address.startswith(one)), key=len, default=None
    )
    if prefix is None:
        return default
    declared = targets.contracts[prefix]
    if declared.kind not in kinds:
        raise BadInput(
            f"{CONTRACTS_SETTING} says that {prefix} is {declared.kind}, and such a target can only be:"
            f" {', '.join(sorted(kinds))}"
        )
    return declared


def _token(url: httpx.URL, tokens: Mapping[str, str]) -> str | None:
    """Return the token of this host; one that is declared with the port counts for that port only."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    by_name = {name.lower(): token for name, token in tokens.items()}
    port = url.port or (443 if url.scheme == "https" else 80)
    return by_name.get(f"{host}:{port}".lower()) or by_name.get(host.lower())


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
