# SPDX-License-Identifier: BSD-3-Clause
"""Scaled dot-product attention as one step. The step reads and writes heads as strided views, so that splitting a
tensor into heads and joining them copies nothing."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import argument, name_of
from sdk.backends.xnnpack.operators.operator import FLOATS, XNNPartitionerConfig, are_alike, is_static, rank_of
from sdk.backends.xnnpack.operators.views import as_view
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import StepKind
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter

IS_CAUSAL, HAS_MASK, MASK_IS_TRUTH = 1, 2, 4
MAX_RANK = 4


class AttentionConfig(XNNPartitionerConfig):
    target_names = ("aten.scaled_dot_product_attention.default",)
    keep_whole = True
    takes_truth = True

    def needs_step(self, node: Node) -> bool:
        return True

    def is_in_floats(self, node: Node) -> bool:
        return True

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        tensors = [operand for operand in node.args[:3] if isinstance(operand, Node)]
        ranks = {rank_of(tensor) for tensor in tensors}
        if len(ranks) != 1 or not 2 <= min(ranks) <= MAX_RANK:
            return f"its tensors have {sorted(ranks)} dimensions, and XNNPACK takes equal ranks from 2 to {MAX_RANK}"
        if any(tensor.meta["val"].dtype not in FLOATS for tensor in tensors):
            return "its tensors are neither float32 nor float16"
        mask = argument(node, 3)
        if mask is not None and (rank_of(mask) > MAX_RANK or mask.meta["val"].dtype not in (*FLOATS, torch.bool)):
            return "its mask has more than 4 dimensions, or is neither floats nor bool"
        batches = [tensor.meta["val"].shape[:-3] for tensor in tensors]
        heads = [tensor.meta["val"].shape[-3:-2] for tensor in tensors]
        alike = [(batches[0], batches[1]), (batches[0], batches[2]), (heads[1], heads[2])]
        if not all(are_alike(a, b) for a, b in (alike if argument(node, 7) else [*alike, (heads[0], heads[1])])):
            return "its tensors have different numbers of heads or batches"
        if not is_static([tensor.meta["val"].shape[-1] for tensor in tensors]):
            return "its width is known only when the model runs"
        return f"dropout_p is {argument(node, 4)}" if argument(node, 4) else None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        q, k, v = (operand for operand in node.args[:3] if isinstance(operand, Node))
        mask, scale = argument(node, 3), argument(node, 6)
        while name_of(mask) == "aten.expand_copy.default":
            mask = mask.args[0]  # the step broadcasts the mask
        if scale is None:
            scale = 1 / math.sqrt(q.meta["val"].shape[-1])
        flags = IS_CAUSAL if argument(node, 5) else 0
        if mask is not None:
            flags |= HAS_MASK | (MASK_IS_TRUTH if mask.meta["val"].dtype == torch.bool else 0)
        if not all(is_static(operand.meta["val"].shape) for operand in (q, k, v)):
            inputs = [writer.read(operand) for operand in (q, k, v, mask) if operand is not None]
            writer.add_step(StepKind.ATTENTION, inputs, writer.result(node), [], [scale], flags)
            return
        inputs, strides = [], []
        for operand in (q, k, v):
            source, heads = heads_of(writer, operand)
            inputs.append(writer.read(source))
            strides += [heads.storage_offset(), *heads.stride()[:3]]
        if mask is not None:
            inputs.append(writer.read(mask))
        owner, out = joined_heads(node)
        strides += [0, *out.stride()[:3]]
        batch, count, rows, width = _four(q.meta["val"]).shape
        _, key_count, keys, value_width = _four(v.meta["val"]).shape
        integers = [flags, batch, count, key_count, rows, keys, width, value_width, *strides]
        integers += [int(size) for size in owner.meta["val"].shape]
        writer.add_step(StepKind.ATTENTION, inputs, writer.result(owner), integers, [scale], flags)


def _four(tensor: Any) -> torch.Tensor:
    """A tensor of this shape without elements, with dimensions for batch, heads, rows and width."""
    shape = tuple(tensor.shape)
    return torch.empty((1,) * (MAX_RANK - len(shape)) + shape, device="meta")


def heads_of(writer: SubgraphWriter, operand: Node) -> tuple[Node, torch.Tensor]:
    """The tensor that contains the heads, and a view of it, without elements, that has four dimensions and selects the
    heads."""

    def has_rows(source: Node, view: torch.Tensor) -> bool:
        return (view.stride(-1) == 1 or view.shape[-1] == 1) and writer.can_read(source)

    source, view = as_view(operand, has_rows)
    return source, view.reshape((1,) * (MAX_RANK - view.dim()) + tuple(view.shape))


def joined_heads(node: Node) -> tuple[Node, torch.Tensor]:
    """Returns the call whose result the step writes, which is the permutation after attention if there is one, and the
    result of attention as a view of it."""
    (user, *others) = node.users
    if not others and name_of(user) in ("aten.permute_copy.default", "aten.transpose_copy.int"):
        order = list(range(rank_of(node)))
        if name_of(user) == "aten.permute_copy.default":
            order = [dim % len(order) for dim in user.args[1]]
        else:
            first, second = user.args[1:3]
            order[first], order[second] = order[second], order[first]
        inverse = [order.index(dim) for dim in range(len(order))]
        view = torch.empty(user.meta["val"].shape, device="meta").permute(inverse)
        if view.stride(-1) == 1:
            return user, view.reshape((1,) * (MAX_RANK - view.dim()) + tuple(view.shape))
    return node, _four(node.meta["val"])
