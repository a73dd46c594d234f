# SPDX-License-Identifier: BSD-3-Clause
"""The original's environment, as for the tests in tests/interop; the step `interop` runs these tests, too."""

from __future__ import annotations

from interop.conftest import in_original as in_original
from interop.conftest import oracle as oracle
from interop.conftest import oracle_python as oracle_python
