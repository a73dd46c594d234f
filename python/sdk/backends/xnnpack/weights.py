# SPDX-License-Identifier: BSD-3-Clause
"""Quantised weights, in graphs and in payloads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.export import ExportedProgram

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import DEQUANTIZE, DEQUANTIZE_AFFINE
from sdk.backends.transforms.constants import get_constant

_PREFIX = "quantized_decomposed."
BY_CHANNEL = f"{_PREFIX}dequantize_per_channel.default"
BY_GROUP = f"{_PREFIX}dequantize_per_channel_group.default"
NAMES = (DEQUANTIZE, BY_CHANNEL, BY_GROUP, DEQUANTIZE_AFFINE)

BLOCK = 32  # group sizes are multiples of it


@dataclass(frozen=True)
class QuantizedWeight:
    """Weights that are quantised symmetrically.

    Attributes:
        values: int8.
        scales: float32, one for each channel, or [channels, groups].
        axis: The dimension of the channels.
        bits: 8 or 4.
        group: The number of elements of a row that share a scale; None for one scale in each row.
    """

    values: torch.Tensor
    scales: torch.Tensor
    axis: int
    bits: int = 8
    group: int | None = None

    def permute(self, *dims: int) -> QuantizedWeight:
        return replace(self, values=self.values.permute(dims), axis=dims.index(self.axis))

    def part(self, slices: tuple[slice, ...]) -> QuantizedWeight:
        """Returns a slice of the weights: all channels, and the given parts of the other dimensions."""
        return replace(self, values=self.values[slices])

    def packed(self) -> torch.Tensor:
        """The bytes of a payload. Two elements of an int4 row share a byte, the first in the lower half; 8 is added to
        each."""
        values = self.values.contiguous()
        if self.bits == 8:
            return values
        nibbles = (values + 8).to(torch.uint8)
        return nibbles[..., ::2] | (nibbles[..., 1::2] << 4)


def is_quantized(node: Any) -> bool:
    """Whether a node dequantises weights, or permutes dequantised weights."""
    return name_of(node) in NAMES or (_is_turned(node) and is_quantized(node.args[0]))


def find_weight(program: ExportedProgram, node: Any, axis: int) -> QuantizedWeight | str:
    """The weight that `node` dequantises, with its channels in dimension `axis`; or, as a string, why XNNPACK does not
    support it."""
    if _is_turned(node):
        found = find_weight(program, node.args[0], 1 - axis)
        return found if isinstance(found, str) else found.permute(1, 0)
    values = get_constant(program, node.args[0]) if name_of(node) in NAMES else None
    if values is None:
        return f"{node} is not the dequantisation of a constant"
    name, args = name_of(node), node.args
    group: int | None = None
    zeros: Any
    if name == DEQUANTIZE:
        scales, zeros, (low, high) = torch.tensor([float(args[1])]), torch.tensor([args[2]]), args[3:5]
    elif name == BY_CHANNEL:
        scales, zeros, found_axis, low, high = (args[i] for i in (1, 2, 3, 4, 5))
        scales, zeros = get_constant(program, scales), zeros and get_constant(program, zeros)
        if found_axis % values.dim() != axis:
            return f"its weights have their scales in dimension {found_axis}, and XNNPACK takes {axis}"
    elif name == BY_GROUP:
        scales, zeros = get_constant(program, args[1]), args[2] and get_constant(program, args[2])
        low, high, group = args[3], args[4], args[6]
    else:
        block, scales, zeros = args[1], get_constant(program, args[2]), args[3] and get_constant(program, args[3])
        low, high = _range(args)
        expected = [1 if dim == axis else size for dim, size in enumerate(values.shape)]
        if list(block) != expected:
            if values.dim() != 2 or axis != 0 or block[0] != 1:
                return f"its weights have scales for blocks of {list(block)}"
            group = block[1]
    if scales is None:
        return "its scales are not constant"
    if zeros is not None and bool(torch.as_tensor(zeros).any()):
        return "its weights have zero points, and XNNPACK takes none"
    return _checked(values, scales, axis, 4 if low >= -8 and high <= 7 else 8, group)


def _checked(
    values: torch.Tensor, scales: torch.Tensor, axis: int, bits: int, group: int | None
) -> QuantizedWeight | str:
    channels = values.shape[axis]
    if values.dtype != torch.int8:
        return f"its weights are {str(values.dtype).removeprefix('torch.')}, and XNNPACK takes int8"
    scales = scales.detach().to(torch.float32).reshape(-1)
    if group is not None and group != values.shape[-1]:
        if bits != 4 or group % BLOCK or values.shape[-1] % group:
            return (
                f"its weights have {bits} bits in groups of {group} among {values.shape[-1]}, and XNNPACK takes 4 bits "
                f"and whole groups of a multiple of {BLOCK}"
            )
        scales = scales.reshape(channels, -1)
    else:
        group = None
        scales = scales.expand(channels)
    if bits == 4 and (values.dim() != 2 or values.shape[1] % 2):
        bits = 8  # the same integers in a wider type
    kept = scales.bfloat16().float() if group else scales
    if not bool((kept >= torch.finfo(torch.float32).smallest_normal).all() and kept.isfinite().all()):
        return "a scale of its weights is not a positive normal number"
    return QuantizedWeight(values.detach(), scales, axis, bits, group)


def _range(args: tuple[Any, ...]) -> tuple[int, int]:
    """Returns the range of torchao's dequantize_affine. The default is the range of the dtype."""
    low, high = (*args[5:7], None, None)[:2]
    return -128 if low is None else int(low), 127 if high is None else int(high)


def _is_turned(node: Any) -> bool:
    name = name_of(node)
    if name in ("aten.t.default", "aten.t_copy.default"):
        return True
    return name in ("aten.permute.default", "aten.permute_copy.default") and [d % 2 for d in node.args[1]] == [1, 0]
