# SPDX-License-Identifier: BSD-3-Clause
"""Convolutions of one and two spatial dimensions."""

from __future__ import annotations

from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import FLOATS, NodeVisitor, register_node_visitor, shape_of
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.shape_nodes import MPSConv2D, MPSDepthwiseConv2D
from sdk.backends.graph.names import arguments_of
from sdk.backends.graph.shapes import dtype_of


@register_node_visitor
class Conv2D(NodeVisitor):
    """Convolutions that are not transposed."""

    target = "aten.convolution.default"

    def refusal(self, node: Node) -> str | None:
        given = arguments_of(node)
        ranks = len(shape_of(given["input"])), len(shape_of(given["weight"]))
        if given["transposed"]:
            return "MPS has no transposed convolutions"
        if ranks not in ((3, 3), (4, 4)):
            return f"MPS has convolutions of one and two spatial dimensions; this one has {ranks[1] - 2}"
        return None if dtype_of(node) in FLOATS else "MPS has convolutions of floats"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        weights, groups = shape_of(given["weight"]), given["groups"]
        # If a depthwise convolution has more outputs than inputs, the runtime expects another layout of the weights.
        depthwise = groups > 1 and len(weights) == 4 and weights[1] == 1 and weights[0] == groups
        value, weight, bias = (self.define_tensor(given[name], mps_graph) for name in ("input", "weight", "bias"))
        (stride_y, stride_x), (dilation_y, dilation_x) = _pair(given["stride"], 1), _pair(given["dilation"], 1)
        pad_y, pad_x = _pair(given["padding"], 0)
        self.add(
            (MPSDepthwiseConv2D if depthwise else MPSConv2D)(
                value,
                weight,
                bias,
                self.define_tensor(node, mps_graph),
                stride_x=stride_x,
                stride_y=stride_y,
                dilation_x=dilation_x,
                dilation_y=dilation_y,
                groups=groups,
                padding_left=pad_x,
                padding_right=pad_x,
                padding_top=pad_y,
                padding_bottom=pad_y,
            ),
            mps_graph,
        )


def _pair(values: list[int], default: int) -> tuple[int, int]:
    """One number for each of the last two dimensions. For one spatial dimension, only the last number is given."""
    return (default, int(values[0])) if len(values) == 1 else (int(values[0]), int(values[1]))
