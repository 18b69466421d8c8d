"""What a notebook shows of documents is text, whatever they hold."""

from graph.display import Table, report_html


def test_markup_and_scripts_of_documents_are_shown_and_not_obeyed() -> None:
    shown = report_html("# Report\n\n<script>alert(1)</script> [x](javascript:alert(1))")
    assert "<h1>Report</h1>" in shown
    assert "<script>" not in shown
    assert 'href="javascript' not in shown


def test_a_table_escapes_its_values() -> None:
    assert "<td>&lt;b&gt;</td>" in Table(("title",), (("<b>",),))._repr_html_()
