# SPDX-License-Identifier: BSD-3-Clause
"""Calls of every operator of MPS. Inputs are multiples of 1/64, which float16 represents exactly, so that rounding
functions and comparisons give the same in both precisions. This file imports only PyTorch, because the original's
environment imports it, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch

SHAPES = [(5,), (2, 3, 7), (1, 32, 56, 56), (8, 197, 64)]
"""Two small shapes, an image of MobileNet and the tokens of a vision transformer."""


@dataclass
class Call:
    """A call of an operator, `namespace.name.overload`."""

    target: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    same: bool = True
    """Whether the original writes the same nodes for the call. Our nodes differ if the original's would be wrong, or if
    numbers are converted."""
    original: bool = True
    """Whether the original writes a payload that has PyTorch's meaning."""


def operator(target: str) -> Any:
    """The operator of PyTorch with this name."""
    namespace, name, overload = target.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload)


def floats(*shape: int, low: float = -4.0, high: float = 4.0, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    steps = torch.randint(int(low * 64), int(high * 64) + 1, shape, generator=generator)
    return steps.to(torch.float32) / 64


def integers(
    *shape: int, low: int = -9, high: int = 10, dtype: torch.dtype = torch.int64, seed: int = 0
) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def bools(*shape: int, seed: int = 0) -> torch.Tensor:
    return integers(*shape, low=0, high=2, dtype=torch.bool, seed=seed)


_DOMAINS = {
    "log": (0.125, 9.0), "log10": (0.125, 9.0), "log2": (0.125, 9.0), "sqrt": (0.0, 9.0), "rsqrt": (0.125, 9.0),
    "reciprocal": (0.25, 9.0), "asin": (-1.0, 1.0), "acos": (-1.0, 1.0), "atanh": (-0.9375, 0.9375),
    "acosh": (1.0, 9.0), "tan": (-1.25, 1.25),
}  # fmt: skip
FLOAT_FUNCTIONS = (
    "exp", "exp2", "reciprocal", "sqrt", "log", "log10", "log2", "erf", "rsqrt", "sigmoid", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
)  # fmt: skip
OTHER_FUNCTIONS = ("neg", "floor", "ceil", "sign", "abs", "isnan", "isinf", "round", "logical_not", "relu")


def unary() -> Iterator[Call]:
    for name in (*FLOAT_FUNCTIONS, *OTHER_FUNCTIONS):
        low, high = _DOMAINS.get(name, (-4.0, 4.0))
        same = name not in ("isnan", "isinf", "logical_not")
        for shape in SHAPES if name in ("exp", "neg", "relu") else SHAPES[:2]:
            yield Call(f"aten.{name}.default", (floats(*shape, low=low, high=high),), same=same)
        yield Call(f"aten.{name}.default", (floats(low=low, high=high),), same=same)
    for name in FLOAT_FUNCTIONS[:4]:
        yield Call(f"aten.{name}.default", (integers(3, 4, low=1, high=5),), same=False)
    for name in ("neg", "abs", "sign", "floor", "ceil", "round"):
        yield Call(f"aten.{name}.default", (integers(3, 4),), same=False)
    special = torch.tensor([0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), 2.5, -0.5])
    for name in ("isnan", "isinf", "round", "floor", "sign", "relu", "logical_not", "abs", "exp", "sigmoid", "tanh"):
        yield Call(f"aten.{name}.default", (special,), same=False)
    yield Call("aten.logical_not.default", (bools(3, 4),))
    yield Call("aten.logical_not.default", (integers(3, 4, low=-1, high=2),), same=False)
    yield Call("aten.isnan.default", (integers(4),), same=False)
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
        yield Call("aten.bitwise_not.default", (integers(3, 4, dtype=dtype),))
    yield Call("aten.bitwise_not.default", (bools(3, 4),))


_PAIRS = [((4, 5), (4, 5)), ((2, 3, 4), (4,)), ((1, 8, 1, 4), (8, 3, 1)), ((3, 2), ()), ((1, 197, 64), (1, 1, 64))]


