"""A page that says of itself that it is for those who pay is no content; nothing less than its own word counts."""

import pytest

from nodes.tools.fetch.paywall import is_paywalled


def page(stated: str) -> bytes:
    return (
        f'<html><head><script type="application/ld+json">{stated}</script></head></html>'.encode()
    )


@pytest.mark.parametrize(
    ("stated", "paywalled"),
    [
        ('{"@type": "NewsArticle", "isAccessibleForFree": false}', True),
        ('{"@type": "NewsArticle", "isAccessibleForFree": "False"}', True),
        ('[{"@type": "WebSite"}, {"isAccessibleForFree": "http://schema.org/False"}]', True),
        ('{"@graph": [{"isAccessibleForFree": false}]}', True),
        ('{"isAccessibleForFree": true}', False),
        ('{"isAccessibleForFree": true, "hasPart": {"isAccessibleForFree": false}}', False),
        ('{"isAccessibleForFree": 0}', False),
        ('{"headline": "isAccessibleForFree: false"}', False),
        ('{"isAccessibleForFree": false', False),
        ("[" * 100_000 + "isAccessibleForFree", False),
    ],
)
def test_only_what_a_page_states_of_the_whole_counts(stated: str, paywalled: bool) -> None:
    assert is_paywalled(page(stated)) == paywalled


def test_a_page_that_talks_about_it_is_not_paywalled() -> None:
    assert not is_paywalled(b'<p>Set <code>"isAccessibleForFree": false</code> for such pages.</p>')


def test_beginnings_without_an_end_are_gone_through_once() -> None:
    """A pattern that looked for each one's end would take hours for this page."""
    begun = b'<script type="application/ld+json">' * 200_000
    assert not is_paywalled(begun + b"isAccessibleForFree")
    assert not is_paywalled(b"<script" * 500_000 + b"isAccessibleForFree")
