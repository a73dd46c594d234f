# SPDX-License-Identifier: BSD-3-Clause
"""How close arenas come to the most bytes that are alive at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

import zoo
from bench.models import MODELS
from bench.worker import load_model
from sdk.exir import ExecutorchBackendConfig, to_edge
from sdk.exir._interval_packing import Block, lower_bound, pack
from sdk.exir.memory_planning import MemoryAlgoResult, _plan
from sdk.exir.passes import MemoryPlanningPass


class Measured:
    """The default algorithm, which keeps the bound and the size of the last arena planned: that of the whole graph."""

    def __init__(self) -> None:
        self.bound = self.size = 0

    def __call__(self, alignment, specs, graph_module, graph_signature, extra_padding) -> MemoryAlgoResult:
        def place(blocks: Sequence[Block]) -> tuple[int, list[int]]:
            self.bound = lower_bound(blocks)
            size, offsets = pack(blocks)
            self.size = size
            return size, offsets

        return _plan(specs, alignment, place, extra_padding)


def check(model: torch.nn.Module, inputs: tuple[Any, ...], dynamic_shapes: Any = None) -> None:
    exported = torch.export.export(model, inputs, dynamic_shapes=dynamic_shapes, strict=False)
    measured = Measured()
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(measured))
    to_edge(exported).to_executorch(config)
    print(f"{measured.size} bytes planned, {measured.bound} alive at once")
    assert measured.size <= 1.02 * measured.bound


@pytest.mark.parametrize("name", zoo.CASES)
def test_arena_is_within_two_percent_of_what_is_alive(name: str) -> None:
    for method in zoo.build(name).methods.values():
        check(method.module, method.calls[0], method.dynamic_shapes)


@pytest.mark.parametrize("label", MODELS)
def test_arena_of_a_whole_model(label: str) -> None:
    try:
        model, inputs = load_model(MODELS[label])
    except ModuleNotFoundError as error:
        pytest.skip(f"{label} cannot be made here: {error}")
    check(model, inputs)
