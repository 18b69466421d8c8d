"""What a person says of an effect, where one person's word is not enough or nothing would follow from it."""

from pathlib import Path
from uuid import UUID

import pytest

from graph.control import settle_effect
from graph.errors import SettlementRefused
from graph.forking import fork_run
from graph.runs import decide, outcome, resume_run, start_run
from graph.runtime import Runtime
from ledger import effects, forks, records, runs
from ledger.effects import Effect, Settlement
from ledger.errors import NotText
from ledger.questions import DEADLINE, Decision
from nodes.options import BadInput
from tests.support.runtimes import QUESTION, decided, options, runtime_on, write_corpus

SAID = Settlement(settled_by="ada", why="she looked")


async def _refused_publication(
    runtime: Runtime, folder: Path, two_persons: tuple[str, ...] = ()
) -> UUID:
    """Return a run that asks what became of a publication whose place is taken."""
    (folder / "report.md").write_text("something else")
    chosen = options(write_corpus(folder / "garden")).model_copy(
        update={"publish": (f"file:{folder / 'report.md'}",), "two_persons": two_persons}
    )
    stopped = await start_run(runtime, QUESTION, chosen)
    assert (stopped.run.status, [each.kind for each in stopped.reviews]) == ("blocked", ["effect"])
    return stopped.run.run_id


async def _effect(runtime: Runtime, run_id: UUID) -> Effect:
    async with runtime.ledger.transaction() as tx:
        (effect,) = await effects.of_run(tx, run_id)
    return effect


async def test_what_nothing_would_send_again_is_not_said_to_be_sent_again(
    database_url: str, tmp_path: Path
) -> None:
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        run_id = await _refused_publication(runtime, tmp_path)
        key = (await _effect(runtime, run_id)).key
        await settle_effect(runtime, key, None, SAID)
        assert (await resume_run(runtime, run_id)).run.status == "completed"
        with pytest.raises(SettlementRefused, match="nothing would send"):
            await settle_effect(runtime, key, None, SAID, again=True)
        assert (await _effect(runtime, run_id)).status == "failed"


async def test_one_of_two_persons_does_not_settle_alone_what_no_review_asks_yet(
    database_url: str, tmp_path: Path
) -> None:
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        run_id = await _refused_publication(runtime, tmp_path, ("effect",))
        key = (await _effect(runtime, run_id)).key
        # The review is closed, as it is before it is asked: the effect waits all the same.
        async with runtime.ledger.transaction() as tx:
            await runs.close_reviews(tx, run_id)
        with pytest.raises(SettlementRefused, match="2 different people"):
            await settle_effect(runtime, key, "report.md", SAID)
        assert (await _effect(runtime, run_id)).status == "awaiting_person"


async def test_nobody_settles_in_the_name_of_the_deadline(
    database_url: str, tmp_path: Path
) -> None:
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        run_id = await _refused_publication(runtime, tmp_path)
        said = Settlement(settled_by=f"{DEADLINE} ", why="late")
        with pytest.raises(BadInput, match="nobody is called"):
            await settle_effect(runtime, (await _effect(runtime, run_id)).key, None, said)
        unkept = Settlement(settled_by="ada", why="a\x00b")
        with pytest.raises(BadInput, match="NUL"):
            await settle_effect(runtime, (await _effect(runtime, run_id)).key, None, unkept)


@pytest.mark.parametrize(
    "decision",
    [
        {"choice": "edit", "edit": {"happened": "a\x00b"}},
        {"choice": "edit", "edit": {"happened": "a\ud800b"}},
        {"choice": "reject", "comment": "a\x00b"},
    ],
)
async def test_a_word_that_cannot_be_kept_is_refused_before_it_decides(
    database_url: str, tmp_path: Path, decision: dict[str, object]
) -> None:
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        run_id = await _refused_publication(runtime, tmp_path)
        paused = await resume_run(runtime, run_id)
        (review,) = paused.reviews
        with pytest.raises((BadInput, NotText)):
            await decide(
                runtime,
                review.review_id,
                Decision.model_validate({"decided_by": "ada", **decision}),
            )
        done = await decided(runtime, paused, choice="reject", comment="never mind")
        assert done.run.status == "completed"


@pytest.mark.parametrize(("policy", "is_published"), [("forbid", False), ("reissue", True)])
@pytest.mark.parametrize("review", ["none", "effect"])
async def test_a_fork_goes_on_from_what_was_asked_about_the_effect_of_another_run(
    database_url: str, tmp_path: Path, review: str, policy: forks.Effects, is_published: bool
) -> None:
    """Whether it was to be released, or what became of it: the fork has effects of its own, or none."""
    place = tmp_path / "report.md"
    chosen = options(write_corpus(tmp_path / "garden"), review).model_copy(
        update={"publish": (f"file:{place}",)}
    )
    if review == "none":
        place.write_text("something else")
    async with runtime_on(database_url, tmp_path / "home") as runtime:
        begun = await start_run(runtime, QUESTION, chosen)
        assert [each.kind for each in begun.reviews] == ["effect"]
        place.unlink(missing_ok=True)
        async with runtime.ledger.transaction() as tx:
            stored = await records.newest_first(tx, begun.run.run_id)
        at = next(each.checkpoint_id for each in stored if each.is_a_beginning)
        run_id = (await fork_run(runtime, begun.run.run_id, at, policy)).run_id
        standing = await outcome(runtime, run_id)
        while standing.reviews:
            standing = await decided(runtime, standing, choice="approve")
        assert standing.run.status == "completed"
        assert place.exists() == is_published
