# SPDX-License-Identifier: BSD-3-Clause
"""A model may have more layers than Python allows nested calls: a quantised ResNet50 has."""

from __future__ import annotations

import sys

import torch
from torch import nn
from torch.export import export

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.utils import get_non_lowered_nodes
from sdk.runtime import Runtime


class Deep(nn.Module):
    """Two chains with as many calls as Python's recursion limit: one starts from an input, one from a constant."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        constant = torch.ones(4)
        for _ in range(sys.getrecursionlimit()):
            x, constant = torch.abs(x), torch.neg(constant)
        return x + constant


def test_xnn01_calls_deeper_than_pythons_stack() -> None:
    x = torch.tensor([-2.0, -1.0, 0.0, 3.0])
    edge = to_edge_transform_and_lower(export(Deep(), (x,)), partitioner=[XnnpackPartitioner()])
    assert get_non_lowered_nodes(edge.exported_program().graph) == []
    program = Runtime.get().load_program(edge.to_executorch().buffer)
    torch.testing.assert_close(program.load_method("forward").execute([x])[0], x.abs() + 1)
