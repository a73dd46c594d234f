# SPDX-License-Identifier: BSD-3-Clause
"""The Kotlin code of the pages is the code that the JVM tests compile and run."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TESTED = ROOT / "sdk/android/executorch_android/src/test/java/org/pytorch/executorch/GuideTest.kt"


def test_docs02_gs12_the_code_of_the_guide_is_tested() -> None:
    blocks = []
    for page in ("android.md", "getting_started.md"):
        found = re.findall(r"```kotlin\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)
        assert found, page
        blocks += found
    tested = TESTED.read_text(encoding="utf-8")
    for block in blocks:
        for part in re.sub(r"^import .*\n+", "", block, flags=re.MULTILINE).strip().split("\n\n"):
            assert part in tested, f"GuideTest.kt does not have:\n{part}"
