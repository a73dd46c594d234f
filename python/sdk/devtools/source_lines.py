# SPDX-License-Identifier: BSD-3-Clause
"""Finds the line of a model's source in a stack trace."""

from __future__ import annotations

import re
from pathlib import Path

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def source_line(stack_trace: str, folders: bool = False) -> str:
    """`model.py:12`: the innermost line in a file outside installed packages and torch; "" if there is none.

    `folders` keeps the path of the file.
    """
    for file, line in reversed(_FRAME.findall(stack_trace)):
        parts = Path(file).parts
        if not file.startswith("<") and not {"site-packages", "dist-packages"} & set(parts) and "torch" not in parts:
            return f"{file if folders else Path(file).name}:{line}"
    return ""
