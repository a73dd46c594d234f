# SPDX-License-Identifier: BSD-3-Clause
"""What errors about a part of a model say: the line of the user's code, and what was being done."""

from __future__ import annotations

import re

from torch.fx import Node

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>[^\n]+)\n\s*(?P<code>[^\n]*)')


def source_of(node: object) -> str:
    """Where in the user's code a node comes from, as a line to append to a message; empty if that is not known."""
    trace = node.meta.get("stack_trace") if isinstance(node, Node) else None
    frames = list(_FRAME.finditer(trace)) if trace else []
    if not frames:
        return ""
    # Frames of generated code, which control flow is captured through, show nobody anything.
    last = next((f for f in reversed(frames) if not f["file"].startswith("<")), frames[-1])
    return f'\n{node} comes from: File "{last["file"]}", line {last["line"]}, in {last["function"]}: {last["code"]}'


def add_context(error: BaseException, text: str) -> None:
    """Adds a paragraph to what an error says, below its message."""
    if hasattr(error, "add_note"):
        error.add_note(text)
    elif error.args and isinstance(error.args[0], str):  # Python 3.10 has no notes.
        error.args = (f"{error.args[0]}\n{text}", *error.args[1:])