def binary() -> Iterator[Call]:
    for name in ("add.Tensor", "sub.Tensor", "mul.Tensor", "minimum.default", "div.Tensor", "eq.Tensor", "ne.Tensor",
                 "ge.Tensor", "gt.Tensor", "le.Tensor", "lt.Tensor"):  # fmt: skip
        for left, right in _PAIRS:
            divisor = {"low": 0.5, "high": 4.0} if name == "div.Tensor" else {}
            yield Call(f"aten.{name}", (floats(*left, seed=1), floats(*right, seed=2, **divisor)))
    for name in ("add", "sub"):
        yield Call(f"aten.{name}.Tensor", (floats(4, 5), floats(5, seed=2)), {"alpha": 2.5})
        yield Call(f"aten.{name}.Tensor", (integers(4, 5), integers(5, seed=2)), {"alpha": 3})
        yield Call(f"aten.{name}.Tensor", (integers(4, 5), floats(5, seed=2)), same=False)
        yield Call(f"aten.{name}.Tensor", (integers(4, 5, dtype=torch.int32), integers(5)), same=False)
        yield Call(f"aten.{name}.Scalar", (floats(4, 5), 1.25))
        yield Call(f"aten.{name}.Scalar", (integers(4, 5), 3))
        yield Call(f"aten.{name}.Scalar", (integers(4, 5), 1.5), same=False, original=False)
    yield Call("aten.mul.Scalar", (floats(4, 5), 1.25))
    yield Call("aten.mul.Tensor", (bools(4, 5), floats(4, 5)), same=False)
    yield Call("aten.minimum.default", (integers(4, 5), integers(4, 5, seed=3)))
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
        yield Call("aten.mul.Tensor", (integers(3, 4, dtype=dtype), integers(4, dtype=dtype, seed=3)))
    positive = floats(4, 5, low=0.25)
    yield Call("aten.pow.Tensor_Tensor", (positive, floats(5, seed=2, low=-2.0, high=2.0)))
    yield Call("aten.pow.Tensor_Scalar", (floats(4, 5), 2.0))
    yield Call("aten.pow.Tensor_Scalar", (positive, -0.5))
    yield Call("aten.div.Tensor", (integers(4, 5), integers(5, low=1)), same=False)
    for name in ("div.Tensor_mode", "fmod.Tensor", "remainder.Tensor", "floor_divide.default"):
        x, y = floats(4, 5), torch.where(floats(5, seed=2) == 0, 1.0, floats(5, seed=2))
        for mode in ({"rounding_mode": "floor"}, {"rounding_mode": "trunc"}) if "mode" in name else ({},):
            yield Call(f"aten.{name}", (x, y), dict(mode), same=False, original="floor_divide" not in name)
    yield Call("aten.div.Tensor_mode", (floats(4, 5), floats(5, low=1.0)), {"rounding_mode": None})
    for name in ("fmod.Scalar", "remainder.Scalar"):
        yield Call(f"aten.{name}", (floats(4, 5), 1.75), same=False)
        yield Call(f"aten.{name}", (floats(4, 5), -0.75), same=False)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield Call(f"aten.{name}.Tensor", (integers(4, 5), integers(5, seed=3)))
        yield Call(f"aten.{name}.Tensor", (bools(4, 5), bools(5, seed=3)))
        yield Call(f"aten.{name}.Scalar", (integers(4, 5), 6))
    for name in ("eq", "ne", "ge", "gt", "le", "lt"):
        yield Call(f"aten.{name}.Scalar", (floats(4, 5), 0.5))
        yield Call(f"aten.{name}.Scalar", (integers(4, 5), 3))
        yield Call(f"aten.{name}.Scalar", (integers(4, 5), 2.5), same=False, original=False)
        yield Call(f"aten.{name}.Tensor", (integers(4, 5, low=2040, high=2060), floats(5, low=2.0)), same=False)
        yield Call(f"aten.{name}.Tensor", (bools(4, 5), bools(5, seed=3)), same=name in ("eq", "ne"))


def activations() -> Iterator[Call]:
    for shape in SHAPES:
        x = floats(*shape)
        yield Call("aten.hardtanh.default", (x, 0.0, 6.0))
        yield Call("aten.leaky_relu.default", (x, 0.25))
        yield Call("aten.gelu.default", (x,), original=True, same=False)
        yield Call("aten.gelu.default", (x,), {"approximate": "tanh"}, same=False)
        for name in ("_softmax", "_log_softmax"):
            yield Call(f"aten.{name}.default", (x, -1, False))
            yield Call(f"aten.{name}.default", (x, 0, False))
    yield Call("aten.hardtanh.default", (floats(4, 5),), original=False)
    yield Call("aten.leaky_relu.default", (floats(4, 5),))
    yield Call("aten.gelu.default", (floats(3, low=40.0, high=64.0),), {"approximate": "tanh"}, same=False)
    x = floats(4, 5)
    for bounds in ((-1.0, 1.5), (None, 1.5), (-1.0, None), (2.0, -2.0)):
        yield Call("aten.clamp.default", (x, *bounds))
        yield Call("aten.clamp.default", (integers(4, 5), *(b if b is None else int(b) for b in bounds)))
    yield Call("aten.clamp.default", (integers(4, 5), -1.5, 2.5), same=False, original=False)
    for left, right in _PAIRS:
        yield Call("aten.where.self", (bools(*left), floats(*right), floats(*left, seed=4)))
    yield Call("aten.where.self", (bools(4, 5), integers(4, 5), floats(5)), same=False)


