# SPDX-License-Identifier: BSD-3-Clause
"""Joins branches into one convolution: sums of convolutions and batch norms of the same image. RepVGG, MobileOne and
FastViT have such sums unless their authors' own function has joined them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import argument, name_of
from sdk.backends.graph.quantized import dynamic_source
from sdk.backends.graph.sums import terms_of
from sdk.backends.transforms.constants import get_constant
from sdk.backends.xnnpack.operators.image import BatchNormConfig, fused_convolution
from sdk.backends.xnnpack.operators.operator import pair, rank_of
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NO_VALUE, NODES
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter
from sdk.exir.sym_util import are_same_sizes

_CONVOLUTION = "aten.convolution.default"


@dataclass
class _Branch:
    """A convolution, a batch norm or both in sequence, expressed as one convolution of `source` with a bias and without
    dilation. `weight` is [out, in / groups, height, width] in float64."""

    source: Node
    weight: torch.Tensor
    bias: torch.Tensor
    stride: tuple[int, int]
    padding: tuple[int, int]
    groups: int
    nodes: list[Node]
    """The nodes that become part of the joined convolution."""


@dataclass
class JoinedBranches:
    """The sum `node` as one convolution, which also replaces `nodes`."""

    node: Node
    nodes: list[Node]
    branch: _Branch

    def write(self, writer: SubgraphWriter) -> None:
        branch = self.branch
        (top, left), groups = branch.padding, branch.groups
        outputs, inputs, height, width = branch.weight.shape
        is_depthwise = groups > 1 and inputs == 1
        order = (1, 2, 3, 0) if is_depthwise else (0, 2, 3, 1)
        writer.add(
            NODES["DepthwiseConv2d" if is_depthwise else "Conv2d"](
                *(top, left, top, left),
                *(height, width),
                *branch.stride,
                *(1, 1),
                *(inputs, outputs // groups, groups),
                *(0, 0),
                writer.read(branch.source, True),
                writer.floats(branch.weight.permute(order)),
                writer.floats(branch.bias) if bool(branch.bias.any()) else NO_VALUE,
                writer.result(self.node, True),
            )
        )


def joined_branches(program: ExportedProgram) -> dict[Node, JoinedBranches]:
    """The sums that can be one convolution, by node. Of nested sums, only the outermost is returned."""
    found: dict[Node, JoinedBranches] = {}
    for node in program.graph.nodes:
        terms = terms_of(node)
        if terms is None or rank_of(node) != 4:
            continue
        if any(
            rank_of(operand) != 4 or not are_same_sizes(operand.meta["val"].shape, node.meta["val"].shape)
            for operand in terms
        ):
            continue
        first, second = (_operand(program, operand, found) for operand in terms)
        joined = None if first is None or second is None else _join(first, second)
        if joined is not None and node.meta["val"].dtype == torch.float32:
            found[node] = JoinedBranches(node, joined.nodes, joined)
    inner = {node for joined in found.values() for node in joined.nodes}
    return {node: joined for node, joined in found.items() if node not in inner}


def _operand(program: ExportedProgram, operand: object, found: dict[Node, JoinedBranches]) -> _Branch | None:
    if not isinstance(operand, Node) or len(operand.users) != 1:
        return None
    if operand in found:
        branch = found[operand].branch
        return _Branch(**{**branch.__dict__, "nodes": [operand, *branch.nodes]})
    if name_of(operand) == "getitem" and name_of(operand.args[0]) in BatchNormConfig.target_names:
        norm = operand.args[0]
        assert isinstance(norm, Node)
        return _norm_branch(program, norm, operand) if len(norm.users) == 1 else None
    return _convolution_branch(program, operand) if name_of(operand) == _CONVOLUTION else None


def _convolution_branch(program: ExportedProgram, node: Node) -> _Branch | None:
    weight, bias = get_constant(program, node.args[1]), get_constant(program, argument(node, 2))
    source = node.args[0]
    if weight is None or not isinstance(source, Node) or argument(node, 6) or pair(argument(node, 5)) != (1, 1):
        return None
    if weight.dtype != torch.float32 or dynamic_source(source) is not None or rank_of(node) != 4:
        return None
    if bias is None and argument(node, 2) is not None:
        return None
    shift = torch.zeros(weight.shape[0], dtype=torch.float64) if bias is None else bias.double()
    stride, padding = pair(argument(node, 3)), pair(argument(node, 4))
    return _Branch(source, weight.double(), shift, stride, padding, argument(node, 8), [node])


def _norm_branch(program: ExportedProgram, norm: Node, result: Node) -> _Branch | None:
    source = norm.args[0]
    if not isinstance(source, Node) or any(get_constant(program, norm.args[i]) is None for i in (3, 4)):
        return None
    scale, shift = BatchNormConfig.factors(program, norm)
    convolution = fused_convolution(program, norm)
    if convolution is None:
        # A 1 x 1 convolution with a diagonal weight. _join() converts it to the groups of the other branch.
        weight = torch.diag(scale)[:, :, None, None]
        return _Branch(source, weight, shift, (1, 1), (0, 0), 1, [norm, result])
    branch = _convolution_branch(program, convolution)
    if branch is None:
        return None
    weight, bias = branch.weight * scale.reshape(-1, 1, 1, 1), branch.bias * scale + shift
    return _Branch(source=branch.source, weight=weight, bias=bias, stride=branch.stride, padding=branch.padding,
                   groups=branch.groups, nodes=[convolution, norm, result])  # fmt: skip


def _join(first: _Branch, second: _Branch) -> _Branch | None:
    """Returns the sum of two branches as one convolution, or None if it cannot be one or if one convolution would
    compute more than both."""
    if first.source is not second.source or first.stride != second.stride:
        return None
    if first.weight.shape[2:].numel() < second.weight.shape[2:].numel():
        first, second = second, first
    weight = _in_groups(second.weight, first)
    if weight is None:
        return None
    tops = [a - b for a, b in zip(first.padding, second.padding, strict=True)]
    ends = [top + size for top, size in zip(tops, weight.shape[2:], strict=True)]
    if min(tops) < 0 or any(end > size for end, size in zip(ends, first.weight.shape[2:], strict=True)):
        return None
    joined = first.weight.clone()
    joined[:, :, tops[0] : ends[0], tops[1] : ends[1]] += weight
    nodes = [*first.nodes, *second.nodes]
    return _Branch(first.source, joined, first.bias + second.bias, first.stride, first.padding, first.groups, nodes)


def _in_groups(weight: torch.Tensor, like: _Branch) -> torch.Tensor | None:
    """`weight` for the groups of `like`. Possible if it has the same number of groups, or is the diagonal weight of a
    batch norm; else None."""
    if weight.shape[:2] == like.weight.shape[:2]:
        return weight
    outputs, inputs = weight.shape[:2]
    if outputs != inputs or weight.shape[2:] != (1, 1) or like.weight.shape[0] != outputs:
        return None
    diagonal = torch.diagonal(weight[:, :, 0, 0])
    if not torch.equal(torch.diag(diagonal), weight[:, :, 0, 0]) or like.groups * like.weight.shape[1] != inputs:
        return None
    grouped = torch.zeros(outputs, like.weight.shape[1], 1, 1, dtype=torch.float64)
    channels = torch.arange(outputs)
    grouped[channels, channels % like.weight.shape[1], 0, 0] = diagonal
    return grouped
