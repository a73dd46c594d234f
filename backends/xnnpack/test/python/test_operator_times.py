# SPDX-License-Identifier: BSD-3-Clause
"""Events of a program that runs: each operator inside a delegate has the debug handle of the node from which it
comes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import export

from bench.operators import DELEGATE, KERNEL, by_name, trace
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower


class Net(nn.Module):
    """Two layers and a norm in a delegate, and a sum outside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 4, 3), nn.LayerNorm(6), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.conv(x).relu())).cumsum(0)


@pytest.mark.slow  # the first run builds the runtime with the event tracer
def test_events_carry_the_handles_of_the_nodes(tmp_path: Path) -> None:
    """RTB-09, DBG-01, XNN-17"""
    lowered = to_edge_transform_and_lower(
        export(Net().eval(), (torch.ones(1, 3, 8, 8),)), partitioner=[XnnpackPartitioner()]
    )
    module = lowered.exported_program().graph_module
    (delegate,) = [getattr(module, node.target) for node in module.graph.nodes if node.op == "get_attr"]
    nodes: dict[int, set[str]] = {}
    for node in delegate.original_module.graph.nodes:
        if node.op == "call_function":
            nodes.setdefault(node.meta["debug_handle"], set()).add(node.target.__name__)
    (total,) = [node for node in module.graph.nodes if "cumsum" in str(node.target)]
    program = lowered.to_executorch()
    (tmp_path / "net.pte").write_bytes(program.buffer)
    seconds, events = trace(tmp_path / "net.pte", 0.05, "xnnpack")
    inside = [event for event in events if event.name not in (KERNEL, DELEGATE) and event.handle > 0]
    handles = delegate.meta["debug_handle_map"]
    of = {event.name.split(" ")[0]: nodes[handles[event.handle][0]] for event in inside}
    assert "aten.convolution.default" in of["Convolution"]
    assert "aten.native_layer_norm.default" in of["LayerNorm"]
    assert "aten.linear.default" in of["Fully"]
    assert set(handles) >= {event.handle for event in inside}
    instructions = program.debug_handle_map["forward"]  # what an instruction of the program comes from
    assert [instructions[event.handle] for event in events if event.name == KERNEL] == [total.meta["debug_handle"]]
    assert [instructions[event.handle] for event in events if event.name == DELEGATE] == [[*sorted(nodes)]]
    assert sum(taken for _, taken in by_name(events).values()) <= seconds