def constants() -> Iterator[Call]:
    for value in (0.0, 1.5, float("inf"), float("-inf"), torch.finfo(torch.float32).min):
        same = value in (0.0, 1.5)
        yield Call("aten.full.default", ([2, 3], value), {"dtype": torch.float32}, same=same)
        yield Call("aten.scalar_tensor.default", (value,), {"dtype": torch.float32}, same=same)
        yield Call("aten.full_like.default", (floats(4, 5), value), same=same, original=same)
    yield Call("aten.full.default", ([2, 3], 7), {"dtype": torch.int64})
    yield Call("aten.full.default", ([4], True), {"dtype": torch.bool})
    yield Call("aten.full.default", ([], 2.0), {"dtype": torch.float32}, same=False)
    yield Call("aten.full_like.default", (integers(4, 5), 3))
    yield Call("aten.full_like.default", (integers(4, 5), 2.5), {"dtype": torch.float32})
    yield Call("aten.arange.start_step", (0, 197), {"dtype": torch.int64})
    yield Call("aten.arange.start_step", (5, -6, -2), {"dtype": torch.int32})
    yield Call("aten.arange.start_step", (0.25, 9.0, 0.5), {"dtype": torch.float32}, same=False)


def windows() -> Iterator[Call]:
    def conv(
        shape: tuple[int, ...],
        weight: tuple[int, ...],
        stride: list[int],
        padding: list[int],
        dilation: list[int],
        groups: int,
        bias: bool = True,
        **options: bool,
    ) -> Call:
        x, w = floats(*shape, low=-1, high=1), floats(*weight, low=-0.5, high=0.5, seed=1)
        b = floats(weight[0], seed=2) if bias else None
        rest = (stride, padding, dilation, False, [0] * len(stride), groups)
        return Call("aten.convolution.default", (x, w, b, *rest), **options)

    yield conv((1, 3, 32, 32), (8, 3, 3, 3), [2, 2], [1, 1], [1, 1], 1)
    yield conv((2, 8, 14, 13), (6, 8, 1, 1), [1, 1], [0, 0], [1, 1], 1, bias=False)
    yield conv((1, 3, 32, 32), (8, 3, 16, 16), [16, 16], [0, 0], [1, 1], 1)
    yield conv((1, 8, 14, 14), (8, 1, 3, 3), [2, 1], [1, 2], [1, 2], 8)
    yield conv((1, 4, 9, 9), (8, 1, 3, 3), [1, 1], [1, 1], [1, 1], 4, same=False)
    yield conv((1, 8, 9, 9), (6, 4, 3, 3), [1, 1], [0, 1], [1, 1], 2)
    yield conv((2, 4, 20), (6, 4, 5), [2], [2], [1], 1)
    yield conv((2, 4, 20), (4, 1, 5), [1], [4], [2], 4)
    x = floats(1, 4, 13, 14)
    for pool, indices in (("max_pool2d_with_indices", True), ("avg_pool2d", False)):
        for kernel, stride, padding in (([2, 2], [2, 2], [0, 0]), ([3, 3], [2, 2], [1, 1]), ([3, 2], [1, 3], [1, 0])):
            yield Call(f"aten.{pool}.default", (x, kernel, stride, padding), same=not indices)
        dilation = ([1, 1],) if indices else ()
        yield Call(f"aten.{pool}.default", (x, [2, 2], [2, 2], [0, 0], *dilation, True), same=False)
        yield Call(f"aten.{pool}.default", (x, [3], [], [0]), same=False, original=False)
    yield Call("aten.max_pool2d_with_indices.default", (x, [3, 3], [2, 2], [1, 1], [2, 2], True), same=False)
    yield Call("aten.max_pool2d_with_indices.default", (x, [3, 3], [3, 3], [1, 1], [1, 1], True), same=False)
    yield Call("aten.avg_pool2d.default", (x, [3, 3], [2, 2], [1, 1], False, False))
    yield Call("aten.avg_pool2d.default", (x, [3, 3], [3, 3], [1, 1], True, False), same=False)
    yield Call("aten.avg_pool2d.default", (x, [3, 3], [2, 2], [1, 1], False, True, 5), same=False)
    yield Call("aten.avg_pool2d.default", (x, [3, 3], [3, 3], [1, 1], True, True, 5), same=False)
    yield Call("aten.pixel_shuffle.default", (floats(1, 12, 5, 7), 2))
    for pad in ([1, 2], [1, 0, 2, 3], [0, 1, 1, 1, 2, 0]):
        yield Call("aten.constant_pad_nd.default", (floats(2, 3, 4, 5), pad, 1.5))
    yield Call("aten.constant_pad_nd.default", (floats(2, 3, 4, 5), [1, 1], float("-inf")))
    yield Call("aten.constant_pad_nd.default", (integers(3, 4), [1, 1], 7))
    yield Call("aten.constant_pad_nd.default", (floats(3, 4), [1, 1]), original=False)
    for kind in ("reflection", "replication"):
        for shape, pad in (((2, 4, 5), [3, 2]), ((2, 3, 4, 5), [3, 2, 0, 2]), ((2, 2, 3, 4, 5), [3, 2, 0, 2, 1, -1])):
            yield Call(f"aten.{kind}_pad{len(pad) // 2}d.default", (floats(*shape), pad), original=False)


