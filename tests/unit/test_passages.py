"""Texts are cut into passages at exact positions, under their headings."""

from hypothesis import given
from hypothesis import strategies as st

from nodes.material import Document, Hit
from nodes.tools.passages import (
    LENGTH_MAX,
    WORDS_MAX,
    Readable,
    merge_hits,
    path,
    split_passages,
    widen,
)
from nodes.tools.sentences import sentences
from nodes.tools.structure import blocks

MARKDOWN = """# Manual

Opening words of the manual.

## Limits

A table holds at most 32 TB. A row holds at most 1,600 columns, e.g. this many.

| item | limit |
|---|---|
| identifier | 63 bytes |

```
SELECT 1;
SELECT 2;
```

### Sizes

- First item. It goes on
  in a second line.
- Second item.
"""

UNDERLINED = """Numbers
*******

Integers are unlimited.

Literals
========

They have no sign.
"""


def document(uri: str = "a.html", title: str = "Title") -> Document:
    return Document(uri, title, f"bytes:{uri}", f"text:{uri}", "test 1")


def cut(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(text[piece.start : piece.end], piece.headings) for piece in split_passages(text)]


def test_passages_stand_under_their_headings() -> None:
    found = cut(MARKDOWN)
    assert [headings for _, headings in found] == [
        ("Manual",),
        ("Manual", "Limits"),
        ("Manual", "Limits", "Sizes"),
    ]
    assert found[0][0] == "Opening words of the manual."


def test_underlined_headings_are_read_as_in_restructuredtext() -> None:
    assert cut(UNDERLINED) == [
        ("Integers are unlimited.", ("Numbers",)),
        ("They have no sign.", ("Numbers", "Literals")),
    ]


def test_a_term_that_is_described_counts_as_a_heading_of_its_description() -> None:
    text = "## Settings\n\n`port` (`integer`)\n\nThe TCP port.\n\n- \nbisect.insort(*a*)¶\n- Insert it.\n"
    assert [headings[-1] for _, headings in cut(text)] == ["port (integer)", "bisect.insort(a)"]


def test_long_sections_are_cut_between_sentences() -> None:
    text = " ".join(f"Sentence number {n} has exactly eight words here." for n in range(60))
    pieces = [text[piece.start : piece.end] for piece in split_passages(text)]
    assert len(pieces) > 1
    assert all(len(piece.split()) <= WORDS_MAX and piece.endswith(".") for piece in pieces)


@given(st.text(alphabet="ab .\n#-|`=*¶。数\u0635\u0628", max_size=400) | st.text(max_size=300))
def test_any_text_is_cut_into_ordered_stretches_of_itself(text: str) -> None:
    """Positions are exact, passages keep their order, and nothing but white space stands at their ends."""
    last = 0
    for piece in split_passages(text):
        assert last <= piece.start < piece.end <= len(text)
        assert text[piece.start : piece.end].strip() == text[piece.start : piece.end]
        assert piece.end - piece.start <= LENGTH_MAX
        last = piece.end


def test_a_text_without_spaces_is_cut_all_the_same() -> None:
    pieces = list(split_passages("字" * 10_000))
    assert len(pieces) == 10_000 // LENGTH_MAX


def test_abbreviations_and_numbers_do_not_end_a_sentence() -> None:
    text = "Use it, e.g. Python 3.11. It is fast (see No. 5). 它很快。真的。"
    found = [text[start:end] for start, end in sentences(text, 0, len(text))]
    assert found == ["Use it, e.g. Python 3.11.", "It is fast (see No. 5).", "它很快。", "真的。"]


def test_hits_of_several_queries_are_merged_by_their_ranks() -> None:
    def hit(start: int, score: float) -> Hit:
        return Hit("a", "A", score, start, start + 1)

    merged = merge_hits([[hit(1, 9.0), hit(2, 8.0)], [hit(2, 3.0), hit(3, 1.0)]], 2)
    assert [(found.start, found.score <= 1.0) for found in merged] == [(2, True), (1, True)]
    assert merge_hits([], 5) == ()


def test_a_hit_brings_its_neighbours_under_the_same_heading() -> None:
    paragraphs = [" ".join(f"word{n}x{k}" for k in range(100)) + "." for n in range(4)]
    text = "# One\n\n" + "\n\n".join(paragraphs) + "\n\n# Two\n\nOther matter."
    pieces = list(split_passages(text))
    hit = Hit("a.html", "Title", 1.0, pieces[3].start, pieces[3].end)
    passages = widen([hit], {"a.html": Readable(document(), text)})
    assert [(found.start, found.score) for found in passages] == [
        (pieces[3].start, 1.0),
        (pieces[2].start, 0.5),
    ]
    assert all(found.text == text[found.start : found.end] for found in passages)
    assert passages[0].title == "Title › One"


def test_hits_that_cannot_be_read_give_no_passage() -> None:
    hits = [Hit("gone.html", "Gone", 1.0, 0, 5), Hit("a.html", "A", 1.0)]
    assert widen(hits, {"a.html": Readable(document(), "Some text.")}) == ()


def test_a_heading_that_repeats_the_title_is_named_once() -> None:
    assert path("1. Limits", ("Limits", "Sizes")) == "1. Limits › Sizes"


def test_a_bare_term_heads_its_description_and_is_quoted_with_it() -> None:
    text = "## Settings\n\nport (integer)\n\nThe TCP port.\n\nTable 1. Sizes\n\n| a | 1 |\n"
    assert cut(text) == [(text[text.index("port") : -1], ("Settings", "port (integer)"))]


def test_indented_code_is_not_cut_into_sentences() -> None:
    text = "Call it so:\n\n    a.b(1). C.d(2)\n    return e\n"
    assert [block.kind.value for block in blocks(text)] == ["prose", "code"]
