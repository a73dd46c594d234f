# SPDX-License-Identifier: BSD-3-Clause
"""`FoldAndAnnotateQParamsPass`: calls between dequantize and quantize become calls on integers."""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.backends.cortex_m.ops.images import is_channels_last
from sdk.backends.cortex_m.ops.softmax import OUTPUT_SCALE, OUTPUT_ZERO_POINT
from sdk.backends.cortex_m.passes.operators import (
    ACTIVATIONS,
    FUSING,
    IMAGES,
    KEEPING,
    LOWERED,
    MOVES,
    WEIGHTED,
    activation_bounds,
)
from sdk.backends.cortex_m.passes.qparams import INPUTS, OUTPUT, QuantArgs, is_int8
from sdk.backends.graph.names import arguments_of
from sdk.backends.graph.quantized import is_any_dequantize, is_dequantize, is_quantize
from sdk.backends.transforms.constants import get_constant
from sdk.backends.transforms.utils import create_constant_placeholder
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass

_log = logging.getLogger(__name__)


class FoldAndAnnotateQParamsPass(ExportPass):
    """Removes dequantize and quantize around calls that have a form for integers, and writes their parameters to the
    call's `meta` (`sdk.backends.cortex_m.passes.qparams`). All other calls stay between dequantize and quantize.

    A convolution, a linear layer, a sum or a max pooling and the activation function after it are folded together.
    Constants are quantised ahead of time.
    """

    def __init__(self, exported_program: ExportedProgram) -> None:
        super().__init__()
        self._program = exported_program

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for node in list(graph_module.graph.nodes):
            if is_quantize(node):
                modified |= self._quantize_constant(node)
            elif node.op == "call_function" and node.target in MOVES and len(node.all_input_nodes) == 1:
                modified |= self._move_integers(node) or self._fold(node)
            elif node.op == "call_function" and (node.target in LOWERED or node.target in MOVES):
                modified |= self._fold(node)
        if modified:
            graph_module.graph.eliminate_dead_code()
            graph_module.recompile()
        return PassResult(graph_module, modified)

    def _quantize_constant(self, node: Node) -> bool:
        """Replaces a quantize whose result is known."""
        value = get_constant(self._program, node.args[0])
        if value is None:
            return False
        target: Any = node.target
        integers = target(value.detach(), *node.args[1:])
        with node.graph.inserting_before(next(iter(node.graph.nodes))):
            constant = create_constant_placeholder(
                self._program, node.graph, f"{node.name}_constant", InputKind.PARAMETER, integers
            )
        node.replace_all_uses_with(constant)
        node.graph.erase_node(node)
        return True

    def _move_integers(self, node: Node) -> bool:
        """Dequantises after elements are moved, not before, and not at all where the result is quantised again."""
        before = node.all_input_nodes[0]
        if not is_dequantize(before):
            return False
        args = self._args_of(before)
        padded = arguments_of(node)["value"] if node.target == exir_ops.edge.aten.constant_pad_nd.default else None
        if not is_int8(args) or (padded is not None and not args.has(float(padded))):
            return False
        with node.graph.inserting_after(node):
            after = node.graph.call_function(before.target, (node, *before.args[1:]), before.kwargs)
        after.meta = dict(node.meta)
        node.replace_all_uses_with(after, delete_user_cb=lambda user: user is not after)
        node.replace_input_with(before, before.args[0])
        node.meta = {**node.meta, "val": node.meta["val"].to(torch.int8), INPUTS: {0: args}, OUTPUT: {0: args}}
        for store in list(after.users):
            if is_quantize(store) and self._args_of(store).is_same_number(args):
                store.replace_all_uses_with(node)
                store.graph.erase_node(store)
        return True

    def _fold(self, node: Node) -> bool:
        inputs = None if _is_scaled_sum(node) or not _is_two_dimensional(node) else self._inputs(node)
        last = _with_activation(node)
        stores = list(last.users)
        if inputs is None or not stores or not all(map(is_quantize, stores)):
            return False
        outputs = {self._args_of(store) for store in stores}
        if len(outputs) != 1:
            return False
        (output,) = outputs
        if not is_int8(output) or not self._has_a_kernel(node, inputs, output):
            return False
        if not _is_in_channels_last(node):
            return False
        self._read_integers(node)
        node.meta[INPUTS], last.meta[OUTPUT] = inputs, {0: output}
        for changed in {node, last}:
            changed.meta["val"] = stores[0].meta["val"]
        for store in stores:
            store.replace_all_uses_with(last)
            store.graph.erase_node(store)
        return True

    def _has_a_kernel(self, node: Node, inputs: dict[int, QuantArgs], output: QuantArgs) -> bool:
        operands = [inputs[position] for position in inputs if not (_is_weighted(node) and position > 0)]
        if not all(map(is_int8, operands)):
            return False
        if node.target in KEEPING or node.target in MOVES:
            return all(each.is_same_number(output) for each in operands)
        if node.target == exir_ops.edge.aten._softmax.default:
            return (output.scale, output.zp) == (OUTPUT_SCALE, OUTPUT_ZERO_POINT)
        return not _is_weighted(node) or self._has_weights(node, inputs[1])

    def _has_weights(self, node: Node, weight: QuantArgs) -> bool:
        """Whether the weights are symmetric int8, with scales of output channels, and, like the bias, constants."""
        zero_points = weight.zp if weight.per_channel else (weight.zp,)
        axis = int(node.target == exir_ops.edge.aten.convolution.default and arguments_of(node)["transposed"])
        if weight.dtype != torch.int8 or any(zero_points) or (weight.per_channel and weight.axis != axis):
            return False
        return all(get_constant(self._program, operand) is not None for operand in _operands(node)[1:])

    def _inputs(self, node: Node) -> dict[int, QuantArgs] | None:
        """The parameters of each operand; None if one is not quantised. A bias may be a float."""
        found: dict[int, QuantArgs] = {}
        for position, operand in enumerate(_operands(node)):
            if is_any_dequantize(operand):
                found[position] = self._args_of(operand)
            elif not (_is_weighted(node) and position == 2):
                return None
        return found or None

    def _args_of(self, node: Node) -> QuantArgs:
        return QuantArgs.of(node, lambda constant: get_constant(self._program, constant))

    def _read_integers(self, node: Node) -> None:
        def integers(operand: Any) -> Any:
            return operand.args[0] if is_any_dequantize(operand) else operand

        first = node.args[0]
        if isinstance(first, (list, tuple)):
            node.args = ([integers(operand) for operand in first], *node.args[1:])
        else:
            node.args = tuple(integers(operand) for operand in node.args)


