# SPDX-License-Identifier: BSD-3-Clause
"""What VulkanPartitioner lowers, run on the device: the operators, networks and dynamic shapes of test/python
against eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lowered
import pytest
import torch
from device_program import DeviceProgram
from eager import check_together
from test_operators import CALLS, IDS, Calls
from test_partitioner import IMAGE, Attends, Net


def check(program: Any, model: torch.nn.Module, *calls: tuple[torch.Tensor, ...], tolerance: float = 2e-5) -> None:
    loaded = DeviceProgram(program.to_executorch().buffer)
    for inputs in calls:
        with torch.no_grad():
            loaded.check(inputs, model(*inputs), tolerance, tolerance)


@pytest.mark.parametrize("first", range(0, len(CALLS), 20))
def test_operators(first: int) -> None:
    """VK-04, VK-05: each operator of the page gives eager's result on the device; a program has several of them."""
    calls = list(zip(IDS, CALLS, strict=True))[first : first + 20]
    check_together({name: (function, inputs) for name, (_, function, inputs) in calls})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "function", "inputs"), CALLS, ids=IDS)
def test_operator(name: str, function: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> None:
    """Runs each operator in a separate program."""
    inputs = tuple(tensor.clone() for tensor in inputs)
    check(lowered.lower(Calls(function), inputs), Calls(function), inputs)


@pytest.mark.parametrize("compat", [None, "1.4"])
def test_network(compat: str | None) -> None:
    """VK-01: the network gives eager's results, also with the textures and transitions that the original's operators
    need."""
    model = Net().eval()
    check(lowered.lower(model, IMAGE, compile_options={"compat": compat}), model, IMAGE)


def test_network_in_half() -> None:
    """VK-02"""
    model = Net().eval()
    check(lowered.lower(model, IMAGE, compile_options={"force_fp16": True}), model, IMAGE, tolerance=1e-2)


def test_dynamic_shapes() -> None:
    """Runs both ends of a size's range, in both orders."""
    model = Attends().eval()
    size = torch.export.Dim("size", min=2, max=9)
    program = lowered.lower(model, (torch.randn(2, 5, 8),), {"x": {1: size}})
    check(program, model, *((torch.randn(2, count, 8),) for count in (9, 2, 5, 9)))