def matrices() -> Iterator[Call]:
    small = {"low": -1.0, "high": 1.0}
    yield Call("aten.mm.default", (floats(5, 7, **small), floats(7, 3, seed=1, **small)))
    yield Call("aten.mm.default", (floats(197, 64, **small), floats(64, 192, seed=1, **small)))
    yield Call("aten.bmm.default", (floats(12, 16, 64, **small), floats(12, 64, 16, seed=1, **small)))
    for bias in ((3,), (5, 3), (1, 3)):
        yield Call("aten.addmm.default", (floats(*bias), floats(5, 7, **small), floats(7, 3, seed=1, **small)))
    yield Call(
        "aten.addmm.default",
        (floats(3), floats(5, 7, **small), floats(7, 3, seed=1, **small)),
        {"beta": 0.5, "alpha": 2.0},
        same=False,
        original=False,
    )
    for dims, keep in (([-1], True), ([2, 3], False), ([-1, -2], True), ([1], False)):
        yield Call("aten.mean.dim", (floats(2, 3, 7, 7), dims, keep))
    yield Call("aten.mean.dim", (floats(2, 3), None), same=False, original=False)
    yield Call("aten.mean.dim", (integers(2, 3), [1]), {"dtype": torch.float32}, same=False, original=False)
    for dims, keep in (([-1], True), ([0, 2], False), ([], False)):
        yield Call("aten.sum.dim_IntList", (floats(2, 3, 7), dims, keep), same=False, original=False)
    for values in (bools(3, 4), integers(3, 4, low=0, high=2), floats(3, 4), torch.zeros(3, 4)):
        for dims, keep in ((1, True), (-2, False)):
            yield Call("aten.any.dim", (values, dims, keep), same=False, original=False)
    yield Call("aten.any.dims", (bools(2, 3, 4), [0, -1], True), same=False, original=False)
    channels = (floats(6, low=0.5), floats(6, seed=1), floats(6, seed=2), floats(6, seed=3, low=0.25))
    name = "aten._native_batch_norm_legit_no_training.default"
    for shape in ((2, 6, 5, 5), (2, 6, 9), (4, 6)):
        yield Call(name, (floats(*shape), *channels, 0.1, 1e-5))
    yield Call(name, (floats(2, 6, 5, 5), None, None, *channels[2:], 0.1, 1e-3), same=False)
    for shape, normalized in (((2, 197, 64), [64]), ((3, 4, 5), [4, 5])):
        weights = floats(*normalized, low=0.5), floats(*normalized, seed=1)
        yield Call("aten.native_layer_norm.default", (floats(*shape), normalized, *weights, 1e-5))
        yield Call("aten.native_layer_norm.default", (floats(*shape), normalized, None, None, 1e-3), same=False)


