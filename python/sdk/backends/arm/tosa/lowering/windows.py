# SPDX-License-Identifier: BSD-3-Clause
"""The arithmetic of windows, which convolutions and pools share.

TOSA requires that windows, with the padding, end exactly where the input ends. PyTorch leaves the rest of the input
unread, or with `ceil_mode` reads beyond it. So the padding after the input follows from the size of the result; where
it is negative, the end of the input is cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value

MOST = 8192
"""The largest kernel, stride and padding of TOSA's level 8K."""


@dataclass(frozen=True)
class Window:
    """The window of a convolution or pool along one dimension."""

    kernel: int
    stride: int
    before: int
    dilation: int = 1

    def after(self, size: int, results: int) -> int:
        """The padding after an input of size `size` that gives `results` results."""
        return (results - 1) * self.stride + (self.kernel - 1) * self.dilation + 1 - size - self.before


def windows(kernel: Any, stride: Any, padding: Any, dilation: Any, count: int) -> list[Window]:
    """Windows by dimension. PyTorch's lists may have one number for all; an empty stride means the kernel size.

    Raises UnsupportedError for windows beyond the limits of TOSA's level 8K.
    """
    stride = stride or kernel
    lists = [list(each) if len(each) == count else list(each) * count for each in (kernel, stride, padding, dilation)]
    found = [Window(*numbers) for numbers in zip(*lists, strict=True)]
    for window in found:
        if max(window.kernel * window.dilation, window.stride, window.before) > MOST:
            raise UnsupportedError(f"a kernel, stride or padding is above {MOST}, the limit of TOSA's level 8K")
    return found


def fitted(
    b: Builder, value: Value, found: Sequence[Window], results: Sequence[int]
) -> tuple[Value, list[tuple[int, int]]]:
    """A value [batch, *sizes, channels] without the ends that no window reads, and the padding by dimension."""
    pads = []
    for axis, (window, count) in enumerate(zip(found, results, strict=True), start=1):
        after = window.after(value.shape[axis], count)
        if after < 0:
            value = b.cut(value, axis, 0, value.shape[axis] + after)
        pads.append((window.before, max(after, 0)))
    return value, pads


def channels_last(rank: int) -> tuple[int, ...]:
    """The layout of TOSA's convolutions and pools: the batch, the sizes, the channels."""
    return (0, *range(2, rank), 1)
