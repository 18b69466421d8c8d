"""A report as text, for targets that take no bytes."""

from nodes.options import BadInput


def as_text(content: bytes) -> str:
    """Return the report as text; raises BadInput where it is none."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise BadInput("a report that is no UTF-8 cannot be published there") from error
