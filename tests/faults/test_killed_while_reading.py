"""A run is killed while its corpus is read; what the campaign does around reviews is in tests/faults/scenarios.py."""

from dataclasses import replace
from pathlib import Path

from ledger.db import Ledger
from tests.faults.campaign import Campaign, check_whole
from tests.support.deeds import Action
from tests.support.pages import PAGES

# More than two of the batches that an ingest keeps (KEEP_DOCUMENTS_MAX).
FILLERS = 140


def corpus(folder: Path) -> Path:
    """Write a folder of short texts: the pages of the harbour and many that answer nothing."""
    folder.mkdir()
    for name, (title, paragraphs) in PAGES.items():
        (folder / f"{name}.md").write_text("\n\n".join((f"# {title}", *paragraphs)))
    for number in range(FILLERS):
        (folder / f"minutes-{number:03}.txt").write_text(
            f"Minutes {number} of the council: nothing was decided."
        )
    return folder


async def kept_documents(ledger: Ledger) -> int:
    """Return how many documents are known."""
    async with ledger.pool.connection() as connection:
        row = await (
            await connection.execute("SELECT count(*) AS known FROM ledger.extractions")
        ).fetchone()
    assert row is not None
    known: int = row["known"]
    return known


async def test_a_run_that_is_killed_while_it_reads_its_corpus_finishes(
    campaign: Campaign, tmp_path: Path
) -> None:
    """What was kept stays kept; the rest is read by the resume; the findings are those of an uninterrupted run."""
    paths = (str(corpus(tmp_path / "corpus")),)
    trial, world = campaign.trial(corpus=paths)
    total = len(PAGES) + FILLERS
    known = [0]
    for number, kill_at in enumerate((1, total // 2, total)):
        action: Action = "resume" if number else "start"
        ended = await campaign.forks.run(replace(trial, action=action, kill_at_document=kill_at))
        assert ended.killed
        known.append(await kept_documents(campaign.ledger))
    assert known == sorted(known)
    assert 0 < known[-1] <= total
    assert (await campaign.observed(trial, world)).status == "running"
    ended = await campaign.forks.run(replace(trial, action="resume"))
    assert ended.status == "completed", ended.trace
    killed = await campaign.observed(trial, world)
    _, expected = await campaign.uninterrupted(*campaign.trial(corpus=paths))
    assert killed.result == expected.result
    assert len(killed.findings) >= 3
    check_whole(killed)
    assert await kept_documents(campaign.ledger) == total
