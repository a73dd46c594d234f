# SPDX-License-Identifier: BSD-3-Clause
"""The conftest.py of the copied tests: each test begins with the same seed."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

import runtime_under_test

runtime_under_test.load()  # before anything of `sdk` is imported
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _same_seed() -> None:
    random.seed(0)
    torch.manual_seed(0)


@pytest.fixture
def cortex_m_target() -> Any:
    from sdk.backends.cortex_m.target_config import CortexM, CortexMTargetConfig

    return CortexMTargetConfig(CortexM.M55)
