# SPDX-License-Identifier: BSD-3-Clause
"""The original's environment, as for the tests in tests/interop; the step `interop` runs these tests, too."""

from __future__ import annotations

from interop.originals import in_original as in_original
from interop.originals import oracle as oracle
from interop.originals import oracle_python as oracle_python