def _is_scaled_sum(node: Node) -> bool:
    """Whether a node adds a multiple of its second operand."""
    return node.target == exir_ops.edge.aten.add.Tensor and node.kwargs.get("alpha", 1) != 1


def _is_two_dimensional(node: Node) -> bool:
    """Whether a node is not a convolution, or a 2-D convolution that is not both transposed and grouped."""
    if node.target != exir_ops.edge.aten.convolution.default:
        return True
    given = arguments_of(node)
    return node.meta["val"].dim() == 4 and not (given["transposed"] and given["groups"] != 1)


def _is_weighted(node: Node) -> bool:
    return node.target in WEIGHTED


def _operands(node: Node) -> list[Node]:
    first = node.args[0]
    listed = first if isinstance(first, (list, tuple)) else node.args
    return [operand for operand in listed if isinstance(operand, Node)]


def _with_activation(node: Node) -> Node:
    """Returns the activation function that is fused into a node, if it is the only user of the node's result, or else
    the node."""
    readers = list(node.users)
    if node.target not in FUSING or len(readers) != 1 or readers[0].target not in ACTIVATIONS:
        return node
    return node if activation_bounds(readers[0]) is None else readers[0]


def _is_in_channels_last(node: Node) -> bool:
    """Whether the images that a node reads and writes have the memory format of the kernels. True for nodes without
    images."""
    images = [node, node.args[0]] if node.target in IMAGES else []
    wrong = [each for each in images if not is_channels_last(each.meta["val"])]
    if wrong:
        _log.warning(
            "%s stays in floats: its images are not in the memory format channels_last. Give the export a model and "
            "inputs that are: .to(memory_format=torch.channels_last)",
            node.name,
        )
    return not wrong
