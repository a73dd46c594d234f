# SPDX-License-Identifier: BSD-3-Clause
"""Quantised values in a graph of ATen, as OpenVINO's compiler expects them: weights as integers followed by a
conversion, a subtraction and a multiplication, activations as FakeQuantize."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import is_any_dequantize


def axis_of(node: Node) -> int | None:
    """The dimension of a scale for each channel; None for one scale."""
    return node.args[3] if "per_channel" in name_of(node) else None


def parameters_of(node: Node) -> tuple[Any, ...]:
    """Returns the parameters that a quantize and a dequantize must share to be inverse: scales, zero points, axis,
    limits, dtype."""
    return tuple(node.args[1:])


def rewrite_quantized(module: GraphModule) -> None:
    """Replaces each dequantize of a weight by arithmetic. The others stay: the frontend turns a quantize into
    FakeQuantize, and drops its dequantize."""
    graph = module.graph
    for node in list(graph.nodes):
        if not is_any_dequantize(node) or node.args[0].op != "get_attr":
            continue
        with graph.inserting_before(node):
            node.replace_all_uses_with(_arithmetic(module, node))
        graph.erase_node(node)


def _arithmetic(module: GraphModule, node: Node) -> Node:
    """(weight - zero point) * scale, in float32."""
    graph, weight, axis = module.graph, node.args[0], axis_of(node)
    value = getattr(module, weight.target)
    shape = [1] * value.dim()
    if axis is not None:
        shape[axis] = -1

    def factor(name: str, argument: Any) -> Node:
        tensor = getattr(module, argument.target) if isinstance(argument, Node) else torch.tensor(argument)
        module.register_buffer(f"{node.name}_{name}", tensor.to(torch.float32).reshape(shape))
        return graph.get_attr(f"{node.name}_{name}")

    scale, zero = node.args[1], node.args[2]
    floats = graph.call_function(torch.ops.aten._to_copy.default, (weight,), {"dtype": torch.float32})
    zeros = getattr(module, zero.target) if isinstance(zero, Node) else torch.tensor(zero)
    if zeros.any():
        floats = graph.call_function(torch.ops.aten.sub.Tensor, (floats, factor("zero", zero)))
    scaled = graph.call_function(torch.ops.aten.mul.Tensor, (floats, factor("scale", scale)))
    for made in (floats, scaled):
        made.meta["val"] = node.meta["val"]
    return scaled
