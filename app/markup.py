"""The page's own small pieces of HTML. Everything a person typed is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> str:
    """A table, or a sentence where there is nothing."""
    if not rows:
        return paragraph(empty)
    head = "".join(f"<th scope='col'>{escape(cell)}</th>" for cell in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    content = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f"<div class='timbre-table'><table>{content}</table></div>"


def paragraph(text: str) -> str:
    return f"<p role='status'>{escape(text)}</p>"
