# SPDX-License-Identifier: BSD-3-Clause
"""Calls that are computed in integers, such as exact sums of products, which `rescale` brings to the result's scale. A
rule reads the operands as int64 and returns the result's integers, or a list for several results; the caller limits
them to the range of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch.nn import functional

from sdk.backends.npu.graph import Call, Graph, Quantization, Ref, Value
from sdk.backends.npu.rescale import rescale

_ALIGNED = 20
"""The number of bits by which the operands of a sum are shifted left before they get one scale."""


Rescale = Callable[[torch.Tensor, Sequence[float], "int | None"], torch.Tensor]


@dataclass
class Computation:
    """A call whose operands and result are quantised.

    Attributes:
        call: The call.
        values: The values of the graph.
        tensors: The tensors by position, with the dtypes that the values declare.
        rescale: The function that multiplies sums by fixed-point factors.
    """

    call: Call
    values: Sequence[Value]
    tensors: Sequence[torch.Tensor | None]
    rescale: Rescale = rescale

    @property
    def out(self) -> Quantization:
        return self.quantization(self.call.results[0])

    def quantization(self, position: int) -> Quantization:
        found = self.values[position].quantization
        assert found is not None
        return found

    def given(self, argument: Any) -> Quantization:
        """The quantisation of an argument."""
        return self.quantization(argument.value)

    def stored(self, argument: Ref) -> torch.Tensor:
        """The integers of an argument."""
        tensor = self.tensors[argument.value]
        assert tensor is not None
        return tensor.to(torch.int64)

    def centred(self, argument: Ref) -> torch.Tensor:
        """The integers of an argument minus its zero points."""
        given, tensor = self.given(argument), self.stored(argument)
        if given.axis is None:
            return tensor - given.zero_point
        shape = [-1 if dim == given.axis else 1 for dim in range(tensor.dim())]
        return tensor - torch.tensor(given.zero_points, dtype=torch.int64).reshape(shape)

    def finished(self, sums: torch.Tensor, factors: Sequence[float], axis: int | None = None) -> torch.Tensor:
        """Quantises sums times `factors` to integers with the result's scale and zero point."""
        return self.rescale(sums, [factor / self.out.scale for factor in factors], axis) + self.out.zero_point


Rule = Callable[[Computation], torch.Tensor | list[torch.Tensor]]


def rule_of(call: Call, graph: Graph) -> Rule | None:
    """Returns the function that computes a call in integers, or None if it is computed in floats, for example because
    an operand or the result is not quantised."""
    rule = _RULES.get(call.name)
    if rule is None or not call.results or graph.values[call.results[0]].quantization is None:
        return None
    bias = _BIAS.get(call.name)
    for position, argument in enumerate(call.args):
        refs = [argument] if isinstance(argument, Ref) else argument if isinstance(argument, list) else []
        if position != bias and any(
            isinstance(each, Ref) and graph.values[each.value].quantization is None for each in refs
        ):
            return None
    # Only weights and biases have several scales.
    given = call.args[bias] if bias is not None else None
    added = given.value if isinstance(given, Ref) else -1
    several = [each for each in call.operands() if each != added and _has_axis(graph.values[each])]
    weight = call.args[1].value if call.name in _BIAS else -1
    if any(position != weight for position in several) or (several and not _fits(call, graph.values[weight])):
        return None
    return rule if rule not in (_average, _adaptive_average) or _is_uniform(call, graph) else None


def _has_axis(value: Value) -> bool:
    return value.quantization is not None and value.quantization.axis is not None


def _fits(call: Call, weight: Value) -> bool:
    """Whether a weight has a scale for each output channel. Those of transposed convolutions are not supported."""
    assert weight.quantization is not None
    transposed = call.name == "aten.convolution.default" and call.args[6]
    return weight.quantization.axis == 0 and not transposed


def _bias(c: Computation, argument: Any, scales: Sequence[float]) -> torch.Tensor | None:
    if not isinstance(argument, Ref):
        return None
    value, tensor = c.values[argument.value], c.tensors[argument.value]
    assert tensor is not None
    if value.quantization is not None:
        tensor = c.centred(argument).to(torch.float64) * torch.tensor(value.quantization.scales, dtype=torch.float64)
    return torch.round(tensor.to(torch.float64) / torch.tensor(scales, dtype=torch.float64)).to(torch.int64)


