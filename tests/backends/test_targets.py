# SPDX-License-Identifier: BSD-3-Clause
"""The columns of the suite that environment variables add, and programs that run in another process."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import pytest
import torch

from backends import targets
from backends.cases import call, within
from backends.conformance import LARGEST_ANGLE, Outcome, examine_operator
from backends.page_writer import text
from backends.targets import Target
from declared import default


@pytest.fixture(autouse=True)
def nothing_is_cached() -> Iterator[None]:
    targets.targets.cache_clear()
    yield
    targets.targets.cache_clear()


def test_an_executor_runner_adds_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(targets.OTHER_PROCESSOR, "arm=emulator -cpu max runner")
    column = targets.targets()[-1]
    assert column.name == f"{default().name} on arm" and column.command == "emulator -cpu max runner"
    assert not column.has_our_threads


@pytest.mark.parametrize("variable", [targets.OTHER_PROCESSOR, targets.INTERPRETED])
def test_a_variable_of_another_form_is_an_error(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "arm")
    with pytest.raises(ValueError, match=f"{variable} is 'arm'; expected NAME=VALUE"):
        targets.targets()


def test_the_page_names_what_it_can_write() -> None:
    with pytest.raises(ValueError, match=r"^reluu.default: expected operators .*, or columns of .*"):
        text(["reluu.default"])


RUNNER = os.environ.get("SDK_EXECUTOR_RUNNER", "")


@pytest.mark.skipif(not RUNNER, reason="executor_runner is not built (set SDK_EXECUTOR_RUNNER)")
@pytest.mark.parametrize("name", ["add.Tensor", "topk.default", "nonzero.default"])  # layouts; dtypes; a dynamic size
def test_programs_run_in_another_process(name: str) -> None:
    cell = examine_operator(name, Target("here", default(), RUNNER))
    assert cell.outcome in (Outcome.PARTLY, Outcome.REFUSED), cell.reasons


def test_large_angles_become_0_where_a_backend_does_not_promise_their_cosine() -> None:
    one = within(call(torch.tensor([4096.0, -5000.0, math.inf, math.nan]), 2), LARGEST_ANGLE)
    assert torch.equal(one.args[0].nan_to_num(7), torch.tensor([4096.0, 0.0, torch.finfo().max, 7.0]))
    assert one.args[1] == 2
