# SPDX-License-Identifier: BSD-3-Clause
"""Models that the end-to-end, interop and benchmark suites share.

Each model is plain PyTorch, seeded, and small enough to export in seconds, so that the same definitions can be
exported by this SDK and by the original in its own environment. Expected values always come from eager PyTorch.
"""

from __future__ import annotations

from zoo.case import CASES, Case, Method, build

__all__ = ["CASES", "Case", "Method", "build"]

# Importing the modules fills CASES.
from zoo import control, in_place, language, sequence, structure, vision  # noqa: F401
