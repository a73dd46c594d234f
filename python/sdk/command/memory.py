# SPDX-License-Identifier: BSD-3-Clause
"""The resident memory of this process."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

_PROC = Path("/proc/self")


def peak_memory() -> int | None:
    """The peak in bytes; None on a system that has neither /proc nor `getrusage`, such as Windows."""
    with contextlib.suppress(OSError):
        for line in (_PROC / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return None
    # Apple's systems count bytes, others KiB.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def reset_peak_memory() -> int | None:
    """Resets the peak to the present size, if the system can. Returns the peak."""
    with contextlib.suppress(OSError):
        (_PROC / "clear_refs").write_text("5")
    return peak_memory()
