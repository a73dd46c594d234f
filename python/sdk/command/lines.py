# SPDX-License-Identifier: BSD-3-Clause
"""Text for the terminal and for Markdown: tables, and text of files that cannot be trusted."""

from __future__ import annotations

from collections.abc import Sequence


def printable(text: str) -> str:
    """Text from a file without control characters, which a terminal would obey."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def columns(rows: Sequence[Sequence[str]], indent: int = 2, right: Sequence[int] = ()) -> list[str]:
    """Lines with the cells in columns; those of the columns `right` end at one place."""
    count = max((len(row) for row in rows), default=0)
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(count)]
    return [
        (
            " " * indent
            + "  ".join(cell.rjust(widths[i]) if i in right else cell.ljust(widths[i]) for i, cell in enumerate(row))
        ).rstrip()
        for row in rows
    ]


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table of GitHub's Markdown; the columns `right` are aligned to the right."""
    lines = [head, ["---:" if i in right else "---" for i in range(len(head))], *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in lines) + "\n"


def _cell(text: str) -> str:
    """A cell as it is: characters that Markdown and HTML have a meaning for are escaped."""
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|")):
        text = text.replace(char, entity)
    return " ".join(printable(text.replace("\n", " ")).split())
