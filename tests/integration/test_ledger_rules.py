"""What the ledger refuses: quotes that are not there, decisions on what has changed, rewritten history."""

import psycopg
import pytest

from graph.migrate import migrate
from ledger import (
    artifacts,
    audit,
    documents,
    evidence,
    findings,
    leases,
    reviews,
    runs,
    sources,
    tasks,
)
from ledger.canonical import digest
from ledger.db import Transaction
from ledger.documents import NewExtraction
from ledger.errors import (
    Ambiguous,
    ArtifactCorrupt,
    DatabaseUnavailable,
    IllegalTransition,
    LedgerError,
    NotFound,
    QuoteMismatch,
    ReviewClosed,
    RunExists,
    RunHeld,
)
from ledger.evidence import Position
from ledger.findings import NewFinding
from ledger.ids import new_run_id
from ledger.questions import Decision
from ledger.sources import NewSource
from tests.support.ledgers import new_run, open_ledger

TEXT = "Grün ist die Farbe.\nשלום עולם, 🌍 and \ufffd more."


async def _source(tx: Transaction, run_id: object, text: str = TEXT) -> tuple[str, str]:
    (extraction,) = await documents.record(
        tx, [NewExtraction(b"raw " + text.encode(), "text/plain", "test/1", "Title", text, None)]
    )
    assert extraction.text_artifact is not None
    new = NewSource(
        uri="file:///a",
        canonical_uri="file:///a",
        title="Title",
        content_artifact=extraction.content_artifact,
        text_artifact=extraction.text_artifact,
        extractor="test/1",
    )
    return await sources.record(tx, run_id, new), extraction.text_artifact  # type: ignore[arg-type]


async def test_a_quote_is_cut_from_the_stored_text_in_code_points(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            source, text = await _source(tx, run_id)
            start = TEXT.index("שלום")
            (quote,) = await evidence.record(
                tx, run_id, [Position(source, text, start, start + 12)]
            )
            stored = (await artifacts.get(tx, text)).decode()
        assert quote.exact == stored[quote.start : quote.end] == TEXT[start : start + 12]
        assert quote.prefix == TEXT[max(0, start - 32) : start]
        assert quote.suffix == TEXT[start + 12 : start + 44]


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (5, 4), (0, len(TEXT) + 1)])
async def test_a_place_that_the_text_does_not_have_is_no_evidence(
    database_url: str, start: int, end: int
) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            source, text = await _source(tx, run_id)
            with pytest.raises(QuoteMismatch):
                await evidence.record(tx, run_id, [Position(source, text, start, end)])


