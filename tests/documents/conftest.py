# SPDX-License-Identifier: BSD-3-Clause
"""What several tests of pages use."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_programs import build_all


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of the C++ blocks' programs, each under the name of its block."""
    return build_all()
