"""What a person can set, by PERDURE_* variables or a perdure.toml in the working folder; a variable wins.

The only place that reads the environment. Everything else is handed a Settings, so a run can record what it ran with.
"""

import json
import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from platformdirs import user_data_path
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    HttpUrl,
    SecretStr,
    TypeAdapter,
    ValidationError,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)
from typing_extensions import override

from graph.secrets import checked_reference
from ledger.contracts import Contract
from ledger.questions import Kind
from nodes.models.profile import CONTEXT_TOKENS_MIN
from nodes.options import Policy
from nodes.sensitive import SensitiveRule
from nodes.targets.email import checked_address
from nodes.targets.smtp import mail_server
from nodes.tools.fetch.egress import EgressPolicy, checked_network, checked_pattern

PREFIX = "PERDURE_"
FILE = "perdure.toml"
# 128 bits in hex digits.
SEAL_KEY_CHARACTERS_MIN = 32


class SettingsInvalid(ValueError):
    """A setting cannot be used; names the variable and what is wrong with it, never the value."""


def _database_url(value: SecretStr) -> SecretStr:
    try:
        conninfo_to_dict(value.get_secret_value())
    except ProgrammingError:
        raise ValueError("give a URL like postgresql://user:password@host:5432/database") from None
    return value


def _seal_key(value: SecretStr) -> SecretStr:
    for secret in value.get_secret_value().split(","):
        if len(secret.strip()) < SEAL_KEY_CHARACTERS_MIN:
            raise ValueError(
                f"a key has at least {SEAL_KEY_CHARACTERS_MIN} characters: openssl rand -hex 32 makes one"
            )
    return value


def _web_address(value: str) -> str:
    TypeAdapter(HttpUrl).validate_python(value)
    return value


def _endpoint_address(value: str) -> str:
    """Refuse what would be sent in place of the key, or shown: the address stands in plain settings."""
    address = urlsplit(_web_address(value))
    if address.username or address.password or address.query or address.fragment:
        raise ValueError(
            f"an endpoint's address has no name, password or query; {PREFIX}MODEL_KEY says where its key is"
        )
    return value


def _hosts(value: list[str]) -> list[str]:
    return [checked_pattern(text) for text in value]


def _networks(value: list[str]) -> list[str]:
    return [str(checked_network(text)) for text in value]


def _separated(value: object) -> object:
    """One item per comma, or a JSON list where one holds a comma itself."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return json.loads(value)
    return [part.strip() for part in value.split(",") if part.strip()]


def _json_list(value: object) -> object:
    """Return a list of tables of perdure.toml, or the JSON list in a variable."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError("give a JSON list: [{…}, …]") from None


