# SPDX-License-Identifier: BSD-3-Clause
"""Writes the calls of a graph as operators of LiteRT. Convolutions and pools are in `images`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch

from sdk.backends.npu.graph import ASSUME, QUANTIZE, Call, Graph, Ref
from sdk.backends.npu.integer import aten
from sdk.backends.nxp.neutron.activations import RELUS, finite
from sdk.backends.nxp.neutron.tflite import images
from sdk.backends.nxp.neutron.tflite.builder import Builder
from sdk.backends.nxp.neutron.tflite.layout import REDUCTIONS, TO_LAST
from sdk.backends.nxp.neutron.tflite.schema import (
    AddOptions,
    BatchMatMulOptions,
    Code,
    ConcatenationOptions,
    FullyConnectedOptions,
    LeakyReluOptions,
    Model,
    MulOptions,
    ReducerOptions,
    SoftmaxOptions,
    SubOptions,
)


def write(graph: Graph, converts_formats: bool = True) -> Model:
    """Converts a graph to a model of LiteRT.

    Args:
        graph: The graph of a partition that Neutron takes.
        converts_formats: Whether inputs and outputs have PyTorch's order. Otherwise images have channels last.

    Raises ValueError for a call that Neutron does not have.
    """
    builder = Builder(graph, converts_formats)
    for call in graph.calls:
        if call.name not in WRITERS:
            raise ValueError(f"the graph calls {call.name}, which Neutron does not have")
        WRITERS[call.name](builder, call)
    return builder.finish()


def _quantize(b: Builder, call: Call) -> None:
    source, result = b.value(call.args[0].value), b.graph.values[call.results[0]]
    if (source.quantization, source.dtype) == (result.quantization, result.dtype):
        b.alias(call.results[0], call.args[0].value)
    else:
        position = call.results[0]
        b.call(Code.QUANTIZE, [b.given(call.args[0], position in b.last)], b.result(position))


def _assume(b: Builder, call: Call) -> None:
    if b.resolve(call.results[0]) == call.results[0]:
        source = b.given(call.args[0], call.results[0] in b.last)
        result = b.result(call.results[0])
        b.reshaped(source, b.main.tensors[result].shape, b.graph.values[call.results[0]], result)


def _linear(b: Builder, call: Call) -> None:
    source, weight, bias = call.args
    _fully_connected(b, call, source, b.given(weight), bias)


def _matrices(b: Builder, call: Call) -> None:
    bias, source, weight = (None, *call.args[:2]) if call.name == "aten.mm.default" else call.args[:3]
    value = b.value(weight.value)
    assert value.data is not None
    _fully_connected(b, call, source, b.constant(value.data.t(), value.quantization), bias)


def _fully_connected(b: Builder, call: Call, source: Ref, weight: int, bias: Ref | None) -> None:
    channels = b.main.tensors[weight].shape[0]
    inputs = [b.given(source, False), weight, images.bias_of(b, bias, channels, source, call)]
    options = FullyConnectedOptions(images.activation_of(call), True)
    plain = b.plain_result(call.results[0])
    images.finish(b, call, Code.FULLY_CONNECTED, inputs, options, plain)
    b.finish_plain(call.results[0], plain)


def _batches(b: Builder, call: Call) -> None:
    inputs = [b.given(each, False) for each in call.args[:2]]
    images.finish_unfused(b, call, Code.BATCH_MATMUL, inputs, BatchMatMulOptions())


def _binary(code: Code, options: Callable[[int], Any] | None) -> Callable[[Builder, Call], None]:
    def write(b: Builder, call: Call) -> None:
        inputs = [_operand(b, call, each) for each in call.args[:2]]
        if options is None:
            images.finish_unfused(b, call, code, inputs)
        else:
            images.finish(b, call, code, inputs, options(images.activation_of(call)))

    return write


def _operand(b: Builder, call: Call, argument: Ref) -> int:
    """An operand of an operator that expands its operands, in the order of dimensions of the result."""
    value, rank = b.value(argument.value), len(b.graph.values[call.results[0]].shape)
    is_last = call.results[0] in b.last
    if not is_last or len(value.shape) == rank:
        return b.given(argument, is_last)
    shape = [1] * (rank - len(value.shape)) + list(value.shape)
    if value.data is not None:
        return b.constant(value.data.reshape(shape).permute(TO_LAST), value.quantization)
    return b.transposed(b.reshaped(b.given(argument, False), shape, value), TO_LAST, value)


def _prelu(b: Builder, call: Call) -> None:
    source, slopes = call.args
    value, rank = b.value(slopes.value), len(b.graph.values[call.results[0]].shape)
    assert value.data is not None
    # The slopes belong to dimension 1, which is the last dimension if channels are last.
    behind = 0 if call.results[0] in b.last or value.data.numel() == 1 else rank - 2
    data = value.data.reshape([1] * (rank - 2 - behind) + [-1] + [1] * behind) if rank > 1 else value.data
    inputs = [b.given(source, call.results[0] in b.last), b.constant(data, value.quantization)]
    b.call(Code.PRELU, inputs, b.result(call.results[0]))


def _unary(code: Code, options: Callable[[Call], Any] | None = None) -> Callable[[Builder, Call], None]:
    def write(b: Builder, call: Call) -> None:
        source = b.given(call.args[0], call.results[0] in b.last)
        b.call(code, [source], b.result(call.results[0]), options(call) if options else None)

    return write


def _negated(b: Builder, call: Call) -> None:
    """Subtracts from zero, which saturates; LiteRT's negation does not."""
    position = call.results[0]
    zero = images.number(b, b.value(call.args[0].value), 0.0)
    b.call(Code.SUB, [zero, b.given(call.args[0], position in b.last)], b.result(position), SubOptions(0))


