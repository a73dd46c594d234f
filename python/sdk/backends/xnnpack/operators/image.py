# SPDX-License-Identifier: BSD-3-Clause
"""Operators on images, which XNNPACK computes in NHWC."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import argument, name_of
from sdk.backends.transforms.constants import get_constant
from sdk.backends.xnnpack.operators.matrix import WeightedConfig, write_weights
from sdk.backends.xnnpack.operators.operator import (
    FLOATS,
    XNNPartitionerConfig,
    is_static,
    pair,
    rank_of,
    refusal_of_tensor,
)
from sdk.backends.xnnpack.operators.shape import SplitConfig, write_part
from sdk.backends.xnnpack.operators.taps import taps_of
from sdk.backends.xnnpack.quantization import DYNAMIC_NAMES, Scale
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NO_VALUE, NODES, StepKind
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter, shape_of
from sdk.backends.xnnpack.weights import is_quantized

LARGEST_INT8_WINDOW = 25
"""The largest window, in elements, for which XNNPACK has int8 kernels of depthwise convolutions. It computes larger
ones as convolutions with a group for each channel, which takes 4 to 9 times as long as float32."""


def reads_more_than_first(node: Node) -> bool:
    """Whether any result of a call except the first is used."""
    return any(user.target is not operator.getitem or user.args[1] != 0 for user in node.users)


class ConvolutionConfig(WeightedConfig):
    target_names = ("aten.convolution.default",)
    weights = (1, 2)

    def channels_of(self, node: Node) -> int:
        return 1 if argument(node, 6) else 0

    def needs_step(self, node: Node) -> bool:
        return rank_of(node) == 5 or super().needs_step(node)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        if rank_of(node) == 3:
            return refusal_of_line(node)
        if rank_of(node) == 5:
            return refusal_of_volume(node)
        if rank_of(node) != 4:
            return f"it has {rank_of(node) - 2} spatial dimensions, and XNNPACK takes 1 to 3"
        transposed, output_padding, groups = (argument(node, i) for i in (6, 7, 8))
        if transposed and groups != 1 and is_quantized(node.args[1]):
            return f"it is transposed and quantised and has {groups} groups, and this backend takes 1"
        if transposed and any(dilation != 1 for dilation in argument(node, 5)):
            return f"it is transposed and its dilation is {argument(node, 5)}, and XNNPACK takes 1"
        stride = pair(argument(node, 3))
        if any(extra >= step for extra, step in zip(pair(output_padding), stride, strict=True) if extra):
            return f"output_padding {output_padding} is not below the stride {stride}"
        return None

    def refusal_when_dynamic(self, node: Node, program: ExportedProgram) -> str | None:
        if argument(node, 8) != 1:
            return "its input is quantised when the model runs, and it has groups"
        if rank_of(node) != 4:
            return "its input is quantised when the model runs, and it has no height"
        return super().refusal_when_dynamic(node, program)

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        if rank_of(node) != 4:
            return "it has no height"
        if _is_depthwise(node) and math.prod(node.args[1].meta["val"].shape[2:]) > LARGEST_INT8_WINDOW:
            return "it is depthwise and its window has more than 25 elements, for which XNNPACK has no kernel"
        reason = self.refusal_of_call(node, program)
        return super().refusal_in_integers(node, program, operands, result) if reason is None else reason

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        if rank_of(node) != 4:
            weight, bias = get_constant(writer.program, node.args[1]), get_constant(writer.program, argument(node, 2))
            assert weight is not None  # refusal() has checked it
            write = write_line_convolution if rank_of(node) == 3 else write_volume_convolution
            write(writer, node, node, weight, bias)
            return
        transposed, groups, permutation = argument(node, 6), argument(node, 8), _permutation(node)
        bias = get_constant(writer.program, argument(node, 2))
        if transposed and groups != 1:
            weight = get_constant(writer.program, node.args[1])
            assert weight is not None  # refusal() has checked it
            # [inputs, outputs of a group, ...]. The payload has the outputs first, then the inputs of their group.
            by_group = weight.reshape(groups, -1, *weight.shape[1:]).permute(0, 2, 3, 4, 1).flatten(0, 1)
            biases = NO_VALUE if bias is None else writer.floats(bias)
            write_convolution(writer, node, node, writer.floats(by_group), biases)
            return
        source, channels, part = node.args[0], 1 if transposed else 0, _part(node)
        filters, biases = write_weights(writer, source, node.args[1], channels, permutation, bias, part)
        write_convolution(writer, node, node, filters, biases)


def refusal_of_line(node: Node) -> str | None:
    """Why XNNPACK does not support a convolution over one dimension, or None."""
    if argument(node, 6):
        return "it is transposed and has 1 spatial dimension, and XNNPACK takes 2"
    assert isinstance(node.args[0], Node)
    unknown = max(sum(not isinstance(s, int) for s in n.meta["val"].shape) for n in (node.args[0], node))
    return None if unknown < 2 else "more than one of its sizes is known only when the model runs"


def write_line_convolution(
    writer: SubgraphWriter, node: Node, result_of: Node, weight: torch.Tensor, bias: torch.Tensor | None
) -> None:
    """Adds the convolution of `node` over one dimension [N, C, L] as a convolution of an image of height 1, [N, 1, L,
    C], with these weights, and stores the result as that of `result_of`."""
    assert isinstance(node.args[0], Node)
    (stride,), (padding,), (dilation,) = (argument(node, i) for i in (3, 4, 5))
    outputs, inputs, width = weight.shape
    groups = argument(node, 8)
    image, result = (_as_image(writer, operand) for operand in (node.args[0], node))
    _move_line(writer, node.args[0], writer.read(node.args[0]), image, True)
    kind = "DepthwiseConv2d" if _is_depthwise(node) else "Conv2d"
    filters = weight.unsqueeze(2).permute(_permutation(node))
    writer.add(
        NODES[kind](
            *(0, padding, 0, padding),
            *(1, width),
            *(1, stride),
            *(1, dilation),
            *(inputs, outputs // groups, groups),
            *(0, 0),
            image,
            writer.floats(filters),
            NO_VALUE if bias is None else writer.floats(bias),
            result,
        )
    )
    _move_line(writer, node, result, writer.result(result_of), False)


def refusal_of_volume(node: Node) -> str | None:
    """Why XNNPACK does not support a convolution over three dimensions, or None."""
    if argument(node, 6):
        return "it is transposed and has 3 spatial dimensions, and XNNPACK takes 2"
    if argument(node, 8) != 1:
        return f"it has 3 spatial dimensions and {argument(node, 8)} groups, and XNNPACK takes 1"
    return _refusal_of_slices(node.args[0]) or _refusal_of_slices(node)


def _refusal_of_slices(node: Any) -> str | None:
    """Why a batch of volumes cannot be treated as a batch of images, or None."""
    value = node.meta["val"]
    tensor = value[0] if isinstance(value, (list, tuple)) else value
    if tensor.dtype != torch.float32:
        return f"{node} is {str(tensor.dtype).removeprefix('torch.')}, and volumes are taken in float32"
    return None if is_static(tensor.shape[1:]) else f"sizes of {node} are known only when the model runs"


def write_volume_convolution(
    writer: SubgraphWriter, node: Node, result: Node, weight: torch.Tensor, bias: torch.Tensor | None
) -> None:
    """Adds a convolution over depth, height and width, with other weights, which computes the value of `result`. It is
    a convolution over height and width of images whose channels are the channels of all slices of a window along
    depth."""
    (stride, *strides), (padding, *paddings), (dilation, *dilations) = (argument(node, i) for i in (3, 4, 5))
    outputs, inputs, slices, height, width = weight.shape
    assert isinstance(node.args[0], Node)
    depth = shape_of(node.args[0])[2]
    images = writer.read(node.args[0], True)
    if (slices, stride, padding) != (1, 1, 0):
        _, *sizes, channels = writer.values[images].dims
        places = shape_of(node)[0] * shape_of(node)[2]
        unfolded = writer.temporary([places, *sizes, slices * channels])
        writer.add_step(StepKind.UNFOLD, [images], unfolded, [depth, slices, stride, padding, dilation])
        images = unfolded
    filters = weight.permute(0, 3, 4, 2, 1).reshape(outputs, height, width, slices * inputs)
    writer.add(
        NODES["Conv2d"](
            *(*paddings, *paddings),
            *(height, width),
            *strides,
            *dilations,
            *(slices * inputs, outputs, 1),
            *(0, 0),
            images,
            writer.floats(filters),
            NO_VALUE if bias is None else writer.floats(bias),
            writer.result(result, True),
        )
    )


def _as_image(writer: SubgraphWriter, line: Node) -> int:
    count, channels, length = shape_of(line)
    return writer.temporary([count, 1, length, channels])


def _move_line(writer: SubgraphWriter, line: Node, source: int, result: int, to_image: bool) -> None:
    """Converts [N, C, L] to [N, 1, L, C], or back."""
    count, channels, length = (size if isinstance(size, int) else 0 for size in line.meta["val"].shape)
    image, plain = [count, 1, length, channels], [count, channels, length]
    if 1 in (channels, length):  # no element moves
        shape = image if to_image else plain
        writer.add(NODES["StaticReshape"](len(shape), shape, source, result))
        return
    bounds = shape_of(line)
    turned = writer.temporary([bounds[0], bounds[2], bounds[1]])
    if to_image:
        writer.add(NODES["StaticTranspose"](3, [0, 2, 1], source, turned))
        writer.add(NODES["StaticReshape"](4, image, turned, result))
    else:
        writer.add(NODES["StaticReshape"](3, [count, length, channels], source, turned))
        writer.add(NODES["StaticTranspose"](3, [0, 2, 1], turned, result))


def _is_depthwise(node: Node) -> bool:
    groups = argument(node, 8)
    return not argument(node, 6) and groups > 1 and node.args[0].meta["val"].shape[1] == groups


def _permutation(node: Node) -> tuple[int, ...]:
    """Permutes the weights of a convolution to the payload's order."""
    return (1, 2, 3, 0) if argument(node, 6) or _is_depthwise(node) else (0, 2, 3, 1)


