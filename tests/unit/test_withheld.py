"""What policy keeps from a model elsewhere is not told to it by titles and addresses either."""

from nodes.material import Hit
from nodes.read import apart
from nodes.sensitive import SensitiveRule

HITS = [
    Hit("https://intra/merger.html", "Plans", 1.0),
    Hit("https://example.org/beans.html", "Beans", 0.9),
    Hit("https://example.org/x.html", "The merger with Ostby", 0.8),
    Hit("https://example.org/ostby.html", "Notes", 0.7),
]
RULES = [
    SensitiveRule(name="intranet", label="https://intra/*"),
    SensitiveRule(name="ostby", pattern="(?i)ostby"),
]


def test_a_document_is_not_named_to_a_model_by_an_address_or_title_that_policy_withholds() -> None:
    shown, kept = apart(HITS, RULES)
    assert [hit.uri for hit in shown] == ["https://example.org/beans.html"]
    assert kept == [HITS[0].uri, HITS[2].uri, HITS[3].uri]


def test_without_a_rule_all_are_shown() -> None:
    assert apart(HITS, ()) == (tuple(HITS), [])
