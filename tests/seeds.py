# SPDX-License-Identifier: BSD-3-Clause
"""A pytest plugin: the same test draws the same numbers in every run, whichever tests run before it.

The generators of `random`, NumPy and PyTorch are seeded before a module is imported, a fixture is made and a test is
called, each with a number that its name gives. A test may set another seed.
"""

from __future__ import annotations

import random
import sys
import zlib
from types import ModuleType
from typing import Any

import pytest


def _nothing(seed: int) -> None:
    """Replaces the function that seeds a kind of GPU."""


def _leave_out_missing_gpus(torch: ModuleType) -> None:
    """Makes torch.manual_seed() skip missing kinds of GPUs. For these, PyTorch would record the seed and the stack of
    the caller, which takes several milliseconds in each test."""
    for device in (torch.cuda, torch.xpu, torch.mtia):
        if device.manual_seed_all is not _nothing and not device.is_available():
            device.manual_seed_all = _nothing


def _seed(name: str) -> None:
    """Seeds the imported modules only, because importing PyTorch takes seconds."""
    seed = zlib.crc32(name.encode())
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed)
    if torch := sys.modules.get("torch"):
        _leave_out_missing_gpus(torch)
        torch.default_generator.manual_seed(seed)


def pytest_collectstart(collector: pytest.Collector) -> None:
    if isinstance(collector, pytest.Module) and "\nimport torch\n" in collector.path.read_text(encoding="utf-8"):
        import torch  # noqa: F401  (its first seed differs in each process)
    _seed(collector.name)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> None:
    _seed(fixturedef.argname)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    _seed(pyfuncitem.name)
