"""Turns hits and the documents that were read for them into the passages that a researcher works on.

A search of a corpus knows where in a document its hits stand; a search of the web knows only the page. Both come out as
passages: the pages are indexed as they were read and searched with the same queries.
"""

from collections.abc import Mapping, Sequence

from nodes.material import Hit, Passage
from nodes.tools.index import search_texts
from nodes.tools.passages import Readable, merge_hits, widen

# Places in all the pages of a round.
PAGE_HITS_MAX = 8


def passages_of(
    hits: Sequence[Hit],
    rarity: Mapping[str, float],
    readable: Mapping[str, Readable],
    queries: Sequence[str],
) -> tuple[tuple[Passage, ...], Mapping[str, float]]:
    """Return the passages around the hits, best first, and the rarity of the queries' terms.

    Where a term's rarity is known from the corpus it stays; the pages supply those of the others.
    """
    pages = {
        hit.uri: readable[hit.uri] for hit in hits if hit.start is None and hit.uri in readable
    }
    placed = [hit for hit in hits if hit.start is not None]
    if not pages:
        return widen(placed, readable), rarity
    on_pages = search_texts(list(pages.values()), queries, PAGE_HITS_MAX)
    found = merge_hits([placed, on_pages.hits], len(placed) + PAGE_HITS_MAX)
    return widen(found, readable), {**on_pages.rarity, **rarity}
