# SPDX-License-Identifier: BSD-3-Clause
"""Compares the size of an arena with its lower bound, the peak of live bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdk.exir import ExecutorchBackendConfig, to_edge
from sdk.exir.memory_planning._algorithms import MemoryAlgoResult, _plan
from sdk.exir.memory_planning._interval_packing import Block, lower_bound, pack
from sdk.exir.passes import MemoryPlanningPass


class MeasuredArena:
    """The default algorithm. It also stores the bound and the size of the last arena that it planned, which is that of
    the whole graph.
    """

    def __init__(self) -> None:
        self.alive_bytes = self.bytes = 0

    def __call__(self, alignment, specs, graph_module, graph_signature, extra_padding) -> MemoryAlgoResult:
        def place(blocks: Sequence[Block]) -> tuple[int, list[int]]:
            self.alive_bytes = lower_bound(blocks)
            self.bytes, offsets = pack(blocks)
            return self.bytes, offsets

        return _plan(specs, alignment, place, extra_padding)


def measure_arena(exported: Any) -> MeasuredArena:
    """Lowers an exported program and returns the sizes of the default plan."""
    measured = MeasuredArena()
    to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(measured)))
    return measured