def _part(node: Node) -> tuple[slice, ...]:
    """The part of the permuted weights that the payload has."""
    rows, columns = taps_of(node)
    return (slice(None), slice(rows.first, rows.end), slice(columns.first, columns.end))


def write_convolution(writer: SubgraphWriter, node: Node, result: Node, filters: int, bias: int) -> None:
    """Adds the convolution of `node` with other weights, which computes the value of `result`."""
    image = node.args[0]
    rows, columns = taps_of(node)
    window = (rows.end - rows.first, columns.end - columns.first)
    strides = pair(argument(node, 3))
    dilations = (step if size > 1 else 1 for step, size in zip(pair(argument(node, 5)), window, strict=True))
    transposed, groups = argument(node, 6), argument(node, 8)
    adjustments = pair(argument(node, 7)) if transposed else (0, 0)
    inputs = image.meta["val"].shape[1]
    outputs = node.args[1].meta["val"].shape[1 if transposed else 0]
    outputs = outputs * groups if transposed else outputs
    kind = "ConvTranspose2d" if transposed else "DepthwiseConv2d" if _is_depthwise(node) else "Conv2d"
    writer.add(
        NODES[kind](
            *(rows.before, columns.after, rows.after, columns.before),
            *window,
            *strides,
            *dilations,
            *(inputs // groups, outputs // groups, groups),
            *adjustments,
            writer.read(image, True),
            filters,
            bias,
            writer.result(result, True),
        ),
        writer.take_limits(),
    )


class BatchNormConfig(XNNPartitionerConfig):
    """Batch norm for inference: fused into the convolution before it, otherwise a depthwise convolution; for inputs of
    rank 2 and 3, a multiplication and an addition."""

    target_names = ("aten._native_batch_norm_legit_no_training.default",)
    weights = (1, 2, 3, 4)

    def packed(self, node: Node, program: ExportedProgram) -> tuple[int, ...]:
        return self.weights if rank_of(node.args[0]) in (4, 5) or fused_convolution(program, node) else ()

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        if rank_of(node.args[0]) not in (2, 3, 4, 5):
            return f"its input has {rank_of(node.args[0])} dimensions, and XNNPACK takes 2 to 5"
        if rank_of(node.args[0]) == 5 and (reason := _refusal_of_slices(node)) is not None:
            return reason
        return "its second or third result is used" if reads_more_than_first(node) else None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        scale, shift = self.factors(writer.program, node)
        convolution = fused_convolution(writer.program, node)
        if convolution is not None:
            weight = get_constant(writer.program, convolution.args[1])
            assert weight is not None
            bias = get_constant(writer.program, argument(convolution, 2))
            if bias is not None:
                shift = shift + bias.double() * scale
            if rank_of(convolution) != 4:
                write = write_line_convolution if rank_of(convolution) == 3 else write_volume_convolution
                by_channel = scale.reshape(-1, *[1] * (rank_of(convolution) - 1))
                write(writer, convolution, node, weight.double() * by_channel, shift)
                return
            shape = (1, -1, 1, 1) if argument(convolution, 6) else (-1, 1, 1, 1)
            filters = (weight.double() * scale.reshape(shape)).permute(_permutation(convolution))[_part(convolution)]
            write_convolution(writer, convolution, node, writer.floats(filters), writer.floats(shift))
            return
        channels = scale.numel()
        if rank_of(node.args[0]) not in (4, 5):
            factors = (
                writer.constant(f.float().reshape(1, channels, *[1] * (rank_of(node.args[0]) - 2)))
                for f in (scale, shift)
            )
            assert isinstance(node.args[0], Node)
            product, limits = writer.temporary(shape_of(node.args[0])), (-math.inf, math.inf)
            writer.add(NODES["Multiply"](writer.read(node.args[0]), next(factors), product), limits)
            writer.add(NODES["Add"](product, next(factors), writer.result(node)), limits)
            return
        writer.add(
            NODES["DepthwiseConv2d"](
                *(0, 0, 0, 0),
                *(1, 1),
                *(1, 1),
                *(1, 1),
                *(1, 1, channels),
                *(0, 0),
                writer.read(node.args[0], True),
                writer.floats(scale.reshape(1, 1, 1, channels)),
                writer.floats(shift),
                writer.result(node, True),
            )
        )

    @staticmethod
    def factors(program: ExportedProgram, node: Node) -> tuple[torch.Tensor, torch.Tensor]:
        """The factor and the summand for each channel, in double precision."""
        gamma, beta, mean, variance = (get_constant(program, argument(node, i)) for i in (1, 2, 3, 4))
        assert mean is not None and variance is not None
        scale = (variance.double() + float(argument(node, 6))).rsqrt()
        if gamma is not None:
            scale = scale * gamma.double()
        shift = -mean.double() * scale
        return scale, shift if beta is None else shift + beta.double()


def fused_convolution(program: ExportedProgram, norm: Node) -> Node | None:
    """The convolution into which a batch norm is fused: the norm must be its only reader."""
    before = norm.args[0]
    if not isinstance(before, Node) or name_of(before) != "aten.convolution.default":
        return None
    if len(before.users) != 1 or (argument(before, 6) and argument(before, 8) != 1):
        return None
    return before if get_constant(program, before.args[1]) is not None else None


class GetItemConfig(XNNPartitionerConfig):
    """One part of a split, or the first result of another call with several results."""

    target_names = ("getitem",)
    FIRST_ONLY = (
        *BatchNormConfig.target_names,
        "aten.max.dim",
        "aten.max_pool2d_with_indices.default",
        "aten.native_layer_norm.default",
    )

    def refusal(self, node: Node, program: ExportedProgram) -> str | None:
        name = name_of(node.args[0])
        if name in DYNAMIC_NAMES:
            return None
        if name in SplitConfig.target_names:
            return refusal_of_tensor(node.meta["val"], node, FLOATS)
        if name not in self.FIRST_ONLY or node.args[1] != 0:
            return "XNNPACK does not take the call it reads"
        return None

    def needs_step(self, node: Node) -> bool:
        return False

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        source, part = node.args
        if name_of(source) in DYNAMIC_NAMES:
            return
        assert isinstance(source, Node) and isinstance(part, int)
        if name_of(source) in SplitConfig.target_names:
            write_part(writer, node, source, part)
        else:
            writer.alias(node, source)
