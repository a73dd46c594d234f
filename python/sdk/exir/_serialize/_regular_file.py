# SPDX-License-Identifier: BSD-3-Clause
"""Opens files that a user names. Refuses pipes, which would block until something is written, and devices, which may
have no end."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def regular(path: str | os.PathLike[str]) -> Path:
    """The path, unless it is a pipe, a device or a socket: those raise OSError."""
    found = Path(path)
    if found.exists() and not found.is_file() and not found.is_dir():
        problem = "expected a file, found a device or a pipe: write its content to a file first"
        raise OSError(errno.EINVAL, problem, str(found))
    return found


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The content of a file. Raises OSError, also for what `regular` refuses."""
    return regular(path).read_bytes()
