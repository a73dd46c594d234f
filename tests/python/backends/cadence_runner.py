# SPDX-License-Identifier: BSD-3-Clause
"""Where the C++ program cadence_runner is: the variable SDK_CADENCE_RUNNER names it, or a build folder contains it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]


def _find() -> Path | None:
    if named := os.environ.get("SDK_CADENCE_RUNNER"):
        return Path(named).resolve()
    folders = ("*/backends/cadence/cadence_runner", "build/*/backends/cadence/cadence_runner")
    return next((path for pattern in folders for path in _ROOT.glob(pattern)), None)


RUNNER = _find()
needs_runner = pytest.mark.skipif(RUNNER is None, reason="cadence_runner is not built (set SDK_CADENCE_RUNNER)")
