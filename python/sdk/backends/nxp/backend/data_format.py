# SPDX-License-Identifier: BSD-3-Clause
"""`DataFormat`: how the dimensions of a tensor are ordered in NXP's graphs."""

from __future__ import annotations

from enum import Enum


class DataFormat(Enum):
    """The formats of inputs and outputs in payloads."""

    CHANNELS_FIRST = 0
    CHANNELS_LAST = 10
    FORMATLESS = 20
    """The order of dimensions in PyTorch."""

    def is_channels_first(self) -> bool:
        return self is DataFormat.CHANNELS_FIRST

    def is_channels_last(self) -> bool:
        return self is DataFormat.CHANNELS_LAST
