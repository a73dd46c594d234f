# SPDX-License-Identifier: BSD-3-Clause
"""Pooling, means and resizing of images, which XNNPACK computes in NHWC."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import argument
from sdk.backends.xnnpack.operators.image import reads_more_than_first
from sdk.backends.xnnpack.operators.matrix import TOO_FAR_APART
from sdk.backends.xnnpack.operators.operator import XNNPartitionerConfig, is_static, pair, rank_of
from sdk.backends.xnnpack.quantization import Scale
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NO_VALUE, NODES, XNNStaticConstantPad
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter
from sdk.backends.xnnpack.weights import QuantizedWeight

# Flags of nodes.
ALIGN_CORNERS = 8
KEEP_DIMS = 64

# XNNPACK's max pooling and resizing keep the addresses of pixels while height and width stay as they were.
DYNAMIC_CHANNELS = "its number of channels is known only when the model runs"


class PoolConfig(XNNPartitionerConfig):
    def refusal_of_window(self, node: Node) -> str | None:
        if rank_of(node.args[0]) != 4:
            return f"its input has {rank_of(node.args[0])} dimensions, and XNNPACK takes 4"
        return "its window has one element" if pair(argument(node, 1)) == (1, 1) else None

    def write_pool(self, writer: SubgraphWriter, node: Node, kind: str, dilations: tuple[int, int]) -> None:
        window = pair(argument(node, 1))
        top, left = self.paddings_before(node)
        bottom, right = self.paddings_after(node)
        strides = pair(argument(node, 2) or window)
        source, result = self.read_image(writer, node), writer.result(node, True)
        writer.add(NODES[kind](top, right, bottom, left, *window, *strides, *dilations, source, result))

    def read_image(self, writer: SubgraphWriter, node: Node) -> int:
        """The id of the value that XNNPACK's node pools."""
        return writer.read(node.args[0], True)

    def paddings_before(self, node: Node) -> tuple[int, int]:
        """The padding of XNNPACK's node before the first row and before the first column."""
        return pair(argument(node, 3))

    def paddings_after(self, node: Node) -> tuple[int, int]:
        """The padding of XNNPACK's node after the last row and after the last column."""
        return pair(argument(node, 3))


