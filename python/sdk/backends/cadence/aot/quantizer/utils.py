# SPDX-License-Identifier: BSD-3-Clause
"""Helpers: finds chains of calls in a graph, and computes the parameters of biases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import ObserverOrFakeQuantize
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from sdk.backends.cadence.aot.compiler_utils import (
    quantize_tensor_multiplier as quantize_tensor_multiplier,
)
from sdk.backends.cadence.aot.pass_utils import fake_value


@dataclass(frozen=True)
class Partition:
    """The nodes that match one operator of a chain."""

    nodes: list[Node]


def copy_node_metadata(dest_node: Node, src_node: Node) -> None:
    """Copies the metadata with a node's origin in the model."""
    for key in ("nn_module_stack", "stack_trace", "source_fn_stack"):
        if src_node.meta.get(key):
            dest_node.meta[key] = src_node.meta[key]


def is_annotated(nodes: Sequence[Node]) -> bool:
    """Whether a quantizer annotated one of the nodes."""
    annotations = (node.meta.get(Q_ANNOTATION_KEY) for node in nodes)
    return any(annotation is not None and annotation._annotated for annotation in annotations)


def find_sequential_partitions_aten(gm: GraphModule, partition_types: Sequence[Any]) -> list[tuple[Partition, ...]]:
    """Finds chains of calls of these operators, in which each call uses the result of the previous one."""
    chains = [[node] for node in gm.graph.nodes if node.op == "call_function" and node.target == partition_types[0]]
    for target in partition_types[1:]:
        chains = [[*chain, user] for chain in chains for user in chain[-1].users if user.target == target]
    return [tuple(Partition([node]) for node in chain) for chain in chains]


def no_outside_users(fused_partition: Sequence[Partition]) -> bool:
    """Whether each result of a chain, except the last, is used only by the next call."""
    return all(len(partition.nodes[-1].users) == 1 for partition in fused_partition[:-1])


def create_zero_bias_int32(graph_module: GraphModule, weight_node: Node, bias_scale: float) -> Node:
    """Inserts a bias of zeros, one for each output of the weights. The caller chooses the position in the graph."""
    weight = weight_node.meta.get("val")
    if weight is None:
        weight = graph_module
        for part in str(weight_node.target).split("."):
            weight = getattr(weight, part)
    args, kwargs = ([int(weight.shape[0])], 0.0), {"dtype": torch.int32}
    bias = graph_module.graph.call_function(torch.ops.aten.full.default, args, kwargs)
    if "val" in weight_node.meta:
        bias.meta["val"] = fake_value(torch.ops.aten.full.default, args, kwargs, weight_node)
        copy_node_metadata(bias, weight_node)
    return bias


def get_bias_qparams(obs_or_fqs: list[ObserverOrFakeQuantize]) -> tuple[Tensor, Tensor]:
    """Returns the scale of a bias, which is the product of the scales of activations and weights, and its zero point,
    which is 0."""
    scales = [each.calculate_qparams()[0] for each in obs_or_fqs[:2]]
    scale = scales[0] * scales[1]
    return scale, torch.zeros_like(scale, dtype=torch.int32)


def check_out_zero_point_is_min_range(out_zero_point: int, out_dtype: torch.dtype) -> bool:
    """Whether the quantisation has no negative numbers, so that clamping computes ReLU."""
    return not out_dtype.is_floating_point and out_zero_point == torch.iinfo(out_dtype).min