def _json_object(value: object) -> object:
    """Return a table of perdure.toml, or the JSON object in a variable."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError("give a JSON object: {…}") from None


def _mail_server(value: SecretStr) -> SecretStr:
    mail_server(value.get_secret_value())
    return value


def _token(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if not (text and text.isascii() and text.isprintable() and " " not in text):
        raise ValueError("a token is printable ASCII without spaces")
    return value


def _database_name(value: str) -> str:
    if not _DATABASE_NAME.fullmatch(value):
        raise ValueError("a database is named by letters, digits, - and _")
    return value


_DATABASE_NAME = re.compile(r"[A-Za-z0-9_-]+")
DatabaseName = Annotated[str, AfterValidator(_database_name)]
DatabaseUrl = Annotated[SecretStr, AfterValidator(_database_url)]
Hosts = Annotated[list[str], NoDecode, BeforeValidator(_separated), AfterValidator(_hosts)]
Token = Annotated[SecretStr, AfterValidator(_token)]
EndpointAddress = Annotated[str, AfterValidator(_endpoint_address)]
WebAddress = Annotated[str, AfterValidator(_web_address)]


class Settings(BaseSettings):
    """Every field is the variable PERDURE_<FIELD> or the key <field> of perdure.toml."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        toml_file=FILE,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        validate_default=False,
    )

    database_url: Annotated[SecretStr, AfterValidator(_database_url)] | None = None
    """The PostgreSQL (15 or later) to work in; unset, one is started under `home`."""
    home: Annotated[Path, AfterValidator(Path.expanduser), AfterValidator(Path.absolute)] = Field(
        default_factory=lambda: user_data_path("perdure", appauthor=False)
    )
    """Where the embedded database, keys, caches and reports are kept."""
    model: Annotated[str, Field(min_length=1)] = "extractive"
    """Who thinks: `extractive`, which needs no language model, `kimi-k3` and its family, or `openai:NAME` at an endpoint."""
    model_base_url: EndpointAddress | None = None
    """The endpoint of the model: needed for openai:NAME, and for a family that is served elsewhere than at its vendor's."""
    model_key: Annotated[str, AfterValidator(checked_reference)] | None = None
    """Where the key of the endpoint is: env:NAME or file:PATH; unset, the vendor's own variable counts at its own address."""
    model_effort: str | None = None
    """How hard the model reasons, where it can be told: low, high, max; unset, as the endpoint does."""
    model_context: Annotated[int, Field(ge=CONTEXT_TOKENS_MIN)] | None = None
    """The context of the model in tokens; unset, what is known of it."""
    model_calls: Annotated[int, Field(ge=1, le=1000)] = 4
    """How many calls of a model may be at work at once, over all branches and runs of a process."""
    model_rpm: Annotated[int, Field(ge=1)] | None = None
    """How many calls of a model may be made within any minute, over all branches and runs of a process; unset, no limit."""
    model_tpm: Annotated[int, Field(ge=1)] | None = None
    """The same of tokens, those of prompts and answers together."""
    model_idle_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 300
    """How long nothing may come of an answer before its call is given up."""
    model_patience_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 600
    """How long an endpoint that is overloaded or away is asked again, before the run pauses."""
    corpus: Annotated[list[str], NoDecode, BeforeValidator(_separated)] = Field(
        default_factory=list[str]
    )
    """Documents of runs that name none: paths, or pydoc:topics, separated by commas."""
    search_url: WebAddress | None = None
    """Where the web search is asked; one that answers as SearXNG does with format=json, unless `search` names another."""
    search: Literal["searxng", "tavily", "brave", "exa"] | None = None
    """Which web search is asked; unset, the one at `search_url`, or none."""
    search_key: Annotated[str, AfterValidator(checked_reference)] | None = None
    """Where the key of the web search is: env:NAME or file:PATH, read at each call."""
    allowed_hosts: Hosts = Field(default_factory=list[str])
    """The only hosts whose pages may be read, separated by commas; unset, those of the public internet."""
    denied_hosts: Hosts = Field(default_factory=list[str])
    """Hosts whose pages are never read."""
    private_networks: Annotated[
        list[str], NoDecode, BeforeValidator(_separated), AfterValidator(_networks)
    ] = Field(default_factory=list[str])
    """Networks of one's own (CIDR) whose pages may be read besides, separated by commas."""
    smtp_url: Annotated[SecretStr, AfterValidator(_mail_server)] | None = None
    """Where mail is handed in: smtp://user:password@host:587, or smtps://…"""
    mail_from: Annotated[str, AfterValidator(checked_address)] | None = None
    """The address that mail comes from."""
    webhook_tokens: Annotated[dict[str, Token], NoDecode, BeforeValidator(_json_object)] = Field(
        default_factory=dict[str, Token]
    )
    """Tokens that webhooks are sent with, by host or host:port."""
    databases: Annotated[
        dict[DatabaseName, DatabaseUrl], NoDecode, BeforeValidator(_json_object)
    ] = Field(default_factory=dict[DatabaseName, DatabaseUrl])
    """Other databases that reports may go to, their URLs by the names that targets use."""
    contracts: Annotated[dict[str, Contract], NoDecode, BeforeValidator(_json_object)] = Field(
        default_factory=dict[str, Contract]
    )
    """What targets guarantee, by the beginning of their addresses; the longest counts."""
    seal_key: Annotated[SecretStr, AfterValidator(_seal_key)] | None = None
    """Secrets that runs are sealed with, separated by commas: the first seals, all verify. Unset, one is made and kept in `home`."""
    tenant: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")] = "default"
    """Whose rows are read and written; the first part of every key."""
    pool_size: Annotated[int, Field(ge=2, le=100)] = 10
    """How many database connections one process opens at most; as many for LangGraph's tables, one for each run at work."""
    lease_seconds: Annotated[float, Field(ge=1, le=3600)] = 30
    """How long a run waits for a worker that gives no more sign of life, before another takes it over."""
    migrate: Literal["auto", "ask", "never"] = "auto"
    """What becomes of a run of an older version of the workflow that is taken up: it is migrated, a person is asked, nothing."""
    versions: Annotated[
        list[Annotated[int, Field(ge=1)]],
        NoDecode,
        BeforeValidator(_separated),
        # No version at all would be taken for every one.
        Field(min_length=1),
    ] = Field(default_factory=list[int])
    """The only versions of the workflow whose runs are taken here, separated by commas; unset, all that can be."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"
    """What is worth a line on standard error."""
    sensitive: Annotated[list[SensitiveRule], NoDecode, BeforeValidator(_json_list)] = Field(
        default_factory=list[SensitiveRule]
    )
    """What a person has to release before it is published: a list of {name, pattern} and {name, label}, as JSON."""
    two_persons: Annotated[list[Kind], NoDecode, BeforeValidator(_separated)] = Field(
        default_factory=list[Kind]
    )
    """Reviews that two different people have to decide alike, separated by commas."""
    trace_documents: bool = False
    """Whether traces sent to LangSmith may hold the text of documents."""

    @property
    def policy(self) -> Policy:
        """What is set for all runs."""
        return Policy(self.sensitive, self.two_persons)

    @property
    def egress(self) -> EgressPolicy:
        """Where requests for pages may go."""
        networks = tuple(checked_network(text) for text in self.private_networks)
        return EgressPolicy(tuple(self.allowed_hosts), tuple(self.denied_hosts), networks)

    @classmethod
    @override
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def load_settings(**overrides: object) -> Settings:
    """Read the settings; `overrides` (command-line options) win over variables and file.

    Raises SettingsInvalid for a value or a perdure.toml that cannot be used.
    """
    try:
        return Settings.model_validate(overrides)
    except ValidationError as error:
        lines = "; ".join(
            _complaint(one["loc"], one["msg"]) for one in error.errors(include_input=False)
        )
        raise SettingsInvalid(f"{lines}. Correct the variable, or {FILE} in this folder.") from None
    except OSError as error:
        raise SettingsInvalid(f"{FILE} in this folder cannot be read: {error}.") from None


def _complaint(place: tuple[int | str, ...], message: str) -> str:
    if not place:
        return f"{FILE}: {message.removeprefix('Value error, ')}"
    name = str(place[0])
    if name not in Settings.model_fields:
        return f"{name} is no setting"
    return f"{PREFIX}{name.upper()}: {message.removeprefix('Value error, ')}"
