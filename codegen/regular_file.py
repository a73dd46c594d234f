# SPDX-License-Identifier: BSD-3-Clause
"""Reads files that a user names. The build runs the code generator without the rest of the SDK, which has its own
function for this."""

from __future__ import annotations

import errno
import stat
from pathlib import Path


def read_file(path: Path) -> bytes:
    """The content. Raises OSError, also for pipes, which would make the build wait, and for devices."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "expected a file, found a folder, a device or a pipe", str(path))
    return path.read_bytes()


def read_text(path: Path) -> str:
    """The content as text. Raises OSError, also if it is not UTF-8."""
    try:
        return read_file(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise OSError(
            errno.EINVAL, f"expected text in UTF-8, found other bytes from byte {error.start} on", str(path)
        ) from error
