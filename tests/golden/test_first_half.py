"""Half of the golden histories: real runs of earlier code go on with this code as they went on with their own."""

import pytest

from tests.golden.gate import COMMITS, replayed


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("commit", COMMITS)
async def test_golden_histories_replay(
    commit: str, part: int, server_url: str, template: str
) -> None:
    """From every checkpoint of a run the same step follows, asks and sends the same, and nobody is called."""
    await replayed(commit, part, server_url, template)
