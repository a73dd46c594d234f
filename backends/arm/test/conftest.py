# SPDX-License-Identifier: BSD-3-Clause
"""The step `arm` of scripts/test.sh runs these tests, with Arm's packages and a runtime that has VGF's delegate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))  # the suites that backends share

import runtime_under_test
from interop.originals import in_original as in_original
from interop.originals import oracle as oracle
from interop.originals import oracle_python as oracle_python

runtime_under_test.load()  # before anything of `sdk` is imported

torch.set_num_threads(1)  # tensors are small, and several workers run at once


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Ends the session with an error if the reference model is not installed, instead of skipping tests."""
    import tosa_reference_model  # noqa: F401
