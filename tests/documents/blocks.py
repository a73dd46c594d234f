# SPDX-License-Identifier: BSD-3-Clause
"""The code blocks of a Markdown page.

A comment on the line before a block changes what is done with the block:

    <!-- file: NAME -->                 it is written to the file NAME, which later blocks use
    <!-- fails -->                      a bash block: it must exit with a status other than 0
    <!-- not run here: REASON -->       it is not run; REASON is what runs it, or why nothing does
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
        """A name for a CMake target; unique among pages whose file names differ by more than case."""
        return f"{self.page.stem.lower()}_{self.line}"


def blocks(page: Path) -> list[Block]:
    """The blocks of `page` in a language of RUN, in order. Raises ValueError for a block that is never closed or of an
    unknown language."""
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
