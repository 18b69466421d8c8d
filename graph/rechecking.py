"""Rechecks a run's sources for the command line; imported when one is asked for, because it reads documents and pages."""

from contextlib import AsyncExitStack
from typing import Any

import httpx

from graph.opening import open_ledger
from graph.settings import Settings
from graph.web import open_pages
from ledger import citations, runs
from ledger.citations import Citation
from nodes.anchoring import Anchor
from nodes.recheck import Rechecked, recheck
from nodes.tools.rereading import CorpusFiles, WebPages


async def rechecked(settings: Settings, name: str) -> list[dict[str, Any]]:
    """Recheck the sources of the run that a person means; each with its state and its citations. Raises as `recheck`."""
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(open_ledger(settings))
        async with ledger.transaction() as tx:
            run = await runs.find(tx, name)
            report = run.report_artifact
            cited = await citations.of_report(tx, run.run_id, report) if report else []
        pages = await open_pages(settings, stack, httpx.create_ssl_context())
        found = await recheck(ledger, run.run_id, [CorpusFiles(), WebPages(pages)])
    return [_shown(each, cited) for each in found]


def _shown(found: Rechecked, cited: list[Citation]) -> dict[str, Any]:
    return {
        "source_id": found.source.source_id,
        "uri": found.source.uri,
        "state": found.state,
        "reason": found.reason,
        "citations": [
            _citation(each, found.anchors[each.evidence_id])
            for each in cited
            if each.evidence_id in found.anchors
        ],
    }


def _citation(cited: Citation, now: Anchor) -> dict[str, Any]:
    is_there = now.state != "gone"
    return {
        "number": cited.number,
        "evidence_id": cited.evidence_id,
        "exact": cited.exact,
        "state": now.state,
        "start": now.start if is_there else None,
        "end": now.end if is_there else None,
        "similarity": round(now.similarity, 1) if is_there else None,
    }
