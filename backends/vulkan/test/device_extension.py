# SPDX-License-Identifier: BSD-3-Clause
"""Imported before `sdk`: its extension is then the one that SDK_PORTABLE_LIB names, which has the backend. Models and
helpers of other suites can be imported."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3] / folder) for folder in ("tests/python/vulkan", "tests", ".")]

import runtime_under_test  # noqa: E402 - it lies in tests

runtime_under_test.load()
