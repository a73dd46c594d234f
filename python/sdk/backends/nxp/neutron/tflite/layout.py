# SPDX-License-Identifier: BSD-3-Clause
"""Decides which images of a graph have channels last, as LiteRT's convolutions and pools require."""

from __future__ import annotations

from collections.abc import Iterable

from sdk.backends.npu.graph import ASSUME, DEQUANTIZE, QUANTIZE, Call, Graph

TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
"""The dimensions of PyTorch's images in the order of LiteRT's, and the reverse."""

_IMAGES = frozenset(
    f"aten.{name}"
    for name in (
        "_adaptive_avg_pool2d.default", "avg_pool2d.default", "convolution.default",
        "max_pool2d_with_indices.default", "upsample_bilinear2d.vec", "upsample_nearest2d.vec",
    )
)  # fmt: skip

_ALIKE = frozenset(
    f"aten.{name}"
    for name in (
        "abs.default", "add.Tensor", "cat.default", "clamp.default", "clone.default", "constant_pad_nd.default",
        "exp.default", "hardtanh.default", "leaky_relu.default", "log.default", "maximum.default",
        "minimum.default", "mul.Tensor", "neg.default", "prelu.default", "relu.default", "sigmoid.default",
        "slice_copy.Tensor", "sub.Tensor", "tanh.default",
    )
) | {ASSUME, DEQUANTIZE, QUANTIZE}  # fmt: skip
"""Operators for which the order of the dimensions does not matter."""

REDUCTIONS = {
    "aten.mean.dim": "MEAN",
    "aten.sum.dim_IntList": "SUM",
    "aten.amax.default": "REDUCE_MAX",
    "aten.amin.default": "REDUCE_MIN",
}
"""Operators that reduce dimensions, and their names in LiteRT."""


def channels_last(graph: Graph) -> set[int]:
    """Returns the four-dimensional values that are stored with channels last: those of convolutions and pools, and
    those connected with them by operators for which the order of dimensions does not matter."""
    groups = _Groups()
    seeds: list[int] = []
    for call in graph.calls:
        images = [each for each in (*call.operands(), *call.results[:1]) if _is_image(graph, each)]
        if call.name in _IMAGES:
            images = [each for each in (call.args[0].value, call.results[0]) if _is_image(graph, each)]
            seeds += images
        elif _is_channel_softmax(graph, call):
            seeds += images
        elif call.name in _ALIKE or (call.name in REDUCTIONS and call.args[2]):
            groups.join(images)
    roots = {groups.root(seed) for seed in seeds}
    return {position for position in range(len(graph.values)) if groups.root(position) in roots}


def _is_image(graph: Graph, position: int) -> bool:
    value = graph.values[position]
    return value.data is None and len(value.shape) == 4


def _is_channel_softmax(graph: Graph, call: Call) -> bool:
    if call.name != "aten._softmax.default":
        return False
    return len(graph.values[call.results[0]].shape) == 4 and call.args[1] % 4 == 1


class _Groups:
    """Disjoint sets of positions. Sets can be joined."""

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}

    def root(self, position: int) -> int:
        while (parent := self._parents.get(position, position)) != position:
            position = parent
        return position

    def join(self, positions: Iterable[int]) -> None:
        roots = [self.root(each) for each in positions]
        for root in roots[1:]:
            self._parents[root] = self.root(roots[0])