def _convolution(c: Computation) -> torch.Tensor:
    source, weight, bias, stride, padding, dilation, transposed, output_padding, groups = c.call.args
    # float64 holds the sums exactly: they are below 2**53.
    x, w = c.centred(source).to(torch.float64), c.centred(weight).to(torch.float64)
    sums = torch.ops.aten.convolution(x, w, None, stride, padding, dilation, transposed, output_padding, groups)
    return _weighted(c, sums, source, weight, bias, 1)


def _linear(c: Computation) -> torch.Tensor:
    source, weight, bias = c.call.args
    sums = c.centred(source).to(torch.float64) @ c.centred(weight).to(torch.float64).T
    return _weighted(c, sums, source, weight, bias, sums.dim() - 1)


def _weighted(c: Computation, sums: torch.Tensor, source: Ref, weight: Ref, bias: Any, axis: int) -> torch.Tensor:
    scales = [c.given(source).scale * scale for scale in c.given(weight).scales]
    added = _bias(c, bias, scales)
    whole = sums.to(torch.int64)
    if added is not None:
        whole = whole + added.reshape([-1 if dim == axis else 1 for dim in range(whole.dim())])
    return c.finished(whole, scales, axis if len(scales) > 1 else None)


def _matmul(c: Computation) -> torch.Tensor:
    first, second = c.call.args[:2]
    sums = c.centred(first).to(torch.float64) @ c.centred(second).to(torch.float64)
    return c.finished(sums.to(torch.int64), [c.given(first).scale * c.given(second).scale])


def _sum_of_two(sign: int) -> Rule:
    def compute(c: Computation) -> torch.Tensor:
        first, second, alpha = c.call.args
        scales = c.given(first).scale, c.given(second).scale * sign * alpha
        unit = 2 * max(map(abs, scales))
        aligned = [
            c.rescale(c.centred(operand) << _ALIGNED, [scale / unit], None)
            for operand, scale in zip((first, second), scales, strict=True)
        ]
        return c.finished(aligned[0] + aligned[1], [unit / (1 << _ALIGNED)])

    return compute


def _product(c: Computation) -> torch.Tensor:
    first, second = c.call.args[:2]
    return c.finished(c.centred(first) * c.centred(second), [c.given(first).scale * c.given(second).scale])


def _mean(c: Computation) -> torch.Tensor:
    source, dims, keepdim = c.call.args[:3]
    x = c.centred(source)
    over = [dim % max(x.dim(), 1) for dim in dims or range(x.dim())]
    count = prod(x.shape[dim] for dim in over)
    sums = x.sum(over, keepdim=bool(keepdim)) if over else x
    return c.finished(sums, [c.given(source).scale / count])


def _pool(c: Computation, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int]) -> torch.Tensor:
    x = c.centred(c.call.args[0]).to(torch.float64)
    padded = functional.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    windows = padded.unfold(-2, kernel[0], stride[0]).unfold(-2, kernel[1], stride[1])
    divisor = c.call.args[6] if c.call.name == "aten.avg_pool2d.default" else None
    scale = c.given(c.call.args[0]).scale / (divisor or kernel[0] * kernel[1])
    return c.finished(windows.sum((-2, -1)).to(torch.int64), [scale])


def _average(c: Computation) -> torch.Tensor:
    kernel = _pair(c.call.args[1])
    return _pool(c, kernel, _pair(c.call.args[2]) if c.call.args[2] else kernel, _pair(c.call.args[3]))


