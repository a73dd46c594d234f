# SPDX-License-Identifier: BSD-3-Clause
"""XNNPACK's declaration and its effects: the default on CPUs, and padding after tensors, which its kernels may read."""

from __future__ import annotations

import torch
from torch import nn
from torch.export import export

from sdk.backends.registry import backends, default_backend
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.backends.xnnpack.xnnpack_preprocess import XnnpackBackend
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime


def test_it_is_the_default_and_the_runtime_has_it() -> None:
    declared = backends()["xnnpack"]
    assert default_backend() is declared
    assert (
        declared.id == XnnpackBackend.__name__
        and declared.id in Runtime.get().backend_registry.registered_backend_names
    )
    assert declared.find("partitioner") is XnnpackPartitioner


def test_arenas_have_room_past_the_last_tensor() -> None:
    """A kernel may load a whole vector of up to 64 bytes at the last row, although the row is shorter."""
    model, inputs = nn.Sequential(nn.Linear(8, 5), nn.ReLU()).eval(), (torch.ones(3, 8),)
    manager = to_edge_transform_and_lower(export(model, inputs), partitioner=[XnnpackPartitioner()]).to_executorch()
    module = manager.exported_program().graph_module
    specs = [node.meta["spec"] for node in module.graph.nodes if node.op == "placeholder" and "spec" in node.meta]
    last = max(spec.mem_offset + spec.allocated_memory for spec in specs if spec.mem_id == 1)
    (_, size) = manager.executorch_program.execution_plan[0].non_const_buffer_sizes
    assert size >= last + backends()["xnnpack"].memory_padding
