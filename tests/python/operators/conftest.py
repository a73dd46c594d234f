# SPDX-License-Identifier: BSD-3-Clause
"""Lets these tests run on another build of the runtime: SDK_PORTABLE_LIB names its extension module, for example one
with sanitizers (`scripts/test.sh operators-asan`). As that takes long, SDK_PASSED_TESTS may name a file: tests that
pass are added to it, and those in it are not run again."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.opinfo import core

import runtime_under_test

runtime_under_test.load()

_passed = Path(os.environ["SDK_PASSED_TESTS"]) if "SDK_PASSED_TESTS" in os.environ else None
if _passed is not None:
    _passed.touch()
    # A process that replaces a crashed one leaves out the same tests.
    os.environ.setdefault("SDK_PASSED_BEFORE", str(len(_passed.read_text().splitlines())))


@pytest.fixture(autouse=True)
def one_thread_without_warnings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Uses one thread, because samples are small, and ignores warnings, because they call deprecated functions. Also
    turns off PyTorch's search for a unittest case on the stack, which took most of the time of these tests."""
    for module in (common_utils, core):
        monkeypatch.setattr(module, "extract_test_fn", lambda: None)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.set_num_threads(threads)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out tests that passed before."""
    if _passed is not None:
        passed = set(_passed.read_text().splitlines()[: int(os.environ["SDK_PASSED_BEFORE"])])
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Records the tests that pass, in the process that receives all reports."""
    if _passed is not None and "PYTEST_XDIST_WORKER" not in os.environ and report.when == "call" and report.passed:
        with _passed.open("a") as file:
            file.write(f"{report.nodeid}\n")
