# SPDX-License-Identifier: BSD-3-Clause
"""The code blocks of a Markdown page.

A comment on the line before a block changes what is done with it:

    <!-- file: NAME -->                 written to NAME; later blocks use it
    <!-- fails -->                      must exit with a status that is not 0
    <!-- not run here: WHERE IT IS -->  left out, because something else runs it
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RUN = ("python", "bash", "cpp", "cmake")
SHOWN = ("text", "json", "js", "kotlin", "swift", "")
_COMMENT = re.compile(r"<!-- (?P<kind>file|fails|not run here)(: (?P<text>.+?))? -->")


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: Path
    line: int  # of its first line of code
    language: str
    code: str
    kind: str = "run"  # or "file", "fails", "not run here"
    text: str = ""

    @property
    def name(self) -> str:
        """A name that is unique among all pages, and valid for a CMake target."""
        return f"{self.page.stem.lower()}_{self.line}"


def blocks(page: Path) -> list[Block]:
    """All blocks of `page`, in order. Raises ValueError for one that is never closed or of an unknown language."""
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].startswith("```"):
            at += 1
            continue
        language = lines[at][3:].strip()
        if language not in RUN + SHOWN:
            raise ValueError(f"{page}:{at + 1}: a block of `{language}`; known are {', '.join(RUN + SHOWN)}.")
        try:
            end = lines.index("```", at + 1)
        except ValueError:
            raise ValueError(f"{page}:{at + 1}: the block is never closed.") from None
        comment = _COMMENT.fullmatch(lines[at - 1]) if at else None
        kind, text = (comment["kind"], comment["text"] or "") if comment else ("run", "")
        if language in RUN:
            found.append(Block(page, at + 2, language, "\n".join(lines[at + 1 : end]) + "\n", kind, text))
        at = end + 1
    return found
