# SPDX-License-Identifier: BSD-3-Clause
"""Normalisations for inference."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import FLOATS, NodeVisitor, register_node_visitor, shape_of
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.shape_nodes import MPSBatchNorm, MPSLayerNorm
from sdk.backends.graph.names import arguments_of
from sdk.backends.graph.shapes import dtype_of


class _Normalization(NodeVisitor):
    def refusal(self, node: Node) -> str | None:
        if any(user.target is operator.getitem and user.args[1] != 0 and user.users for user in node.users):
            return "its statistics are read, and MPS gives the first result"
        values = [value for value in node.all_input_nodes if dtype_of(value) not in FLOATS]
        return "MPS normalises floats" if values else None

    def _filled(self, node: Any, shape: list[int], value: float, dtype: torch.dtype, mps_graph: MPSGraph) -> int:
        """Returns the id of a weight or bias. If the model has none, it is a constant, because the runtime requires
        one."""
        if node is not None:
            return self.operand(node, self.stored(dtype), mps_graph)
        key = ("filled", tuple(shape), value, dtype)
        return self.define_constant(torch.full(shape, value, dtype=dtype), mps_graph, key)


@register_node_visitor
class BatchNorm(_Normalization):
    """Batch normalisation with running statistics."""

    target = "aten._native_batch_norm_legit_no_training.default"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        dtype, channels = dtype_of(given["input"]), [shape_of(given["input"])[1]]
        value = self.define_tensor(given["input"], mps_graph)
        weight = self._filled(given["weight"], channels, 1.0, dtype, mps_graph)
        bias = self._filled(given["bias"], channels, 0.0, dtype, mps_graph)
        mean, var = (self.operand(given[name], self.stored(dtype), mps_graph) for name in _STATISTICS)
        first, second, third = self.define_tensor_list(node, mps_graph)
        self.add(
            MPSBatchNorm(value, mean, var, weight, bias, given["momentum"], given["eps"], first, second, third),
            mps_graph,
        )


@register_node_visitor
class LayerNorm(_Normalization):
    """Layer normalisation."""

    target = "aten.native_layer_norm.default"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        dtype, shape = dtype_of(given["input"]), [int(size) for size in given["normalized_shape"]]
        value = self.define_tensor(given["input"], mps_graph)
        weight = self._filled(given["weight"], shape, 1.0, dtype, mps_graph)
        bias = self._filled(given["bias"], shape, 0.0, dtype, mps_graph)
        first, second, third = self.define_tensor_list(node, mps_graph)
        self.add(MPSLayerNorm(value, shape, weight, bias, given["eps"], first, second, third), mps_graph)


_STATISTICS = ("running_mean", "running_var")
