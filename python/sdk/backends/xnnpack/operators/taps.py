# SPDX-License-Identifier: BSD-3-Clause
"""The part of a convolution's window that reads the image.

A dilated window may be larger than the image: at 224 pixels, two of the three dilated convolutions of DeepLabV3 read
nothing but padding with eight of their nine elements. Padding is zeros, so these elements are left out of the program.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch.fx import Node

from sdk.backends.graph.names import argument
from sdk.backends.xnnpack.operators.operator import is_static, pair, rank_of


@dataclass(frozen=True)
class Taps:
    """Rows, or columns, of a window, from `first` to before `end`, and the padding before and after the image that this
    part of the window needs."""

    first: int
    end: int
    before: int
    after: int

    @staticmethod
    def of(size: int, window: int, stride: int, padding: int, dilation: int) -> Taps:
        """Returns the rows of the window for an image of `size` rows, without the first and last rows that read only
        padding. The number of results is the same as for the whole window."""
        results = (size + 2 * padding - dilation * (window - 1) - 1) // stride + 1

        def reads(tap: int) -> bool:
            # The first position of the window at which this row is not in the padding above the image.
            offset = tap * dilation - padding
            place = max(0, -(offset // stride))
            return place < results and offset + place * stride < size

        taps = [tap for tap in range(window) if reads(tap)]
        if not taps:
            return Taps(0, window, padding, padding)
        # Each row that is left out needs less padding, which must not become negative.
        first = min(taps[0], padding // dilation)
        last = max(taps[-1], window - 1 - padding // dilation)
        return Taps(first, last + 1, padding - first * dilation, padding - (window - 1 - last) * dilation)


def taps_of(node: Node) -> tuple[Taps, Taps]:
    """Returns the rows and columns of a convolution's window that its program needs: all of them if the size of the
    image is known only at run time, or if the convolution is transposed."""
    assert rank_of(node) == 4 and isinstance(node.args[0], Node) and isinstance(node.args[1], Node)
    image, window = node.args[0].meta["val"].shape[2:], node.args[1].meta["val"].shape[2:]
    numbers = list(zip(*(pair(argument(node, i)) for i in (3, 4, 5)), strict=True))
    if argument(node, 6) or not is_static(image):
        rows, columns = (Taps(0, n, padding, padding) for n, (_, padding, _) in zip(window, numbers, strict=True))
    else:
        rows, columns = (Taps.of(size, n, *each) for size, n, each in zip(image, window, numbers, strict=True))
    return rows, columns