def _softmax(b: Builder, call: Call) -> None:
    source, dim = call.args[:2]
    position, rank = call.results[0], len(b.graph.values[call.results[0]].shape)
    if (dim % rank == rank - 1) == (position not in b.last):
        b.call(Code.SOFTMAX, [b.given(source, position in b.last)], b.result(position), SoftmaxOptions(1.0))
        return
    # LiteRT reduces the last dimension, so this softmax is computed in the other order of dimensions.
    plain = b.call(Code.SOFTMAX, [b.given(source, False)], b.plain_result(position), SoftmaxOptions(1.0))
    b.finish_plain(position, plain)


def _limited(b: Builder, call: Call) -> None:
    low, high = (0.0, None) if call.name == "aten.relu.default" else map(finite, call.args[1:3])
    source, position = b.given(call.args[0], call.results[0] in b.last), call.results[0]
    name = RELUS.get((low, high))
    if name is not None:
        b.call(Code[name], [source], b.result(position))
        return
    images.limit(b, source, b.result(position), b.graph.values[position], low, high)


def _joint(b: Builder, call: Call) -> None:
    parts, dim = call.args
    position = call.results[0]
    inputs = [b.given(each, position in b.last) for each in parts]
    axis = _axes(b, position, [dim])[0]
    b.call(Code.CONCATENATION, inputs, b.result(position), ConcatenationOptions(axis))


def _axes(b: Builder, position: int, dims: Any) -> list[int]:
    """Converts PyTorch's dimensions to axes of a value that may have channels last."""
    rank = len(b.graph.values[position].shape)
    given = [dim % rank for dim in dims]
    return [TO_LAST.index(dim) for dim in given] if position in b.last else given


def _slice(b: Builder, call: Call) -> None:
    source, dim, start, end, _ = call.args
    shape = list(b.value(source.value).shape)
    size = shape[dim]
    first, last = (
        min(max(each + size if each < 0 else each, 0), size)
        for each in (0 if start is None else start, size if end is None else end)
    )
    begins, sizes = [0] * len(shape), shape
    begins[dim], sizes[dim] = first, last - first
    position = call.results[0]
    if position in b.last:
        begins, sizes = ([each[axis] for axis in TO_LAST] for each in (begins, sizes))
    inputs = [b.given(source, position in b.last), b.integers(begins), b.integers(sizes)]
    b.call(Code.SLICE, inputs, b.result(position))


def _pad(b: Builder, call: Call) -> None:
    source, padding, number = call.args
    position = call.results[0]
    value = b.graph.values[position]
    pairs = [list(pair) for pair in zip(padding[::2], padding[1::2], strict=True)][::-1]
    pairs = [[0, 0]] * (len(value.shape) - len(pairs)) + pairs
    if position in b.last:
        pairs = [pairs[axis] for axis in TO_LAST]
    inputs = [b.given(source, position in b.last), b.integers(pairs)]
    if number:
        inputs.append(images.number(b, value, number))
    b.call(Code.PADV2 if number else Code.PAD, inputs, b.result(position))