class MaxPoolConfig(PoolConfig):
    keeps_scale = True
    target_names = ("aten.max_pool2d_with_indices.default",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        if reads_more_than_first(node):
            return "its indices are used"
        if not is_static(node.args[0].meta["val"].shape[1:2]):
            return DYNAMIC_CHANNELS
        if argument(node, 5) and not is_static(node.args[0].meta["val"].shape[2:]):
            return "ceil_mode is on, and its size is known only when the model runs"
        return self.refusal_of_window(node)

    def paddings_after(self, node: Node) -> tuple[int, int]:
        """With ceil_mode, the last window may extend beyond the padding, so the padding is enlarged."""
        padding = pair(argument(node, 3))
        if not argument(node, 5):
            return padding
        windows, dilations = pair(argument(node, 1)), pair(argument(node, 4))
        strides = pair(argument(node, 2) or argument(node, 1))
        image, pooled = (value.shape[2:] for value in (node.args[0].meta["val"], node.meta["val"][0]))
        ends = ((pooled[i] - 1) * strides[i] + dilations[i] * (windows[i] - 1) + 1 for i in range(2))
        after = tuple(max(end - size - before, before) for end, size, before in zip(ends, image, padding, strict=True))
        return after[0], after[1]

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        self.write_pool(writer, node, "MaxPooling2d", pair(argument(node, 4)))


class MaxDimConfig(XNNPartitionerConfig):
    """The largest elements along height or width, without indices: max pooling whose window is the whole dimension."""

    keeps_scale = True
    target_names = ("aten.max.dim",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        image = node.args[0]
        assert isinstance(image, Node)
        if rank_of(image) != 4:
            return f"its input has {rank_of(image)} dimensions, and XNNPACK takes 4"
        dim = argument(node, 1) % 4
        if dim not in (2, 3) or not argument(node, 2):
            return f"dim is {dim} and keepdim {argument(node, 2)}, and XNNPACK takes height or width with keepdim"
        size = image.meta["val"].shape[dim]
        if not isinstance(size, int) or size == 1:
            return f"the size of the dimension is {size}"
        if not is_static(image.meta["val"].shape[1:2]):
            return DYNAMIC_CHANNELS
        return "its indices are used" if reads_more_than_first(node) else None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        dim, image = argument(node, 1) % 4, node.args[0]
        assert isinstance(image, Node)
        window = [image.meta["val"].shape[i] if i == dim else 1 for i in (2, 3)]
        source, result = writer.read(image, True), writer.result(node, True)
        writer.add(NODES["MaxPooling2d"](*(0, 0, 0, 0), *window, *window, *(1, 1), source, result))


class AvgPoolConfig(PoolConfig):
    """Means over windows. XNNPACK's node leaves padding out of the mean; with count_include_pad, zeros are part of the
    image that it pools."""

    target_names = ("aten.avg_pool2d.default",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        if argument(node, 6) is not None:
            return f"divisor_override is {argument(node, 6)}"
        return "ceil_mode is on" if argument(node, 4) else self.refusal_of_window(node)

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        if any(pair(argument(node, 3))) and not argument(node, 5):
            return "it has padding, which its mean leaves out"
        return None if 2**-32 <= self._share(node) * operands[0].scale / result.scale < 2**8 else TOO_FAR_APART

    @staticmethod
    def _share(node: Node) -> float:
        """The factor of each element in the mean over its window."""
        height, width = pair(argument(node, 1))
        return 1 / (height * width)

    @staticmethod
    def _counted_padding(node: Node) -> tuple[int, int]:
        """Returns the number of rows and columns of zeros on each side of the image that the mean includes."""
        return pair(argument(node, 3)) if argument(node, 5) else (0, 0)

    def read_image(self, writer: SubgraphWriter, node: Node) -> int:
        image = super().read_image(writer, node)
        rows, columns = self._counted_padding(node)
        if not rows and not columns:
            return image
        count, height, width, channels = writer.values[image].dims
        padded = writer.temporary([count, height + 2 * rows, width + 2 * columns, channels])
        margins = [0, rows, columns, 0]
        writer.add(XNNStaticConstantPad(margins, margins, 0.0, image, padded))
        return padded

    def paddings_before(self, node: Node) -> tuple[int, int]:
        return (0, 0) if argument(node, 5) else pair(argument(node, 3))

    paddings_after = paddings_before

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        if not writer.in_integers:
            self.write_pool(writer, node, "AvgPooling2d", (1, 1))
            return
        # XNNPACK averages only floats. In int8, a mean is a depthwise convolution with ones, whose sum has a scale that
        # is smaller by the number of elements.
        assert isinstance(node.args[0], Node)
        channels, window = int(node.args[0].meta["val"].shape[1]), pair(argument(node, 1))
        ones = torch.ones(1, *window, channels, dtype=torch.int8)
        filters = writer.weight(QuantizedWeight(ones, torch.full((channels,), self._share(node)), 3))
        strides, (rows, columns) = pair(argument(node, 2) or window), self._counted_padding(node)
        source, result = writer.read(node.args[0], True), writer.result(node, True)
        writer.add(
            NODES["DepthwiseConv2d"](
                *(rows, columns, rows, columns),
                *window,
                *strides,
                *(1, 1),
                *(1, 1, channels),
                *(0, 0),
                source,
                filters,
                NO_VALUE,
                result,
            ),
            writer.take_limits(),
        )


class MeanConfig(XNNPartitionerConfig):
    """The mean over height and width."""

    target_names: ClassVar[tuple[str, ...]] = ("aten.mean.dim",)

    def refusal_of_call(self, node: Node, program: ExportedProgram | None) -> str | None:
        image, dims = node.args[0], argument(node, 1)
        if rank_of(image) != 4:
            return f"its input has {rank_of(image)} dimensions, and XNNPACK takes 4"
        if sorted(dim % 4 for dim in dims or ()) != [2, 3]:
            return f"dim is {dims}, and XNNPACK takes height and width"
        if rank_of(node) != 4 and not any(is_static([size]) for size in image.meta["val"].shape[:2]):
            return "its batch size and its number of channels are known only when the model runs"
        return None

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        return MeanConfig.refusal_of_call(self, node, program)

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        source = writer.read(node.args[0], True)
        if rank_of(node) == 4:
            writer.add(NODES["GlobalAvgPooling2d"](source, writer.result(node, True), KEEP_DIMS))
            return
        count, _, _, channels = writer.values[source].dims
        mean = writer.temporary([count, 1, 1, channels])
        writer.add(NODES["GlobalAvgPooling2d"](source, mean, KEEP_DIMS))
        sizes = zip((count, channels), node.meta["val"].shape, strict=True)
        shape = [largest if is_static([size]) else 0 for largest, size in sizes]
        writer.add(NODES["StaticReshape"](2, shape, mean, writer.result(node)))


class AdaptivePoolConfig(MeanConfig):
    """Means over the whole image, or over windows of one size, where the result's size divides the image's."""

    target_names = ("aten._adaptive_avg_pool2d.default",)

    @staticmethod
    def _window(node: Node) -> tuple[int, int] | None:
        """Height and width of every window, None if they differ or are known only when the model runs."""
        image, size = node.args[0].meta["val"].shape[2:], argument(node, 1)
        if not is_static(image) or any(n == 0 or n % m for n, m in zip(image, size, strict=True)):
            return None
        height, width = (n // m for n, m in zip(image, size, strict=True))
        return height, width

    @staticmethod
    def _is_mean(node: Node) -> bool:
        return tuple(argument(node, 1)) == (1, 1)

    def refusal_of_call(self, node: Node, program: ExportedProgram | None) -> str | None:
        if rank_of(node) != 4:
            return f"its input has {rank_of(node)} dimensions, and XNNPACK takes 4"
        if self._is_mean(node) or self._window(node):
            return None
        return f"its output is {argument(node, 1)}, which does not divide the image"

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        return None if self._is_mean(node) else "its output is not (1, 1)"

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        window = self._window(node)
        if self._is_mean(node) or window is None:
            super().lower(node, writer)
        elif window == (1, 1):
            assert isinstance(node.args[0], Node)
            writer.alias(node, node.args[0])
        else:
            source, result = writer.read(node.args[0], True), writer.result(node, True)
            writer.add(NODES["AvgPooling2d"](*(0, 0, 0, 0), *window, *window, *(1, 1), source, result))


class ResizeConfig(XNNPartitionerConfig):
    keeps_scale = True
    target_names = ("aten.upsample_bilinear2d.vec",)
    keep_whole = True

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        size = node.meta["val"].shape[2:]
        if not is_static(size):
            return f"its size {tuple(size)} is known only when the model runs"
        if not is_static(node.meta["val"].shape[1:2]):
            return DYNAMIC_CHANNELS
        before, factors = node.args[0].meta["val"].shape[2:], argument(node, 3)
        # PyTorch uses a step of 1 / factor, XNNPACK the ratio of the sizes.
        if factors and not argument(node, 2) and any(n * f != m for n, f, m in zip(before, factors, size, strict=True)):
            return (
                f"its scale factors {tuple(factors)} are not the ratio of its sizes {tuple(before)} and {tuple(size)}"
            )
        return None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        height, width = node.meta["val"].shape[2:]
        flags = ALIGN_CORNERS if argument(node, 2) else 0
        source, result = writer.read(node.args[0], True), writer.result(node, True)
        writer.add(NODES["StaticResizeBilinear2D"](height, width, source, result, flags))
