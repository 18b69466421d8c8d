"""What stands in for the outside world: it answers what is recorded, and any other call is a divergence.

Answers that were accepted stand in the journal already, so that a step that asks for them calls nobody; what comes here was
not accepted when the step was recorded. Requests, addresses and names are made by the code at hand, which is what is tried.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from graph.replaying.moment import Diverged, Moment
from ledger.canonical import Json
from ledger.contracts import Contract
from ledger.db import Ledger, Transaction
from ledger.errors import OperationFailed
from ledger.journal import Received
from ledger.recordings import Content
from ledger.runs import Run
from nodes.material import SearchResult, Skipped
from nodes.models.base import Ask, Message, Reply, Streamed
from nodes.models.profile import Profile
from nodes.options import RunOptions
from nodes.resources import Local, Progress, Reading, Tool
from nodes.targets import opening
from nodes.targets.base import (
    Confirmed,
    Differs,
    Found,
    Publication,
    Refused,
    Sending,
    Sent,
    Target,
    Unknown,
)
from nodes.tools.corpus import identity_of
from nodes.tools.manifest import Manifest

# A name that is set up nowhere.
_NOWHERE: Final = "postgresql://nowhere.invalid/"
_CONTEXT_TOKENS: Final = 1_000_000


class Stage:
    """What the stand-ins have in common: the moment that is played, and the bytes that the history holds."""

    moment: Moment = Moment({}, {})
    artifacts: Mapping[str, Content] = {}

    def manifest(self, artifact: str | None) -> Manifest:
        """Return what a corpus consists of."""
        kept = self.artifacts.get(artifact or "")
        return Manifest.from_json(kept.content) if kept else Manifest((), ())


@dataclass(frozen=True, slots=True)
class RecordedTool:
    """A tool of the recorded run."""

    stage: Stage
    name: str
    identity: Mapping[str, Json]

    def search(self, query: str, limit: int) -> Local[SearchResult]:
        """Return a call that fails as the recorded one did."""
        body: dict[str, Json] = {"tool": dict(self.identity), "query": query, "limit": limit}

        async def perform() -> SearchResult:
            raise OperationFailed(self.stage.moment.failure("search", body), transient=False)

        return Local(perform)

    def read(self, uri: str) -> Local[Reading]:
        """Return a call that fails as the recorded one did."""
        body: dict[str, Json] = {"tool": dict(self.identity), "uri": uri}

        async def perform() -> Reading:
            raise OperationFailed(self.stage.moment.failure("read", body), transient=False)

        return Local(perform)


@dataclass(frozen=True, slots=True)
class RecordedToolbox:
    """The tools that the recorded run had."""

    stage: Stage

    def check(self, options: RunOptions) -> None:
        """Find nothing wrong."""

    async def check_credentials(self) -> str:
        """Need none."""
        return "none are needed: a history is replayed"

    async def prepare(self, options: RunOptions, progress: Progress) -> str:
        """Return the manifest that the recorded run read."""
        corpus = self.stage.moment.run["corpus_artifact"]
        if corpus is None:
            raise Diverged("request", "it reads the corpus, which the recorded step did not do")
        return str(corpus)

    async def tools(self, run: Run) -> tuple[Tool, ...]:
        """Return the corpus, named by the code at hand, and the other tools under the names that are recorded."""
        found: list[Tool] = []
        if self.stage.manifest(run.corpus_artifact).documents:
            assert run.corpus_artifact is not None
            found.append(RecordedTool(self.stage, "corpus", identity_of(run.corpus_artifact)))
        others = {
            each["body"]["tool"]["name"]: each["body"]["tool"]
            for each in self.stage.moment.of("operations")
            if each["kind"] in {"search", "read"} and each["body"]["tool"]["name"] != "corpus"
        }
        return (*found, *(RecordedTool(self.stage, name, others[name]) for name in sorted(others)))

    async def skipped(self, run: Run) -> tuple[Skipped, ...]:
        """Return what could not be read."""
        return self.stage.manifest(run.corpus_artifact).skipped


@dataclass(frozen=True, slots=True)
class RecordedTarget:
    """A target whose requests are made by the code at hand, and whose answers are recorded."""

    stage: Stage
    real: Target
    contract: Contract

    @property
    def kind(self) -> str:
        """The kind of the real one."""
        return self.real.kind

    @property
    def address(self) -> str:
        """The address of the real one."""
        return self.real.address

    def request(self, publication: Publication) -> dict[str, Json]:
        """Return what the code at hand would send."""
        return self.real.request(publication)

    async def check(self) -> str:
        """Find nothing wrong."""
        return "recorded"

    async def send(self, sending: Sending) -> Sent:
        """Return what the target answered to exactly this; raises Diverged for what it was never sent."""
        return self._answer(sending)

    async def look_up(self, sending: Sending) -> Found:
        """Return the same."""
        answer = self._answer(sending)
        return Unknown(answer.reason) if isinstance(answer, Refused) else answer

    async def send_in(self, tx: Transaction, sending: Sending) -> Sent:
        """Return the same; nothing is written."""
        return self._answer(sending)

    def _answer(self, sending: Sending) -> Confirmed | Refused | Differs | Unknown:
        effect = self.stage.moment.effect(sending.key)
        if effect is None or effect["request_digest"] != sending.request_digest:
            raise Diverged(
                "effect", f"it sends to {self.address} what was never sent there: {sending.key}"
            )
        match effect["status"]:
            case "confirmed":
                return Confirmed(effect["external_id"])
            case "failed":
                return Refused(effect["reason"])
            case "awaiting_person":
                return Differs(effect["reason"])
            case status:
                return Unknown(f"the history ends while it is {status}")


@dataclass(frozen=True, slots=True)
class RecordedTargets:
    """Opens targets with what the recorded run shows to have been set up."""

    stage: Stage
    ledger: Ledger

    def open(self, address: str) -> Target:
        """Return a target; raises BadInput as the code at hand does."""
        effects = [each for each in self.stage.moment.of("effects") if each["target"] == address]
        name = address.rpartition("@")[2]
        real = opening.Targets(
            ledger=self.ledger,
            databases={name: _NOWHERE} if address.startswith("postgres:") else {},
        ).open(address)
        contract = Contract.model_validate(effects[0]["contract"]) if effects else real.contract
        return RecordedTarget(self.stage, real, contract)


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """A model that answers nothing anew: every answer of a history stands in its journal."""

    stage: Stage
    name: str

    @property
    def profile(self) -> Profile:
        """What is recorded of its endpoint, and room for whatever is shown."""
        hosts = [
            each["settings"].get("endpoint")
            for each in self.stage.moment.of("attempts")
            if each["settings"].get("endpoint")
        ]
        return Profile(
            model=self.name,
            family="openai",
            base_url=f"https://{hosts[-1] if hosts else 'recorded.invalid'}/v1",
            context_tokens=_CONTEXT_TOKENS,
            answer_tokens_default=_CONTEXT_TOKENS,
            reasoning_tokens={},
            sends_sampling=False,
            answer_tokens_field="max_tokens",
            reasoning_in=(),
        )

    @property
    def settings(self) -> Mapping[str, Json]:
        """Nothing is recorded."""
        return {}

    async def receive(self, ask: Ask) -> Received:
        """Call nobody."""
        self._refuse(ask.schema_name)

    async def streamed(self, messages: Sequence[Message], **members: Any) -> Streamed:
        """Call nobody."""
        self._refuse("a stream")

    async def look_up(self, path: str, body: Mapping[str, Json] | None = None) -> Json:
        """Call nobody."""
        self._refuse(path)

    def understand(self, ask: Ask, received: Received) -> Reply:
        """Understand nothing: no answer is left that was not understood."""
        self._refuse(ask.schema_name)

    async def tokens(self, ask: Ask) -> int:
        """Count nothing: what was left out then is recorded with the answer."""
        return 0

    async def aclose(self) -> None:
        """Close nothing."""

    def _refuse(self, what: str) -> NoReturn:
        raise Diverged("request", f"it asks the model {self.name} for what was never asked: {what}")
