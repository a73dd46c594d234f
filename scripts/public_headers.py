# SPDX-License-Identifier: BSD-3-Clause
"""Lists the public C++ headers: those that tests/surface includes one by one."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def public_headers() -> list[Path]:
    """Absolute paths, sorted, without headers for users' own tests."""
    found = set()
    for source in (ROOT / "tests" / "surface").glob("*.cpp"):
        match = re.search(r"#include <(executorch/.*)>", source.read_text(encoding="utf-8"))
        if match and not re.search(r"/test/|/testing_util/", match[1]):
            found.add(ROOT / "sdk" / "cpp" / match[1])
    return sorted(found)