def _adaptive_average(c: Computation) -> torch.Tensor:
    sizes = c.values[c.call.args[0].value].shape[-2:]
    kernel = tuple(size // out for size, out in zip(sizes, _pair(c.call.args[1]), strict=True))
    return _pool(c, kernel, kernel, (0, 0))


def _is_uniform(call: Call, graph: Graph) -> bool:
    """Whether all windows of an average pool have the same number of elements."""
    if call.name == "aten._adaptive_avg_pool2d.default":
        sizes = graph.values[call.args[0].value].shape[-2:]
        return all(size % out == 0 for size, out in zip(sizes, _pair(call.args[1]), strict=True))
    padding, ceil, with_padding = call.args[3:6]
    return not ceil and (bool(with_padding) or not any(padding))


def _pair(sizes: Any) -> tuple[int, int]:
    given = list(sizes) if isinstance(sizes, (list, tuple)) else [sizes]
    return (given[0], given[-1])


def _requantized(c: Computation, argument: Ref, moved: torch.Tensor) -> torch.Tensor:
    """Rescales the integers of an operand to the scale of the result."""
    given, out = c.given(argument), c.out
    if (given.scales, given.zero_points) == (out.scales, out.zero_points):
        return moved
    return c.finished(moved - given.zero_point, [given.scale])


def _move(c: Computation) -> torch.Tensor:
    """Operators that move or select elements, applied to the stored integers, which are then rescaled."""
    source = c.call.args[0]
    # Some of them have no kernel for integers in PyTorch; float64 holds these exactly.
    moved = aten(c.call.name, [c.stored(source).to(torch.float64), *c.call.args[1:]])
    return _requantized(c, source, moved.to(torch.int64))


def _parts(c: Computation) -> list[torch.Tensor]:
    source, sizes, dim = c.call.args
    return [_requantized(c, source, part) for part in torch.split(c.stored(source), sizes, dim)]


def _pad(c: Computation) -> torch.Tensor:
    source, padding, number = c.call.args
    given = c.given(source)
    stored = round(number / given.scale) + given.zero_point
    filled = torch.constant_pad_nd(c.stored(source), padding, min(max(stored, given.low), given.high))
    return _requantized(c, source, filled)


def _joint(c: Computation) -> torch.Tensor:
    parts, dim = c.call.args
    return torch.cat([_requantized(c, part, c.stored(part)) for part in parts], dim)


def _limited(c: Computation) -> torch.Tensor:
    source, low, high = c.call.args if len(c.call.args) > 1 else (c.call.args[0], 0, None)  # relu
    return clamped(_requantized(c, source, c.stored(source)), c.out, low, high)


def clamped(stored: torch.Tensor, out: Quantization, low: float | None, high: float | None) -> torch.Tensor:
    """Integers within the range of a result, and within limits given as numbers."""

    def limit(number: float) -> int:
        return min(max(round(number / out.scale) + out.zero_point, out.low), out.high)

    return stored.clamp(out.low if low is None else limit(low), out.high if high is None else limit(high))


def _max_pool(c: Computation) -> torch.Tensor:
    source, *rest = c.call.args
    # Elements that padding adds are smaller than all others.
    pooled, _ = aten(c.call.name, [c.stored(source).to(torch.float64), *rest])
    return _requantized(c, source, pooled.to(torch.int64))


def overload(name: str) -> torch._ops.OpOverload:
    """The operator of ATen with a name such as `aten.add.Tensor`."""
    _, packet, variant = name.split(".")
    found: torch._ops.OpOverload = getattr(getattr(torch.ops.aten, packet), variant)
    return found


def aten(name: str, args: Sequence[Any]) -> Any:
    """Calls an operator of ATen by its name, with its arguments in the order of its schema."""
    function = overload(name)
    named = {
        argument.name: given
        for argument, given in zip(function._schema.arguments, args, strict=False)
        if argument.kwarg_only
    }
    return function(*args[: len(args) - len(named)], **named)


MOVES = frozenset(
    f"aten.{name}"
    for name in (
        "alias_copy.default", "clone.default", "expand_copy.default", "flip.default", "permute_copy.default",
        "pixel_shuffle.default", "pixel_unshuffle.default", "repeat.default", "select_copy.int", "slice_copy.Tensor",
        "squeeze_copy.dim", "squeeze_copy.dims", "t_copy.default", "transpose_copy.int", "unsqueeze_copy.default",
        "upsample_nearest2d.vec", "view_copy.default",
    )
)  # fmt: skip
"""Operators of one operand that only move or select its elements."""

_BIAS = {"aten.convolution.default": 2, "aten.linear.default": 2}
"""The operators with weights, and the position of their bias, which may be float."""

_RULES: dict[str, Rule] = {
    "aten.convolution.default": _convolution,
    "aten.linear.default": _linear,
    "aten.bmm.default": _matmul,
    "aten.mm.default": _matmul,
    "aten.add.Tensor": _sum_of_two(1),
    "aten.sub.Tensor": _sum_of_two(-1),
    "aten.mul.Tensor": _product,
    "aten.mean.dim": _mean,
    "aten.avg_pool2d.default": _average,
    "aten._adaptive_avg_pool2d.default": _adaptive_average,
    "aten.max_pool2d_with_indices.default": _max_pool,
    "aten.constant_pad_nd.default": _pad,
    "aten.cat.default": _joint,
    "aten.split_with_sizes_copy.default": _parts,
    "aten.relu.default": _limited,
    "aten.hardtanh.default": _limited,
    "aten.clamp.default": _limited,
    **dict.fromkeys(sorted(MOVES), _move),
}
