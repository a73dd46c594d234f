# SPDX-License-Identifier: BSD-3-Clause
"""Rules for layers with quantised weights, which stay packed in the program, and for layers from int8 to int8.

They recognise what torchao's `quantize_` and `convert_pt2e` leave: dequantised weights, activations that are quantised
and dequantised before a layer, and results that are quantised after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.quantized import DEQUANTIZE, DEQUANTIZE_AFFINE, DEQUANTIZE_CHANNELS, QUANTIZE
from sdk.backends.graph.shapes import dtype_of, tensor_of
from sdk.backends.transforms.constants import get_constant
from sdk.backends.vulkan.graph.ir import Tensor, Value
from sdk.backends.vulkan.graph.lowering import Lowering, bound_arguments, rule
from sdk.backends.vulkan.graph.rules import untransposed
from sdk.backends.vulkan.op_features import FLOATS, argument_of
from sdk.backends.vulkan.op_registry import called_operator

_LINEAR = ("aten.linear.default", "aten.addmm.default", "aten.mm.default")
_INT8 = (-128, 127)


@dataclass(frozen=True)
class _Weights:
    """Symmetric int8 weights.

    Attributes:
        values: [outputs, ...], or for transposed convolutions [inputs, outputs of a group, ...].
        scales: float32 [outputs, groups of inputs].
    """

    values: torch.Tensor
    scales: torch.Tensor

    @property
    def has_4_bits(self) -> bool:
        return bool(((self.values >= -8) & (self.values <= 7)).all())


def _weights_of(program: ExportedProgram, node: Any, axis: int = 0) -> _Weights | None:
    """The weights that a node dequantises, with a scale for each index of `axis`, or for each group of a row. None for
    other nodes."""
    name = called_operator(node)
    if name not in (DEQUANTIZE_AFFINE, DEQUANTIZE_CHANNELS, DEQUANTIZE) or tensor_of(node).dtype not in FLOATS:
        return None
    values = get_constant(program, node.args[0])
    if values is None or values.dtype != torch.int8 or values.dim() < 2 or not values.numel():
        return None
    outputs = values.shape[axis]
    if name == DEQUANTIZE:
        scale, zero_point = node.args[1:3]
        if not isinstance(scale, float) or zero_point != 0:
            return None
        return _Weights(values, torch.full((outputs, 1), scale))
    place = 2 if name == DEQUANTIZE_AFFINE else 1
    scales, zero_points = (get_constant(program, argument) for argument in node.args[place : place + 2])
    if scales is None or (zero_points is None and node.args[place + 1] is not None):
        return None
    if zero_points is not None and bool(zero_points.any()):
        return None
    groups = scales.numel() // outputs
    if name == DEQUANTIZE_CHANNELS:
        return _Weights(values, scales.float()[:, None]) if node.args[3] % values.dim() == axis else None
    block = list(node.args[1])
    rows = axis == 0 and values.dim() == 2 and block[0] == 1 and values.shape[1] == block[1] * groups
    return _Weights(values, scales.float().reshape(outputs, groups)) if rows else None


def _padded(tensor: torch.Tensor, multiple: int) -> torch.Tensor:
    """Pads the last dimension with zeros to a multiple."""
    return F.pad(tensor, (0, -tensor.shape[-1] % multiple)).contiguous()


def _nibbles(values: torch.Tensor, first_is_high: bool) -> torch.Tensor:
    """Packs numbers from -8 to 7 two per byte, with 8 added to each."""
    even, odd = (part.to(torch.uint8) for part in _padded(values + 8, 2).unflatten(-1, (-1, 2)).unbind(-1))
    return even << 4 | odd if first_is_high else odd << 4 | even


def quantized_linear(lowering: Lowering, node: Node, x: Any, weight: Any, bias: Any) -> Value | None:
    """A linear layer whose weights a node dequantises; None unless they are int8, or 4-bit in rows."""
    program, compat = lowering.program, lowering.options.compat
    found = _weights_of(program, weight)
    biases = get_constant(program, bias)
    if found is None or found.values.dim() != 2 or (bias is not None and biases is None):
        return None
    groups, size = found.scales.shape[1], found.values.shape[1] // found.scales.shape[1]
    whole_groups = groups == 1 or size % 2 == 0
    if found.has_4_bits and whole_groups:
        by_group = lowering.constant(_padded(found.scales.t(), 8), is_exact=True)
        packed = lowering.constant(_nibbles(found.values, False))
        rows = _rounded_rows(x)
        if rows is not None:
            sums = found.values.int().reshape(-1, groups, size).sum(-1, dtype=torch.int32).t()
            arguments = [*rows, packed, lowering.constant(_padded(sums, 8)), by_group, size, bias]
            return lowering.call("et_vk.linear_dq8ca_q4gsw.default", arguments, node)
        if groups > 1 or compat is None:
            return lowering.call("et_vk.linear_q4gsw.default", [x, packed, by_group, size, bias], node)
    if groups > 1:
        return None
    scales = lowering.constant(found.scales[:, 0].contiguous(), is_exact=True)
    if compat is None:
        return lowering.call("et_vk.linear_q8csw.default", [x, lowering.constant(found.values), scales, bias], node)
    if tensor_of(x).dim() != 2:
        return None
    if found.has_4_bits:
        packed = lowering.constant(_nibbles(found.values, True))
        result = lowering.call("et_vk.linear_qcs4w.default", [x, packed, scales], node)
    else:
        packed = lowering.constant(found.values)
        result = lowering.call("aten._weight_int8pack_mm.default", [x, packed, scales], node)
    return result if bias is None else lowering.call("aten.add.Tensor", [result, bias, 1], node)


def _rounded_rows(node: Any) -> tuple[Node, Node, Node] | None:
    """The floats, scales and zero points of rows that were quantised to int8 and dequantised when the model runs."""
    if called_operator(node) != DEQUANTIZE_AFFINE:
        return None
    source, block, scale, zero_point, _, *limits = node.args
    if called_operator(source) != "torchao.quantize_affine.default":
        return None
    floats, same_block, same_scale, same_zero_point, _, *same_limits = source.args
    ranks = [1] * (tensor_of(floats).dim() - 1)
    is_int8 = dtype_of(source) == torch.int8 and all(tuple(found[:2]) == _INT8 for found in (limits, same_limits))
    same = (same_scale, same_zero_point, list(same_block)) == (scale, zero_point, list(block))
    if not is_int8 or not same or list(block) != [*ranks, tensor_of(floats).shape[-1]]:
        return None
    return (floats, scale, zero_point) if isinstance(zero_point, Node) else None


def _int8_of(node: Any) -> tuple[Node, float, int] | None:
    """The int8 tensor that a node dequantises, with its scale and zero point."""
    if called_operator(node) != DEQUANTIZE or tuple(node.args[3:5]) != _INT8:
        return None
    source, scale, zero_point = node.args[:3]
    return (source, scale, zero_point) if tensor_of(source).dtype == torch.int8 else None


@rule(QUANTIZE)
def _int8_layer(lowering: Lowering, node: Node) -> Value | None:
    """Lowers a layer between int8 tensors, together with the clamp after it, to one operator."""
    source, scale, zero_point = node.args[:3]
    if tensor_of(node).dtype != torch.int8 or tuple(node.args[3:5]) != _INT8 or not isinstance(source, Node):
        return None
    assert isinstance(scale, float) and isinstance(zero_point, int)
    result = [scale, zero_point]
    name = called_operator(source)
    activation = "none"
    if name in ("aten.relu.default", "aten.hardtanh.default"):
        found = _int8_of(source.args[0])
        if name == "aten.relu.default" and found is not None:
            return lowering.call("et_vk.q8ta_relu.default", [*found, *result], node)
        clamp = (0.0, None) if name == "aten.relu.default" else tuple(bound_arguments(source)[1:3])
        limits = _activation(clamp, scale, zero_point)
        if limits is None or list(source.users) != [node]:
            return None
        activation, source = limits, source.args[0]
        name = called_operator(source)
    if name == "aten.convolution.default":
        return _int8_convolution(lowering, node, source, result, activation)
    if name in _LINEAR:
        return _int8_linear(lowering, node, source, result, activation)
    if name == "aten.add.Tensor" and activation == "none":
        operands = [_int8_of(operand) for operand in source.args[:2]]
        alpha = bound_arguments(source)[2]
        shapes = [tensor_of(operand).shape for operand in source.args[:2] if isinstance(operand, Node)]
        if None in operands or not isinstance(alpha, int | float) or shapes[0] != shapes[1]:
            return None
        (a, *a_parameters), (b, *b_parameters) = operands  # type: ignore[misc]
        arguments = [a, b, *a_parameters, *b_parameters, *result, float(alpha)]
        return lowering.call("et_vk.q8ta_add.default", arguments, node)
    if name == "aten.pixel_shuffle.default" and activation == "none" and tensor_of(source).dim() == 4:
        found = _int8_of(source.args[0])
        if found is not None:
            arguments = [*found, 1.0 / scale, zero_point, source.args[1]]
            return lowering.call("et_vk.q8ta_pixel_shuffle.default", arguments, node)
    return None


def _activation(clamp: Sequence[Any], scale: float, zero_point: int) -> str | None:
    """Returns the activation function that computes a clamp before quantisation: "none" if the clamp cannot change an
    int8, because quantisation clamps as well; None if the operators have no such activation."""
    low, high = clamp
    if high is not None and round(high / scale) + zero_point < _INT8[1]:
        return None
    if round(low / scale) + zero_point <= _INT8[0]:
        return "none"
    return "relu" if low == 0 else None


def _matrix(lowering: Lowering, rows: torch.Tensor, scales: torch.Tensor) -> list[Tensor]:
    """The weights, their sums and their scales, as constants. `rows`: int8 [outputs, inputs]."""
    sums = rows.sum(1, dtype=torch.int32)
    return [lowering.constant(t, is_exact=True) for t in (_padded(rows, 4), _padded(sums, 4), _padded(scales, 4))]


def _bias(lowering: Lowering, bias: Any) -> tuple[bool, Tensor | None]:
    """Whether a bias is constant or absent, and its padded constant."""
    found = get_constant(lowering.program, bias)
    if found is None:
        return bias is None, None
    return True, lowering.constant(_padded(found.float(), 4), is_exact=True)


def _linear_operands(program: ExportedProgram, layer: Node) -> tuple[Any, Any, Any]:
    """The input, the weight [outputs, inputs] and the bias of a linear layer, however it is decomposed."""
    if called_operator(layer) == "aten.linear.default":
        return (*layer.args, None)[:3]
    bias, x, weight = layer.args[:3] if called_operator(layer) == "aten.addmm.default" else (None, *layer.args[:2])
    scaled = any(argument_of(layer, 9, name, 1) != 1 for name in ("beta", "alpha"))
    return x, None if scaled else untransposed(program, weight), bias


def _int8_linear(lowering: Lowering, node: Node, layer: Any, result: list[Any], activation: str) -> Value | None:
    x, weight, bias = _linear_operands(lowering.program, layer)
    source, found = _int8_of(x), _weights_of(lowering.program, weight)
    known, biases = _bias(lowering, bias)
    if source is None or found is None or found.scales.shape[1] != 1 or not known:
        return None
    matrix = _matrix(lowering, found.values, found.scales[:, 0])
    return lowering.call("et_vk.q8ta_linear.default", [*source, *matrix, *result, biases, activation], node)


def _int8_convolution(lowering: Lowering, node: Node, layer: Any, result: list[Any], activation: str) -> Value | None:
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups = bound_arguments(layer)
    source, found = _int8_of(x), _weights_of(lowering.program, weight, 1 if transposed else 0)
    known, biases = _bias(lowering, bias)
    if source is None or found is None or not known or found.values.dim() != 4 or (transposed and groups != 1):
        return None
    values, scales = found.values, found.scales[:, 0]
    kernel = list(values.shape[2:])
    if transposed:
        values = values.transpose(0, 1)
    outputs, inputs = values.shape[:2]
    matrix = _matrix(lowering, values.permute(0, 2, 3, 1).reshape(outputs, -1), scales)
    name = "q8ta_conv2d"
    if transposed:
        name = "q8ta_conv2d_transposed"
    elif groups == outputs and inputs == 1 and groups > 1:
        name = "q8ta_conv2d_dw"
        matrix[0] = lowering.constant(values[:, 0].permute(1, 2, 0).contiguous())
    elif kernel == [1, 1] and groups == 1 and list(stride) == [1, 1] and list(padding) == [0, 0]:
        name = "q8ta_conv2d_pw"
    sizes = [kernel, *(list(s) for s in (stride, padding))]
    sizes += [list(output_padding)] if transposed else []
    arguments = [*source, *matrix, *result, biases, *sizes, list(dilation), groups, activation]
    return lowering.call(f"et_vk.{name}.default", arguments, node)


@rule("quantized_decomposed.embedding_4bit.dtype")
def _embedding_4bit(lowering: Lowering, node: Node) -> Value | None:
    """A table with two numbers in a byte and a scale for groups of each row."""
    table, scales, _, _, _, indices = node.args[:6]
    factors = get_constant(lowering.program, scales)
    assert factors is not None
    rows, width = tensor_of(table).shape
    factors = factors.float().reshape(rows, -1)
    arguments = [table, lowering.constant(factors, is_exact=True), 2 * width // factors.shape[1], indices, False]
    return lowering.call("et_vk.embedding_q4gsw.default", arguments, node)
