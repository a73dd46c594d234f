# SPDX-License-Identifier: BSD-3-Clause
"""How close arenas come to the most bytes that are alive at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

import zoo
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


@pytest.mark.parametrize("name", zoo.CASES)
def test_arena_is_within_two_percent_of_what_is_alive(name: str) -> None:
    for method, case in zoo.build(name).methods.items():
        exported = torch.export.export(case.module, case.calls[0], dynamic_shapes=case.dynamic_shapes, strict=False)
        measured = Measured()
        config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(measured))
        to_edge(exported).to_executorch(config)
        print(f"{name}.{method}: {measured.size} bytes planned, {measured.bound} alive at once")
        assert measured.size <= 1.02 * measured.bound
