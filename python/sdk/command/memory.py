# SPDX-License-Identifier: BSD-3-Clause
"""The resident memory of this process."""

from __future__ import annotations

import contextlib
from pathlib import Path

_PROC = Path("/proc/self")


def peak_memory() -> int | None:
    """The peak in bytes; None on a system that has neither /proc nor `getrusage`, such as Windows."""
    status = _PROC / "status"
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on Apple's systems


def reset_peak_memory() -> int | None:
    """Resets the peak to the present size, if the system can. Returns the peak."""
    with contextlib.suppress(OSError):
        (_PROC / "clear_refs").write_text("5")
    return peak_memory()
