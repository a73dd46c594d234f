# SPDX-License-Identifier: BSD-3-Clause
"""Replaces dequantize - operator - quantize by one operator on quantised tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

import sdk.exir.operator.quantized_ops  # noqa: F401  (registers the operators)
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.graph.programs import copy_program
from sdk.exir.pass_base import ExportPass
from sdk.exir.passes.constant_prop_pass import constant_prop_pass

_aten = exir_ops.edge.aten
_quantized = exir_ops.edge.quantized_decomposed

_MOVES = frozenset(
    {
        *(_aten.cat.default, _aten.view_copy.default, _aten.slice_copy.Tensor, _aten.permute_copy.default),
        *(_aten.select_copy.int, _aten.unsqueeze_copy.default, _aten.squeeze_copy.dims, _aten.expand_copy.default),
    }
)


class QuantFusionPass(ExportPass):
    """Fuses add, add followed by relu, embedding over a dequantised table, and operators that only move elements, which
    then work on integers. Edits the graph in place.

    `_fix_node_meta_val` and `node_value_dict` are accepted for compatibility. Metadata is always right, because a fused
    node gets the metadata of the node that it replaces.
    """

    def __init__(self, _fix_node_meta_val: bool = False, node_value_dict: dict[str, Any] | None = None) -> None:
        super().__init__()

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                for node in list(module.graph.nodes):
                    modified |= _fuse_add(module, node) or _fuse_move(module, node) or _fuse_embedding(module, node)
                module.graph.eliminate_dead_code()
                module.recompile()
        return PassResult(graph_module, modified)


def _fuse_add(module: GraphModule, quantize: Node) -> bool:
    if quantize.target is not _quantized.quantize_per_tensor.default:
        return False
    source, *out = quantize.args
    add, low = source, out[2]
    if isinstance(source, Node) and source.target is _aten.relu.default and len(source.users) == 1:
        # A quantised relu clamps at the zero point, which the fused add does with its lower limit.
        add, low = source.args[0], max(out[2], out[1])
    if not isinstance(add, Node) or add.target is not _aten.add.Tensor or len(add.users) != 1:
        return False
    if len(add.args) != 2 or add.kwargs.get("alpha", 1) != 1:
        return False
    arguments: list[Any] = []
    for operand in add.args:
        if not isinstance(operand, Node) or operand.target is not _quantized.dequantize_per_tensor.default:
            return False
        arguments += operand.args[:5]
    dtypes = {arguments[0].meta["val"].dtype, arguments[5].meta["val"].dtype, out[4]}
    if len(dtypes) != 1:
        return False  # The fused operator needs one type for inputs and output.
    _replace(module, quantize, _quantized.add.default, (*arguments, out[0], out[1], low, out[3]))
    return True


def _fuse_move(module: GraphModule, quantize: Node) -> bool:
    """Operands and result have the same scale, so that dequantising and quantising changes no element."""
    move = quantize.args[0] if quantize.target is _quantized.quantize_per_tensor.default else None
    if not isinstance(move, Node) or move.target not in _MOVES or len(move.users) != 1:
        return False
    operands = move.args[0] if move.target is _aten.cat.default else move.args[:1]
    for operand in operands:
        is_dequantized = operand.target is _quantized.dequantize_per_tensor.default
        if not is_dequantized or tuple(operand.args[1:6]) != tuple(quantize.args[1:6]):
            return False
    integers = [operand.args[0] for operand in operands]
    first = integers if move.target is _aten.cat.default else integers[0]
    _replace(module, quantize, move.target, (first, *move.args[1:]))
    return True


def _fuse_embedding(module: GraphModule, node: Node) -> bool:
    if node.target is not _aten.embedding.default:
        return False
    table, indices = node.args[:2]
    if not isinstance(table, Node) or table.target is not _quantized.dequantize_per_channel.default:
        return False
    weight, scales, zero_points, axis, low, high = table.args[:6]
    # The kernel takes bytes with one scale per row.
    if axis != 0 or weight.meta["val"].dtype not in (torch.int8, torch.uint8):
        return False
    dtype = node.meta["val"].dtype
    if scales.meta["val"].dtype is not dtype or (
        zero_points is not None and zero_points.meta["val"].dtype is not dtype
    ):
        return False
    _replace(module, node, _quantized.embedding_byte.default, (weight, scales, zero_points, low, high, indices))
    return True


def _replace(module: GraphModule, node: Node, target: Any, args: tuple[Any, ...]) -> None:
    with module.graph.inserting_before(node):
        fused = module.graph.call_function(target, args)
    fused.meta = dict(node.meta)
    node.replace_all_uses_with(fused)


def _get_node_value_dict(program: ExportedProgram) -> dict[str, Any]:
    """Values of weights and constants by the name of their placeholder."""
    signature = program.graph_signature
    targets = {s.arg.name: s.target for s in signature.input_specs if s.target is not None and hasattr(s.arg, "name")}
    found = {name: program.state_dict.get(t, program.constants.get(t)) for name, t in targets.items()}
    return {name: value for name, value in found.items() if value is not None}


def quant_fusion_and_const_prop_pass(program: ExportedProgram) -> ExportedProgram:
    """Fuses quantised operators, then computes what depends on constants only. Weights stay quantised: dequantize is
    not computed ahead of time."""
    program = copy_program(program)
    QuantFusionPass()(program.graph_module)
    keep = {_quantized.dequantize_per_tensor.default, _quantized.dequantize_per_channel.default}
    return constant_prop_pass(program, keep)
