"""Words become the same terms in documents and in questions."""

from nodes.tools.terms import is_identifier, terms


def test_an_identifier_is_found_as_a_whole_and_by_its_parts() -> None:
    assert list(terms("max_connections")) == ["max_connections", "max", "connect"]
    assert list(terms("str.join()")) == ["str.join", "str", "join"]
    assert list(terms("--with-openssl")) == ["with-openssl", "openssl"]
    assert list(terms("ThreadPoolExecutor")) == ["threadpoolexecutor", "thread", "pool", "executor"]
    assert list(terms("W3C")) == ["w3c"]


def test_escaped_markdown_is_the_same_identifier() -> None:
    assert list(terms(r"max\_connections")) == list(terms("`max_connections`"))


def test_inflected_words_share_a_stem_and_empty_words_have_none() -> None:
    assert list(terms("How is the partitioning done?")) == list(terms("partitioned"))


def test_scripts_without_spaces_are_cut_into_pairs() -> None:
    assert list(terms("数据库系统")) == ["数据", "据库", "库系", "系统"]


def test_other_scripts_and_odd_characters_do_no_harm() -> None:
    assert list(terms("قاعدة البيانات")) == ["قاعدة", "البيانات"]
    assert list(terms("\x00 \ud800 ... ¶ 💡")) == []
    assert list(terms("x" * 1000)) == []


def test_names_from_code_are_told_from_words() -> None:
    assert all(
        is_identifier(name) for name in ("max_wal_size", "os.path", "JSON", "TypeError", "utf8")
    )
    assert not any(is_identifier(word) for word in ("table", "Where", "read-only"))
