"""A small web about a harbour: three subjects, each with its own pages, so that a question of three facets has three branches."""

from collections.abc import Mapping
from html import escape
from typing import TypeAlias

#: By name: a title and paragraphs.
Pages: TypeAlias = Mapping[str, tuple[str, tuple[str, ...]]]

#: The first two of a subject answer its facet, in words that the question uses.
PAGES: Pages = {
    "tide-gauge": (
        "Tide gauge",
        (
            "A tide gauge is an instrument that measures the height of the sea against a fixed mark on land.",
            "The gauge of Ostby stands in a stilling well, where the waves of passing ships do not reach the float.",
            "Its readings are sent to the harbour office every ten minutes and are kept for ninety years.",
        ),
    ),
    "tide-gauge-history": (
        "History of the Ostby tide gauge",
        (
            "The tide gauge of Ostby was read by hand until 1931, when a paper drum took over the night hours.",
            "A tide gauge is checked against a levelling staff twice a year, because the quay itself may sink.",
        ),
    ),
    "lighthouse-lens": (
        "Lighthouse lens",
        (
            "A lighthouse lens bends the light of a small lamp into a narrow beam that is seen for twenty miles.",
            "It works with rings of prisms, which weigh far less than one thick piece of glass would.",
            "The lens of the Ostby lighthouse turns once in fifteen seconds on a bath of mercury.",
        ),
    ),
    "lighthouse-keepers": (
        "Keepers of the lighthouse",
        (
            "The keepers of the lighthouse cleaned the lens every morning with a linen cloth and spirit of wine.",
            "The lighthouse lens works without a keeper since 1974, when the lamp was given a light sensor.",
        ),
    ),
    "harbour-wall": (
        "Harbour wall",
        (
            "The harbour wall of Ostby was built between 1868 and 1874 from granite blocks of nine tons each.",
            "Divers set its lowest course of stones by hand, eleven metres below the water.",
        ),
    ),
    "harbour-repairs": (
        "Repairs of the harbour wall",
        (
            "After the storm of 1903 the harbour wall was built up again over a length of forty metres.",
            "Concrete was first used for a repair of the wall in 1926, and it cracked within two winters.",
        ),
    ),
}

QUESTION = (
    "What is a tide gauge, how does a lighthouse lens work, and when was the harbour wall built?"
)

_RESULTS_MAX = 2
_WORD_LENGTH_MIN = 4


def html(page: tuple[str, tuple[str, ...]]) -> str:
    """Return a page as a browser gets it."""
    title, paragraphs = page
    body = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{escape(title)}</title></head>"
        f"<body><main><article><h1>{escape(title)}</h1>{body}</article></main></body></html>"
    )


def matching(query: str, pages: Pages) -> list[str]:
    """Return the names of the pages that share most words with a query, best first."""
    wanted = {word for word in _words(query) if len(word) >= _WORD_LENGTH_MIN}
    shared = {
        name: len(wanted & set(_words(" ".join((page[0], *page[1])))))
        for name, page in pages.items()
    }
    found = sorted((name for name in pages if shared[name]), key=lambda name: (-shared[name], name))
    return found[:_RESULTS_MAX]


def ten_subjects() -> tuple[str, Pages]:
    """Return a question of ten facets and a web that answers each with two pages of its own."""
    things = [
        "anchor",
        "barge",
        "capstan",
        "dredger",
        "ferry",
        "galley",
        "hawser",
        "icebreaker",
        "jetty",
        "ketch",
    ]
    written: dict[str, tuple[str, tuple[str, ...]]] = {}
    for thing in things:
        name = thing.capitalize()
        written[f"{thing}-one"] = (
            name,
            (f"{name}: the {thing} of Ostby was built of oak in the year of the great frost.",),
        )
        written[f"{thing}-two"] = (
            name,
            (f"{name}: a second {thing} was built when the first had rotted away.",),
        )
    facets = ", ".join(f"when was the {thing} built" for thing in things)
    return f"{facets}?", written


def _words(text: str) -> list[str]:
    return [word.strip(".,:?!").casefold() for word in text.split()]
