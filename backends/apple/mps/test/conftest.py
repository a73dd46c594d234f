# SPDX-License-Identifier: BSD-3-Clause
"""The step `mps` of scripts/test.sh runs these tests."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[3] / "tests")]
