# SPDX-License-Identifier: BSD-3-Clause
"""Output for the terminal and in Markdown: tables, and text from untrusted files."""

from __future__ import annotations

from collections.abc import Sequence


def printable(text: str) -> str:
    """Text from a file without control characters, which a terminal would execute."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def columns(rows: Sequence[Sequence[str]], indent: int = 2, right: Sequence[int] = ()) -> list[str]:
    """Aligns cells in columns. The columns in `right` are aligned at their right end."""
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
    """A table in GitHub's Markdown. The columns in `right` are aligned to the right."""
    lines = [head, ["---:" if i in right else "---" for i in range(len(head))], *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in lines) + "\n"


def _cell(text: str) -> str:
    """A cell in which characters with a meaning in Markdown or HTML are escaped."""
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|")):
        text = text.replace(char, entity)
    return " ".join(printable(text.replace("\n", " ")).split())
