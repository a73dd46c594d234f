# SPDX-License-Identifier: BSD-3-Clause
"""Import this module before `sdk`: `sdk` then uses the extension that SDK_PORTABLE_LIB names, which has the backend.
Models and helpers of other suites can then be imported, too."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(folder) for folder in (HERE / "python", ROOT / "tests", ROOT)]

import runtime_under_test  # noqa: E402 - in the folder tests

runtime_under_test.load()
