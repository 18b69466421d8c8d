"""How a review is handed from the step that asks it to the review node that waits for it."""

from collections.abc import Sequence

from ledger.reviews import Kind

# The summary is for a glance, in Studio or a terminal; `perdure reviews RUN --json` shows everything.
SUMMARY_LINES_MAX = 12
SUMMARY_LINE_CHARACTERS_MAX = 120


def ask(kind: Kind, review_id: str, lines: Sequence[str]) -> dict[str, str]:
    """Return the state that makes the review node wait for this review."""
    shown = [line[:SUMMARY_LINE_CHARACTERS_MAX] for line in lines[:SUMMARY_LINES_MAX]]
    if len(lines) > SUMMARY_LINES_MAX:
        shown.append(f"… and {len(lines) - SUMMARY_LINES_MAX} more")
    return {"kind": kind, "review_id": review_id, "summary": "\n".join(shown)}
