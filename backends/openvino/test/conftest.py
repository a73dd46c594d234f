# SPDX-License-Identifier: BSD-3-Clause
"""The tests of OpenVINO need its package: scripts/test.sh openvino installs it and runs them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # the examples
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))  # the suites that backends share

from openvino_lowering import Lowered, lower

from interop.originals import in_original as in_original
from interop.originals import oracle as oracle
from interop.originals import oracle_python as oracle_python

torch.set_num_threads(1)  # tensors are small, and several workers run at once


@pytest.fixture
def lowered() -> Callable[..., Lowered]:
    """Lowers a model for OpenVINO and loads it."""
    return lower


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Without OpenVINO, all tests fail instead of being skipped, because the package is their subject."""
    import openvino  # noqa: F401