def _reduced(b: Builder, call: Call) -> None:
    source, dims, keeps = call.args[:3]
    shape = b.value(source.value).shape
    over = [dim % len(shape) for dim in (dims or range(len(shape)))]
    position, place = call.results[0], b.resolve(source.value)
    rest = [dim for dim in TO_LAST if dim not in over]
    is_image = len(shape) == 4  # other operands never have channels last, but the result may
    is_last = is_image and (place in b.last if not keeps and rest == sorted(rest) else position in b.last)
    axes = [TO_LAST.index(dim) for dim in over] if is_last else over
    inputs = [b.given(source, is_last), b.integers(axes)]
    target = b.result(position) if is_image else b.plain_result(position)
    b.call(Code[REDUCTIONS[call.name]], inputs, target, ReducerOptions(bool(keeps)))
    if not is_image:
        b.finish_plain(position, target)


def _moved(b: Builder, call: Call) -> None:
    """Writes a permutation, merged with the permutations between PyTorch's order and channels last."""
    source, position = call.args[0], call.results[0]
    value = b.value(source.value)
    order = _order(call, len(value.shape))
    if b.resolve(source.value) in b.last:
        order = [TO_LAST.index(dim) for dim in order]
    if position in b.last:
        order = [order[dim] for dim in TO_LAST]
    if order == sorted(order):
        b.reshaped(b.given(source), b.main.tensors[b.given(source)].shape, value, b.result(position))
    else:
        b.call(Code.TRANSPOSE, [b.given(source), b.integers(order)], b.result(position))


def _order(call: Call, rank: int) -> list[int]:
    """The permutation that a call applies, found by running it in PyTorch on a tensor with distinct sizes."""
    sizes = range(2, rank + 2)
    moved = aten(call.name, [torch.empty(tuple(sizes), device="meta"), *call.args[1:]])
    return [sizes.index(size) for size in moved.shape]


def _reshaped(b: Builder, call: Call) -> None:
    source, position = call.args[0], call.results[0]
    value = b.graph.values[position]
    plain = b.reshaped(b.given(source, False), value.shape, value, b.plain_result(position))
    b.finish_plain(position, plain)


def _same(b: Builder, call: Call) -> None:
    b.alias(call.results[0], call.args[0].value)


WRITERS: Final[dict[str, Callable[[Builder, Call], None]]] = {
    ASSUME: _assume,
    QUANTIZE: _quantize,
    "aten._adaptive_avg_pool2d.default": images.adaptive_average,
    "aten._softmax.default": _softmax,
    "aten.abs.default": _unary(Code.ABS),
    "aten.add.Tensor": _binary(Code.ADD, AddOptions),
    "aten.addmm.default": _matrices,
    "aten.avg_pool2d.default": images.average,
    "aten.bmm.default": _batches,
    "aten.cat.default": _joint,
    "aten.clamp.default": _limited,
    "aten.clone.default": _same,
    "aten.constant_pad_nd.default": _pad,
    "aten.convolution.default": images.convolution,
    "aten.exp.default": _unary(Code.EXP),
    "aten.hardtanh.default": _limited,
    "aten.leaky_relu.default": _unary(Code.LEAKY_RELU, lambda call: LeakyReluOptions(float(call.args[1]))),
    "aten.linear.default": _linear,
    "aten.log.default": _unary(Code.LOG),
    "aten.max_pool2d_with_indices.default": images.maximum,
    "aten.maximum.default": _binary(Code.MAXIMUM, None),
    "aten.minimum.default": _binary(Code.MINIMUM, None),
    "aten.mm.default": _matrices,
    "aten.mul.Tensor": _binary(Code.MUL, MulOptions),
    "aten.neg.default": _negated,
    "aten.permute_copy.default": _moved,
    "aten.prelu.default": _prelu,
    "aten.relu.default": _limited,
    "aten.sigmoid.default": _unary(Code.LOGISTIC),
    "aten.slice_copy.Tensor": _slice,
    "aten.squeeze_copy.dims": _reshaped,
    "aten.sub.Tensor": _binary(Code.SUB, SubOptions),
    "aten.tanh.default": _unary(Code.TANH),
    "aten.transpose_copy.int": _moved,
    "aten.unsqueeze_copy.default": _reshaped,
    "aten.upsample_bilinear2d.vec": images.bilinear,
    "aten.upsample_nearest2d.vec": images.nearest,
    "aten.view_copy.default": _reshaped,
    **dict.fromkeys(REDUCTIONS, _reduced),
}
"""The function that writes the calls of an operator, by operator."""
