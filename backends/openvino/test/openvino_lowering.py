# SPDX-License-Identifier: BSD-3-Clause
"""Lowers models for OpenVINO, runs them and compares them with eager."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import export
from torch.fx import GraphModule

from sdk.backends.openvino.partitioner import OpenvinoPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.utils import get_delegates, get_non_lowered_nodes, get_refusals
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer


@dataclass
class Lowered:
    """A lowered program."""

    edge: Any
    buffer: bytes

    @property
    def graph(self) -> Any:
        return self.edge.exported_program().graph_module.graph

    @property
    def delegates(self) -> list[Any]:
        """The parts that are delegated to OpenVINO."""
        module = self.edge.exported_program().graph_module
        return [getattr(module, str(name)) for name in get_delegates(self.graph)]

    def left(self) -> dict[str, str]:
        """The operators that kernels compute, with the reasons."""
        return {
            str(node.target): "; ".join(get_refusals(node).values())
            for node in get_non_lowered_nodes(self.graph)
            if isinstance(node.meta.get("val"), Tensor)
        }

    def run(self, *inputs: Any) -> list[Tensor]:
        return _load_for_executorch_from_buffer(self.buffer).forward(inputs)


def lower(model: nn.Module, inputs: tuple[Any, ...], dynamic_shapes: Any = None, partitioner: Any = None) -> Lowered:
    with torch.no_grad():
        module = model if isinstance(model, GraphModule) else model.eval()
        program = export(module, inputs, dynamic_shapes=dynamic_shapes, strict=False)
        edge = to_edge_transform_and_lower(program, partitioner=[partitioner or OpenvinoPartitioner()])
        return Lowered(edge, edge.to_executorch().buffer)


def assert_close(found: list[Tensor], expected: Any, tolerance: float = 1e-5) -> None:
    """The tolerance is relative to the largest number of the result, because sums are computed in another order."""
    wanted = [expected] if isinstance(expected, Tensor) else list(expected)
    assert len(found) == len(wanted)
    for ours, eager in zip(found, wanted, strict=True):
        assert ours.dtype == eager.dtype and ours.shape == eager.shape
        if eager.is_floating_point():
            difference = (ours - eager).abs().max() if eager.numel() else 0.0
            assert difference <= tolerance * max(1.0, float(eager.abs().max())), float(difference)
        else:
            assert torch.equal(ours, eager)
