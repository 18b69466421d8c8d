"""Goes on with a sleeping run and approves what is asked, by whatever code is first on the path; run by itself.

`python goes_on.py RUN`; prints its status, its version and the kinds of reviews that were asked, as JSON.
"""

import asyncio
import json
import sys
from uuid import UUID

from graph.runs import decide, resume_run
from graph.runtime import open_runtime
from graph.settings import load_settings
from ledger import reviews
from ledger.questions import Decision

_TURNS_MAX = 5


async def main(run_id: UUID) -> None:
    """Work the run to its end."""
    async with open_runtime(load_settings()) as runtime:
        found = await resume_run(runtime, run_id)
        for _ in range(_TURNS_MAX):
            for each in found.reviews:
                await decide(runtime, each.review_id, Decision(choice="approve", decided_by="ada"))
            if found.run.status != "paused":
                break
            found = await resume_run(runtime, run_id)
        async with runtime.ledger.transaction() as tx:
            asked = [[each.kind, each.status] for each in await reviews.newest_first(tx, run_id)]
    told = {"status": found.run.status, "version": found.run.workflow_version, "reviews": asked}
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main(UUID(sys.argv[1])))
