# SPDX-License-Identifier: BSD-3-Clause
"""The quantisation parameters of folded calls: `INPUTS` and `OUTPUT` of `Node.meta`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from sdk.backends.graph.names import arguments_of

INPUTS, OUTPUT = "input_qparams", "output_qparams"


@dataclass(frozen=True)
class QuantArgs:
    """A scale and a zero point, one each or one for each channel along `axis`, and the range of the integers."""

    scale: Any  # a float, or a tuple of them
    zp: Any  # an int, or a tuple of them
    qmin: int
    qmax: int
    dtype: torch.dtype
    axis: int = 0

    @property
    def per_channel(self) -> bool:
        return isinstance(self.scale, tuple)

    def scales(self, count: int) -> tuple[float, ...]:
        """The scale of each of `count` channels."""
        return self.scale if isinstance(self.scale, tuple) else (self.scale,) * count

    def quantized(self, value: float) -> int:
        """Quantises a number to the range, rounded as in PyTorch. Requires that there is one scale."""
        return int(max(self.qmin, min(self.qmax, round(value / self.scale) + self.zp)))

    def has(self, value: float) -> bool:
        """Whether an integer represents this number exactly."""
        return bool((self.quantized(value) - self.zp) * self.scale == value)

    def is_same_number(self, other: QuantArgs) -> bool:
        """Whether integers represent the same numbers in both."""
        return (self.scale, self.zp, self.dtype) == (other.scale, other.zp, other.dtype)

    @staticmethod
    def of(node: Node, tensor_of: Any) -> QuantArgs:
        """Returns the parameters of a quantize or dequantize node. `tensor_of` returns the tensor of a constant
        node."""
        given = arguments_of(node)
        limits = (int(given["quant_min"]), int(given["quant_max"]), given["dtype"])
        if "scales" not in given:
            return QuantArgs(float(given["scale"]), int(given["zero_point"]), *limits)

        def numbers(value: Any, kind: Any) -> tuple[Any, ...]:
            tensor: Tensor = tensor_of(value) if isinstance(value, Node) else value
            return tuple(kind(each) for each in tensor.tolist())

        scales = numbers(given["scales"], float)
        zero_points = (0,) * len(scales) if given["zero_points"] is None else numbers(given["zero_points"], int)
        return QuantArgs(scales, zero_points, *limits, axis=int(given["axis"]))


def input_of(node: Node, position: int) -> QuantArgs | None:
    """Returns how an operand of a folded call is quantised, or None if it is not quantised."""
    found: QuantArgs | None = node.meta.get(INPUTS, {}).get(position)
    return found


def output_of(node: Node) -> QuantArgs | None:
    """Returns how the result of a folded call is quantised, or None if the call was not folded."""
    found: QuantArgs | None = node.meta.get(OUTPUT, {}).get(0)
    return found


def is_int8(args: QuantArgs | None) -> bool:
    """Whether these are parameters for int8 with one scale."""
    return args is not None and args.dtype == torch.int8 and not args.per_channel
