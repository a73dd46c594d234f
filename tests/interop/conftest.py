# SPDX-License-Identifier: BSD-3-Clause
"""The original's environments, for the tests of this folder."""

from __future__ import annotations

from interop.originals import bench_python as bench_python
from interop.originals import in_original as in_original
from interop.originals import oracle as oracle
from interop.originals import oracle_python as oracle_python
