# SPDX-License-Identifier: BSD-3-Clause
"""Poolings. `ceil_mode` becomes padding that gives the same number of windows, because the runtime rounds the number
of windows of an average pooling down."""

from __future__ import annotations

import operator

import torch
from torch.fx import Node

from sdk.backends.apple.mps.operators.node_visitor import FLOATS, NodeVisitor, register_node_visitor
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.nodes import MPSMul
from sdk.backends.apple.mps.serialization.shape_nodes import MPSAvgPool2D, MPSMaxPool2DWithIndices
from sdk.backends.graph.names import arguments_of


class _Window:
    """The window of a pooling in the last two dimensions, and the padding on the sides before and after."""

    def __init__(self, node: Node) -> None:
        given = arguments_of(node)
        self.sizes = [int(size) for size in given["self"].meta["val"].shape]
        value = node.meta["val"]
        results = [int(size) for size in (value if isinstance(value, torch.Tensor) else value[0]).shape]
        self.kernel = _pair(given["kernel_size"])
        self.stride = _pair(given["stride"]) if given["stride"] else self.kernel
        self.before = _pair(given["padding"])
        self.dilation = _pair(given.get("dilation", [1]))
        extents = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]
        needed = [
            (results[-2 + i] - 1) * self.stride[i] + extents[i] - self.sizes[-2 + i] - self.before[i] for i in (0, 1)
        ]
        self.after = [max(pad, need) for pad, need in zip(self.before, needed, strict=True)]
        self.dtype = given["self"].meta["val"].dtype

    @property
    def is_ragged(self) -> bool:
        """Whether windows reach beyond the padding of the model."""
        return self.after != self.before

    def refusal(self) -> str | None:
        if len(self.sizes) != 4:
            return f"MPS pools tensors of rank 4; this one has {len(self.sizes)}"
        return None if self.dtype in FLOATS else "MPS pools floats"

    def fields(self) -> dict[str, int | bool]:
        """The fields that all poolings have."""
        return {
            "kernel_height": self.kernel[0],
            "kernel_width": self.kernel[1],
            "stride_height": self.stride[0],
            "stride_width": self.stride[1],
            "padding_left": self.before[1],
            "padding_right": self.after[1],
            "padding_top": self.before[0],
            "padding_bottom": self.after[0],
            "dilation_height": self.dilation[0],
            "dilation_width": self.dilation[1],
            "ceil_mode": False,
        }


@register_node_visitor
class MaxPool2DWithIndicesVisitor(NodeVisitor):
    """Maxima, and their indices if the program reads them."""

    target = "aten.max_pool2d_with_indices.default"

    def refusal(self, node: Node) -> str | None:
        return _Window(node).refusal()

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        value = self.define_tensor(arguments_of(node)["self"], mps_graph)
        first, second = self.define_tensor_list(node, mps_graph)
        fields = _Window(node).fields()
        self.add(
            MPSMaxPool2DWithIndices(input1_id=value, output1_id=first, output2_id=second, **fields),  # type: ignore[arg-type]
            mps_graph,
        )
        if any(user.target is operator.getitem and user.args[1] == 1 for user in node.users):
            self.cast_in_place(second, torch.int64, mps_graph)  # the runtime's indices are int32


@register_node_visitor
class AvgPool2DVisitor(NodeVisitor):
    """Averages. For a divisor_override, the average over whole windows is multiplied by a factor."""

    target = "aten.avg_pool2d.default"

    def refusal(self, node: Node) -> str | None:
        window, given = _Window(node), arguments_of(node)
        reason = window.refusal()
        if reason is not None:
            return reason
        counts = given["count_include_pad"] and any(window.before) and given["divisor_override"] is None
        if window.is_ragged and counts:
            return "MPS cannot count the model's padding without the padding that ceil_mode adds"
        return None

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        window, given = _Window(node), arguments_of(node)
        divisor = given["divisor_override"]
        value = self.define_tensor(given["self"], mps_graph)
        result = self.define_tensor(node, mps_graph)
        counts = divisor is not None or (given["count_include_pad"] and not window.is_ragged)
        fields = window.fields()
        average = result
        if divisor is not None:
            average = self.define_value(window.dtype, list(node.meta["val"].shape), mps_graph)
        self.add(
            MPSAvgPool2D(input1_id=value, output1_id=average, count_include_pad=counts, **fields),  # type: ignore[arg-type]
            mps_graph,
        )
        if divisor is not None:
            factor = window.kernel[0] * window.kernel[1] / divisor
            self.add(MPSMul(average, self.define_scalar(factor, window.dtype, mps_graph), result), mps_graph)


def _pair(values: int | list[int]) -> list[int]:
    """A number for each of two dimensions."""
    numbers = [int(value) for value in (values if isinstance(values, (list, tuple)) else [values])]
    return numbers * 2 if len(numbers) == 1 else numbers