async def test_a_finding_cannot_rest_on_evidence_that_is_not_recorded(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        claim = NewFinding(
            task_id="t1", attempt=1, kind="claim", claim="c", evidence_ids=("ev_invented",)
        )
        with pytest.raises(LedgerError, match="ForeignKeyViolation"):
            async with ledger.transaction() as tx:
                await findings.record(tx, run_id, [claim])


async def test_recording_the_same_again_changes_nothing(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        for _ in range(2):
            async with ledger.transaction() as tx:
                source, text = await _source(tx, run_id)
                (quote,) = await evidence.record(tx, run_id, [Position(source, text, 0, 4)])
                claim = NewFinding(
                    task_id="t1",
                    attempt=1,
                    kind="claim",
                    claim="c",
                    evidence_ids=(quote.evidence_id,),
                )
                await findings.record(tx, run_id, [claim])
                await tasks.add(tx, run_id, [("t1", "Question t1?", ())], "branch")
        async with ledger.transaction() as tx:
            assert len(await findings.standing(tx, run_id)) == 1
            assert len(await tasks.everything(tx, run_id)) == 1
            assert len(await sources.everything(tx, run_id)) == 1


async def test_changed_bytes_of_an_artifact_are_refused_on_reading(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        async with ledger.transaction() as tx:
            name = await artifacts.put(tx, b"original", "text/plain")
            assert name == digest(b"original")
            await tx.connection.execute("UPDATE ledger.artifacts SET body = 'originaI'")
        async with ledger.transaction() as tx:
            with pytest.raises(ArtifactCorrupt, match=name):
                await artifacts.get(tx, name)


async def test_one_tenant_does_not_see_the_rows_of_another(database_url: str) -> None:
    async with (
        open_ledger(database_url, tenant="a") as a,
        open_ledger(database_url, tenant="b") as b,
    ):
        run_id = await new_run(a)
        async with a.transaction() as tx:
            name = await artifacts.put(tx, b"secret", "text/plain")
        async with b.transaction() as tx:
            assert await runs.newest_first(tx) == []
            with pytest.raises(NotFound):
                await runs.get(tx, run_id)
            with pytest.raises(NotFound):
                await artifacts.get(tx, name)


async def test_a_decision_counts_once_and_only_for_what_was_shown(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            first = await reviews.get(
                tx, run_id, await reviews.ask(tx, run_id, "plan", ["old plan"])
            )
            second = await reviews.get(
                tx, run_id, await reviews.ask(tx, run_id, "plan", ["new plan"])
            )
        yes = Decision(choice="approve", decided_by="ada")
        async with ledger.transaction() as tx:
            with pytest.raises(ReviewClosed, match="stale"):
                await reviews.decide(tx, first, yes)
            await reviews.decide(tx, second, yes)
            with pytest.raises(ReviewClosed, match="decided already"):
                await reviews.decide(tx, second, Decision(choice="reject", decided_by="bob"))
            assert (await reviews.get(tx, run_id, second.review_id)).decision == yes


async def test_a_finished_run_changes_no_more(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            await runs.complete(tx, run_id, await artifacts.put(tx, b"report", "text/markdown"))
        with pytest.raises(IllegalTransition):
            async with ledger.transaction() as tx:
                await runs.cancel(tx, run_id)
        with pytest.raises(IllegalTransition):
            async with ledger.transaction() as tx:
                await runs.set_status(tx, run_id, "running")
        with pytest.raises(IllegalTransition):
            async with ledger.transaction() as tx:
                await runs.complete(tx, run_id, "sha256:other")


async def test_a_run_id_that_is_taken_is_refused_and_names_resume(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            with pytest.raises(RunExists, match=f"perdure resume {run_id}"):
                await runs.create(tx, run_id, "Again?", {}, 1, "f")


async def test_a_run_is_found_by_a_unique_beginning_only(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        first = await new_run(ledger)
        await new_run(ledger)
        async with ledger.transaction() as tx:
            assert (await runs.find(tx, str(first))).run_id == first
            with pytest.raises(Ambiguous):
                await runs.find(tx, str(first)[:3])
            with pytest.raises(NotFound):
                await runs.find(tx, str(new_run_id()))


async def test_a_task_is_ready_when_what_it_depends_on_has_ended(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger, task_ids=("a", "b"))
        async with ledger.transaction() as tx:
            await tasks.add(tx, run_id, [("c", "After both?", ("a", "b"))], "branch")
        ended: list[list[str]] = []
        for name in ("a", "b", "c"):
            async with ledger.transaction() as tx:
                ended.append([task.task_id for task in await tasks.ready(tx, run_id, 9)])
                await tasks.begin(tx, run_id, name)
                task = await tasks.get(tx, run_id, name)
                await tasks.end(tx, run_id, task, "complete", reason=None, gaps=(), failures=())
        assert ended == [["a", "b"], ["b"], ["c"]]


async def test_an_ended_task_is_not_begun_again(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        async with ledger.transaction() as tx:
            await tasks.begin(tx, run_id, "t1")
            task = await tasks.get(tx, run_id, "t1")
            await tasks.end(tx, run_id, task, "complete", reason=None, gaps=(), failures=())
            await tasks.begin(tx, run_id, "t1")
            again = await tasks.get(tx, run_id, "t1")
        assert (again.status, again.attempts) == ("complete", 1)


async def test_the_audit_chain_shows_a_changed_entry(database_url: str) -> None:
    async with open_ledger(database_url) as ledger:
        run_id = await new_run(ledger)
        for event in ("one", "two", "three"):
            async with ledger.transaction(actor="ada") as tx:
                await audit.append(tx, run_id, event, {"n": 1})
        async with ledger.transaction() as tx:
            chain = await audit.entries(tx, run_id)
        assert [entry.sequence for entry in chain] == [1, 2, 3, 4]
        assert audit.first_broken(run_id, chain) is None
        forged = [
            entry.model_copy(update={"actor": "eve"}) if entry.sequence == 3 else entry
            for entry in chain
        ]
        assert audit.first_broken(run_id, forged) == 3
        assert audit.first_broken(run_id, [*chain[:1], *chain[2:]]) == 2


@pytest.mark.parametrize(
    "statement", ["UPDATE ledger.audit_log SET actor = 'eve'", "DELETE FROM ledger.audit_log"]
)
async def test_the_audit_log_is_only_added_to(database_url: str, statement: str) -> None:
    async with open_ledger(database_url) as ledger:
        await new_run(ledger)
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
                await connection.execute(statement)


async def test_a_run_has_one_holder_and_each_new_one_a_higher_fence(database_url: str) -> None:
    async with open_ledger(database_url, "one") as one, open_ledger(database_url, "two") as two:
        run_id = await new_run(one)
        async with leases.hold(one, run_id) as first:
            with pytest.raises(RunHeld, match="one"):
                async with leases.hold(two, run_id):
                    pass
        async with leases.hold(two, run_id) as second:
            assert second == first + 1


async def test_a_holder_whose_connection_was_cut_is_succeeded(
    database_url: str,
) -> None:
    """The lock vanishes with the connection, and the fence keeps the one who held it from writing on."""
    async with open_ledger(database_url, "one") as one, open_ledger(database_url, "two") as two:
        run_id = await new_run(one)
        async with leases.hold(one, run_id):
            async with two.transaction() as tx:
                await tx.connection.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory'"
                )
            async with leases.hold(two, run_id):
                with pytest.raises(LedgerError, match="took this run over"):
                    async with one.transaction(run_id) as tx:
                        await runs.set_phase(tx, run_id, "stolen")


async def test_an_unreachable_database_is_named_without_its_password() -> None:
    with pytest.raises(DatabaseUnavailable) as caught:
        await migrate("postgresql://nobody:hunter2@127.0.0.1:1/x")
    assert "127.0.0.1" in str(caught.value)
    assert "hunter2" not in str(caught.value)