def shapes() -> Iterator[Call]:
    x = floats(2, 3, 4, 5)
    yield Call("aten.permute_copy.default", (x, [0, 2, 1, 3]))
    yield Call("aten.permute_copy.default", (x, [-1, 0, 2, 1]), original=True)
    yield Call("aten.view_copy.default", (x, [6, -1]))
    yield Call("aten.view_copy.default", (floats(1, 1), []), same=True)
    yield Call("aten.view_copy.default", (floats(), [1, 1]))
    yield Call("aten.expand_copy.default", (floats(1, 3, 1), [4, 3, 5]))
    yield Call("aten.expand_copy.default", (floats(1, 3, 1), [4, -1, 5]))
    yield Call("aten.expand_copy.default", (floats(3, 1), [2, 3, 4]), same=False)
    yield Call("aten.expand_copy.default", (floats(), [2, 3]), same=False)
    yield Call("aten.cat.default", ([x, floats(2, 1, 4, 5)], 1))
    yield Call("aten.cat.default", ([x, floats(2, 3, 4, 2), x.clone()], -1))
    yield Call("aten.cat.default", ([floats(3), integers(2)],), same=False)
    yield Call("aten.unsqueeze_copy.default", (x, 0))
    yield Call("aten.unsqueeze_copy.default", (x, -1))
    yield Call("aten.unsqueeze_copy.default", (floats(), 0), same=False)
    yield Call("aten.squeeze_copy.dims", (floats(1, 3, 1, 5), [0, 2]))
    yield Call("aten.squeeze_copy.dims", (floats(1, 3, 1, 5), [-2, 1]))
    for dim, index in ((0, 1), (2, -1), (-1, 0)):
        yield Call("aten.select_copy.int", (x, dim, index))
    yield Call("aten.select_copy.int", (floats(5), 0, 3))
    for arguments in ((1, 1, 3), (2, 0, 2**63 - 1, 2), (-1, -3, -1), (3, 1, 99), (0,)):
        yield Call("aten.slice_copy.Tensor", (x, *arguments))
    yield Call("aten.split_with_sizes_copy.default", (x, [1, 3], 2))
    yield Call("aten.split_with_sizes_copy.default", (x, [2, 2, 1], -1))
    yield Call("aten.split_with_sizes_copy.default", (x, [1, 1]), original=False)
    for dtype in (torch.float16, torch.int64, torch.int32, torch.bool):
        yield Call("aten._to_copy.default", (x,), {"dtype": dtype}, same=False, original=False)
    yield Call("aten._to_copy.default", (integers(3, 4),), {"dtype": torch.float32}, same=False, original=False)
    yield Call("aten._to_copy.default", (bools(3, 4),), {"dtype": torch.int64}, same=False, original=False)
    yield Call("aten.clone.default", (x,), same=False)


def indices() -> Iterator[Call]:
    x = floats(6, 5, 4)
    some = integers(7, low=0, high=4)
    yield Call("aten.index_select.default", (x, 2, some))
    yield Call("aten.index_select.default", (x, -1, some.to(torch.int32)))
    yield Call("aten.embedding.default", (floats(100, 16), integers(2, 9, low=0, high=100)))
    yield Call("aten.embedding.default", (floats(10, 4), integers(5, low=0, high=10, dtype=torch.int32), 3), same=False)
    negative = integers(7, low=-4, high=4)
    yield Call("aten.index.Tensor", (x, [None, None, negative]), same=False)
    yield Call("aten.index.Tensor", (x, [integers(2, 3, low=-6, high=6)]), same=False)
    rows, columns = integers(2, 1, low=-6, high=6), integers(3, low=-5, high=5, dtype=torch.int32)
    yield Call("aten.index.Tensor", (x, [rows, columns]), same=False)
    yield Call("aten.index.Tensor", (x, [None, columns, integers(3, low=-4, high=4)]), same=False)
    yield Call("aten.index.Tensor", (x, [rows, integers(low=0, high=5), negative[:3]]), same=False)
    yield Call("aten.index.Tensor", (bools(6, 5, 4), [rows, rows % 5]), same=False)
    places = torch.tensor([3, -4, 0])
    yield Call("aten.index_put.default", (x, [None, places], floats(6, 3, 4)), same=False)
    yield Call("aten.index_put.default", (x, [places], floats(3, 5, 4)), same=False)
    yield Call("aten.index_put.default", (x, [places], floats(4)), same=False)
    yield Call("aten.index_put.default", (x, [None, places], floats()), same=False)
    yield Call("aten.index_put.default", (x, [torch.tensor([-1]), places], floats(3, 4)), same=False)
    yield Call("aten.index_put.default", (x, [None, places, places], floats(3)), same=False)
    yield Call("aten.index_put.default", (integers(6, 5, 4), [places, places, places], integers()), same=False)
    yield Call("aten.slice_scatter.default", (x, floats(6, 2, 4), 1, 1, 3), same=False)
    yield Call("aten.slice_scatter.default", (x, floats(3, 5, 4), 0, 0, 6, 2), same=False)
    yield Call("aten.slice_scatter.default", (x, floats(6, 5, 1), -1, -1, 2**63 - 1), same=False, original=False)


@cache
def all_calls() -> list[Call]:
    """All calls, grouped by operator. Each call of this function returns the same list."""
    found: list[Call] = []
    for part in (unary, binary, activations, constants, windows, matrices, shapes, indices):
        found += part()
    return sorted(found, key=lambda call: call.target)
