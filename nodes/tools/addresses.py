"""When two addresses are one page, and two queries one search: the forms in which they are compared, kept and asked.

The form is what httpx makes of an address (RFC 3986 section 6, IDNA 2008) with a few rules more, because the form is
also what is fetched, and must name the same page to its server. So the order of the query stays: servers may sign it
or read it in order, and of two orders of one query we have met none in results. url-normalize merges `//` in paths,
which are two addresses to a server; w3lib sorts and rewrites the query, which breaks signed ones.
"""

import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import unquote_plus

import httpx

# What campaigns append; no page is chosen by it. The list is that of the senders' own manuals: Google Analytics and
# Ads, Meta, Microsoft, Yandex, X, TikTok, LinkedIn, Mailchimp, HubSpot, Marketo, Vero, Omeda, Instagram, Piwik.
TRACKERS = frozenset(
    {
        *("_ga", "_gl", "_hsenc", "_hsmi", "dclid", "fbclid", "gad_source", "gbraid", "gclid", "gclsrc"),
        *("igshid", "li_fat_id", "mc_cid", "mc_eid", "mkt_tok", "msclkid", "oly_anon_id", "oly_enc_id"),
        *("srsltid", "ttclid", "twclid", "vero_id", "wbraid", "yclid"),
    }
)  # fmt: skip
PORT_MAX = 65_535
_TRACKER_PREFIXES = ("utm_", "pk_", "mtm_")

# RFC 3986 section 2.3: these mean the same whether they are escaped or not.
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")


class NoAddress(ValueError):
    """A text that is the address of no web page."""


def canonical_address(address: str) -> str:
    """Return the form of a web address in which it is compared and fetched.

    Scheme and host in lower case, the host in Punycode and without a final dot; no default port, no fragment; `.` and
    `..` of the path resolved; escapes in one spelling; parameters that only tell where a reader came from left out.
    Raises NoAddress.
    """
    try:
        url = httpx.URL(address)
        if url.scheme not in {"http", "https"} or not url.host:
            raise NoAddress(address)
        path, _, query = url.raw_path.decode("ascii").partition("?")
        path, query = _one_spelling(path) or "/", _without_trackers(_one_spelling(query))
        # Parsed once more, because `%2e%2e` has become `..`, which the parser resolves.
        raw_path = f"{path}?{query}" if query else path
        host = url.raw_host.decode("ascii").lower().rstrip(".")
        plain = url.copy_with(host=host, raw_path=raw_path.encode(), fragment=None)
        if not plain.host or (plain.port or 0) > PORT_MAX:
            raise NoAddress(address)
        return str(httpx.URL(str(plain)))
    except (httpx.InvalidURL, UnicodeError) as error:
        raise NoAddress(address) from error


def canonical_query(query: str) -> str:
    """Return the form of a query in which two are compared: one case, NFKC, single spaces."""
    # Folding may take a composed character apart, and compatible characters bring capitals of their own.
    folded = unicodedata.normalize("NFKC", query).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def distinct_queries(queries: Sequence[str]) -> list[str]:
    """Return the queries without those that ask the same again, each as it was first spelled."""
    first: dict[str, str] = {}
    for query in queries:
        first.setdefault(canonical_query(query), query)
    return list(first.values())


def _one_spelling(text: str) -> str:
    def spelled(escape: re.Match[str]) -> str:
        character = chr(int(escape[1], 16))
        return character if character in _UNRESERVED else escape[0].upper()

    return _ESCAPE.sub(spelled, text)


def _without_trackers(query: str) -> str:
    return "&".join(part for part in query.split("&") if part and not _is_tracker(part))


def _is_tracker(part: str) -> bool:
    name = unquote_plus(part.partition("=")[0]).lower()
    return name in TRACKERS or name.startswith(_TRACKER_PREFIXES)
