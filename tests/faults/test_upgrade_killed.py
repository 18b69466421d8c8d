"""Whoever upgrades many runs is killed over it, again and again: each run is migrated once, and goes on to its end."""

from pathlib import Path

import pytest

from tests.support.runtimes import runtime_on
from tests.support.upgrades import finished, moments, sleeping, upgraded, wrongly_migrated
from tests.support.variants import LATER

RUNS, KILLS = 40, 3


@pytest.mark.slow
async def test_runs_are_migrated_once_however_often_the_command_is_killed(
    database_url: str, tmp_path: Path
) -> None:
    asleep = await sleeping(database_url, tmp_path, RUNS)
    # A run that a killed process held is left by the next, and taken when its lease has run out.
    killed, _ = await upgraded(
        database_url, tmp_path / "home", moments(KILLS, RUNS // (KILLS + 1)), rest=20
    )
    assert killed == KILLS
    async with runtime_on(database_url, tmp_path / "home", definition=LATER) as runtime:
        assert not await wrongly_migrated(runtime, asleep)
        assert [await finished(runtime, each) for each in asleep[:3]] == ["completed"] * 3
