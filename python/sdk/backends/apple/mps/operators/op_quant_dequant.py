# SPDX-License-Identifier: BSD-3-Clause
"""Linear layers with int4 weights in groups. The payload leaves out the dynamic quantisation of their activations,
because MPS multiplies floats by int4 weights, which is more accurate. If the layer computes in float32, or its weights
are not int4, the quantisation stays on kernels."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import NodeVisitor, register_node_visitor
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.mps_data_type import MPSDataType, edge_dtype_to_mps_dtype
from sdk.backends.apple.mps.serialization.nodes import ABSENT
from sdk.backends.apple.mps.serialization.shape_nodes import MPSDequantizePerChannelGroup
from sdk.backends.graph.names import arguments_of, name_of
from sdk.exir.backend.declarations import declare_note

_CHOOSE = "quantized_decomposed.choose_qparams_per_token_asymmetric.default"
_QUANTIZE = "quantized_decomposed.quantize_per_token.default"
_DEQUANTIZE = "quantized_decomposed.dequantize_per_token.default"
_GROUPS = "quantized_decomposed.dequantize_per_channel_group.default"
_RESHAPES = ("aten.view_copy.default", "aten.permute_copy.default", "aten.unsqueeze_copy.default")
_PRODUCTS = ("aten.mm.default", "aten.addmm.default")


@register_node_visitor
class OpDequantizePerChannelGroupDefault(NodeVisitor):
    """int4 weights, packed two per byte, the first in the low bits."""

    target = _GROUPS

    def refusal(self, node: Node) -> str | None:
        given = arguments_of(node)
        weight, zeros = self.constant(given["input"]), self.constant(given["zero_points"])
        if not self.convert_model_to_fp16:
            return "MPS dequantises to float16, and use_fp16 is off"
        if weight is None or weight.dim() != 2 or weight.shape[1] % 2 or weight.dtype != torch.int8:
            return "MPS has int4 weights of two dimensions with an even number of columns"
        if (given["quant_min"], given["quant_max"]) != (-8, 7) or bool(((weight < -8) | (weight > 7)).any()):
            return "MPS has weights of int4: the range is -8 to 7"
        if zeros is None or bool((zeros != 0).any()):
            return "MPS has weights whose zero points are zero"
        return None if self.constant(given["scales"]) is not None else "MPS has scales that are constants"

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        given = arguments_of(node)
        result = self.define_tensor(node, mps_graph)
        key = ("int4", given["input"])
        if key not in self.tensor_to_id:
            weight = self.constant(given["input"])
            assert weight is not None
            nibbles = weight.to(torch.int32) & 0x0F
            packed = (nibbles[:, ::2] | nibbles[:, 1::2] << 4).to(torch.uint8)
            value = self.define_value(torch.int8, list(weight.shape), mps_graph)
            mps_graph.mps_values[value].datatype = MPSDataType.mps_data_type_int4
            self.attach(value, packed.contiguous().numpy().tobytes(), mps_graph)
            self.tensor_to_id[key] = value
        scales = self.operand(given["scales"], torch.float16, mps_graph)
        self.add(
            MPSDequantizePerChannelGroup(
                self.tensor_to_id[key],
                result,
                scales,
                ABSENT,
                given["quant_min"],
                given["quant_max"],
                edge_dtype_to_mps_dtype(given["dtype"]),
                given["group_size"],
                edge_dtype_to_mps_dtype(given["output_dtype"]),
            ),
            mps_graph,
        )


@register_node_visitor
class TokenQuantizationVisitor(NodeVisitor):
    """The dynamic quantisation of activations, which the payload leaves out: the operand replaces the result."""

    target = (_CHOOSE, _QUANTIZE, _DEQUANTIZE)

    def refusal(self, node: Node) -> str | None:
        if not self.convert_model_to_fp16:
            return "MPS has no quantised activations, and int4 weights only with use_fp16"
        name = name_of(node)
        if name == _CHOOSE:
            items = [user for item in node.users for user in item.users]
            quantized = [user for user in items if name_of(user) == _QUANTIZE]
            if not quantized or not _are(items, (_QUANTIZE, _DEQUANTIZE)):
                return _NOT_DYNAMIC
            return next(filter(None, map(self.refusal, quantized)), None)
        if name == _QUANTIZE:
            if not self._chooses(node) or not _are(node.users, (_DEQUANTIZE,)):
                return _NOT_DYNAMIC
            return None if all(self._multiplies_int4(user) for user in node.users) else _NOT_INT4
        operand = node.args[0]
        assert isinstance(operand, Node)
        return self.refusal(operand) if _are((operand,), (_QUANTIZE,)) else _NOT_DYNAMIC

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        value = self.define_tensor(node.args[0], mps_graph)
        self.tensor_to_id[node] = [value, value] if name_of(node) == _CHOOSE else value
        declare_note("activations of int4 linear layers, which the model quantises for each token, stay floats")

    @staticmethod
    def _chooses(quantize: Node) -> bool:
        """Whether the scales of a quantisation are computed from the values that it quantises."""
        scales = quantize.args[1]
        chosen = scales.args[0] if isinstance(scales, Node) and scales.args else None
        return isinstance(chosen, Node) and _are((chosen,), (_CHOOSE,)) and chosen.args[0] is quantize.args[0]

    def _multiplies_int4(self, node: Node) -> bool:
        """Whether a value is read only by matrix multiplications with int4 weights that MPS takes."""
        for user in node.users:
            if _are((user,), _RESHAPES):
                if not self._multiplies_int4(user):
                    return False
            elif not _are((user,), _PRODUCTS) or not self._is_int4(_weight_of(user)):
                return False
        return bool(node.users)

    def _is_int4(self, weight: Node) -> bool:
        while _are((weight,), _RESHAPES):
            assert isinstance(weight.args[0], Node)
            weight = weight.args[0]
        if not _are((weight,), (_GROUPS,)):
            return False
        return OpDequantizePerChannelGroupDefault(self.exported_program).refusal(weight) is None


def _weight_of(product: Node) -> Node:
    weight = arguments_of(product)["mat2"]
    assert isinstance(weight, Node)
    return weight


def _are(nodes: Iterable[Node], names: tuple[str, ...]) -> bool:
    return all(node.op == "call_function" and name_of(node) in names for node in nodes)


_NOT_DYNAMIC = "MPS takes quantised activations only if they are dequantised at once, with their own parameters"
_NOT_INT4 = "MPS leaves out the quantisation of activations only before multiplications with int4 weights"
