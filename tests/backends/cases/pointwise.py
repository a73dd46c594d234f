# SPDX-License-Identifier: BSD-3-Clause
"""Operators that compute each element by itself."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from backends.cases.call import Call, Sliced, call, operator
from backends.cases.values import SHAPES, image, integers, normal, truths, uniform

HALF_SHAPES = ((17,), (2, 3, 5))


def each_shape(make: Callable[..., Tensor], *rest: object, **options: object) -> list[Call]:
    """Calls for each of SHAPES, also in channels-last order and on a slice, with values from `make`."""
    flat = [call(make(*shape), *rest, **options) for shape in SHAPES]
    last = make(2, 3, 5, 7).to(memory_format=torch.channels_last)
    gray = make(2, 1, 5, 7).to(memory_format=torch.channels_last)
    return [
        *flat,
        call(last, *rest, **options),
        call(gray, *rest, **options),
        call(Sliced(make(4, 18)), *rest, **options),
    ]


def _between(low: float, high: float) -> Callable[..., Tensor]:
    return lambda *shape, **options: uniform(low, high, *shape, **options)


def _specials(*rest: object) -> list[Call]:
    return [call(torch.tensor([0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 1e-30, 3e38]), *rest)]


def _halves(make: Callable[..., Tensor], *rest: object) -> list[Call]:
    dtypes = (torch.float16, torch.bfloat16)
    return [call(make(*shape, dtype=dtype), *rest) for dtype in dtypes for shape in HALF_SHAPES]


UNARY: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("abs", "ceil", "cos", "floor", "neg", "relu", "round", "sign", "sin", "trunc"), (-9, 9)),
    **dict.fromkeys(("erf", "exp", "expm1", "gelu", "hardtanh", "elu", "leaky_relu", "sigmoid", "tanh"), (-5, 5)),
    **dict.fromkeys(("asinh", "atan", "cosh", "sinh"), (-4, 4)),
    **dict.fromkeys(("acos", "asin", "atanh"), (-0.99, 0.99)),
    **dict.fromkeys(("log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sqrt"), (0.05, 9)),
    "acosh": (1.05, 9),
    "tan": (-1.4, 1.4),
}


def _register_unary(name: str, low: float, high: float) -> None:
    @operator(f"{name}.default")
    def calls() -> list[Call]:
        make = _between(low, high)
        return [*each_shape(make), *_specials(), *_halves(make)]


for _name, (_low, _high) in UNARY.items():
    _register_unary(_name, _low, _high)


@operator("isinf.default", "isnan.default")
def _() -> list[Call]:
    return [*each_shape(normal), *_specials(), call(integers(-3, 3, 17))]


@operator("logical_not.default", "bitwise_not.default")
def _() -> list[Call]:
    return [*each_shape(truths), call(integers(-9, 9, 33)), call(integers(-9, 9, 2, 33, dtype=torch.int8))]


BROADCASTS = (
    ((3, 33), (33,)),
    ((33,), (3, 33)),
    ((3, 1), (1, 17)),
    ((2, 3, 5, 7), (3, 1, 1)),
    ((2, 3, 5, 7), ()),
    ((2, 1, 5, 1), (1, 3, 1, 7)),
    ((1,), (65,)),
    ((0, 3), (1, 3)),
    ((1, 64, 56), (1, 1, 56)),
)


def binary(make: Callable[..., Tensor], other: Callable[..., Tensor] | None = None, **options: object) -> list[Call]:
    """Equal shapes and broadcasts in both directions, in the order of images and on slices."""
    second = other or make
    calls = [call(make(*shape), second(*shape), **options) for shape in SHAPES]
    calls += [call(make(*left), second(*right), **options) for left, right in BROADCASTS]
    last = torch.channels_last
    calls.append(call(make(2, 3, 5, 7).to(memory_format=last), second(2, 3, 5, 7).to(memory_format=last), **options))
    calls.append(call(make(2, 8, 5, 7).to(memory_format=last), second(1, 8, 1, 1), **options))
    calls.append(call(Sliced(make(4, 18)), second(4, 17), **options))
    return calls


def _whole(low: int, high: int, dtype: torch.dtype = torch.int64) -> Callable[..., Tensor]:
    return lambda *shape: integers(low, high, *shape, dtype=dtype)


@operator("add.Tensor", "sub.Tensor")
def _() -> list[Call]:
    mixed = call(integers(-9, 9, 17, dtype=torch.int32), normal(17))
    return [*binary(normal), *binary(normal, alpha=2), call(integers(-9, 9, 17), integers(-9, 9, 17)), mixed]


@operator("mul.Tensor", "maximum.default", "minimum.default", "atan2.default")
def _() -> list[Call]:
    special = torch.tensor([0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan")])
    pairs = call(special.repeat(6), special.repeat_interleave(6))
    return [
        *binary(normal),
        pairs,
        call(special, normal(1)),
        call(normal(1), special),
        call(normal(6), special[5]),
        call(integers(1, 9, 17), integers(1, 9, 17)),
        call(integers(1, 9, 17), normal(17)),
    ]


@operator("div.Tensor")
def _() -> list[Call]:
    return [*binary(normal, _between(0.5, 2)), call(integers(-9, 9, 17), integers(1, 9, 17))]


@operator("div.Tensor_mode")
def _() -> list[Call]:
    calls = [one for mode in (None, "trunc", "floor") for one in binary(normal, _between(0.5, 2), rounding_mode=mode)]
    return [*calls, call(integers(-99, 99, 33), integers(1, 9, 33), rounding_mode="floor")]


@operator("fmod.Tensor", "remainder.Tensor")
def _() -> list[Call]:
    whole = call(integers(-99, 99, 33), integers(1, 9, 33))
    return [*binary(normal, _between(0.5, 2)), whole, call(integers(-99, 99, 33), -integers(1, 9, 33))]


@operator("pow.Tensor_Tensor")
def _() -> list[Call]:
    return [*binary(_between(0.2, 3), _between(-2, 2)), call(integers(-3, 4, 33), integers(0, 5, 33))]


@operator("pow.Tensor_Scalar")
def _() -> list[Call]:
    return [one for exponent in (2, 0.5, -1, 3, 0, 1.7) for one in each_shape(_between(0.2, 3), exponent)]


@operator("pow.Scalar")
def _() -> list[Call]:
    return [call(2.5, _between(-2, 2)(*shape)) for shape in SHAPES]


@operator("eq.Tensor", "ne.Tensor", "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor")
def _() -> list[Call]:
    nan = torch.tensor([float("nan"), 1.0, float("inf")])
    return [*binary(_whole(0, 3, torch.float32)), call(integers(0, 3, 33), integers(0, 3, 33)), call(nan, nan.flip(0))]


@operator("eq.Scalar", "ne.Scalar", "lt.Scalar", "le.Scalar", "gt.Scalar", "ge.Scalar")
def _() -> list[Call]:
    return [*each_shape(_whole(0, 3, torch.float32), 1.0), call(integers(0, 3, 33), 1), *_specials(1.0)]


@operator("add.Scalar", "sub.Scalar", "mul.Scalar", "div.Scalar", "fmod.Scalar", "remainder.Scalar")
def _() -> list[Call]:
    return [*each_shape(normal, 1.5), *each_shape(normal, -3), call(integers(-9, 9, 33), 2)]


@operator("div.Scalar_mode")
def _() -> list[Call]:
    return [one for mode in ("trunc", "floor") for one in each_shape(normal, 1.5, rounding_mode=mode)]


@operator("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor")
def _() -> list[Call]:
    return [*binary(truths), *binary(_whole(-9, 9)), call(integers(-9, 9, 2, 33, dtype=torch.int8), integers(0, 9, 33))]


@operator("bitwise_and.Scalar", "bitwise_or.Scalar", "bitwise_xor.Scalar")
def _() -> list[Call]:
    return each_shape(_whole(-9, 9), 5)


@operator("logical_and.default", "logical_or.default", "logical_xor.default")
def _() -> list[Call]:
    return [*binary(truths), call(integers(0, 2, 33), normal(33))]


@operator("clamp.default")
def _() -> list[Call]:
    both = [*each_shape(normal, -0.5, 0.5), *each_shape(normal, None, 0.5), *each_shape(normal, -0.5, None)]
    return [*both, *_specials(-0.5, 0.5), call(integers(-9, 9, 33), -3, 3)]


@operator("clamp.Tensor")
def _() -> list[Call]:
    low, high = _between(-1, 0), _between(0, 1)
    return [call(normal(*shape), low(*shape), high(*shape)) for shape in SHAPES] + [call(normal(3, 33), low(33), None)]


@operator("where.self")
def _() -> list[Call]:
    calls = [call(truths(*shape), normal(*shape), normal(*shape)) for shape in SHAPES]
    calls += [call(truths(*left), normal(*right), normal(1)) for left, right in BROADCASTS]
    return [*calls, call(truths(2, 3, 5, 7), image(2, 3, 5, 7), normal())]


@operator("_to_copy.default")
def _() -> list[Call]:
    kinds = (torch.int64, torch.int32, torch.float16, torch.bool, torch.float64)
    calls = [call(uniform(-9, 9, *shape), dtype=dtype) for dtype in kinds for shape in ((), (17,), (2, 3, 5))]
    last = integers(-9, 9, 2, 3, 5, 7).to(memory_format=torch.channels_last)
    return [
        *calls,
        call(integers(-9, 9, 33), dtype=torch.float32),
        call(last, dtype=torch.float32),
        call(truths(33), dtype=torch.float32),
    ]


@operator("alias.default", "clone.default")
def _() -> list[Call]:
    return each_shape(normal)


@operator("fill.Scalar")
def _() -> list[Call]:
    return each_shape(normal, 1.5)


@operator("full_like.default")
def _() -> list[Call]:
    return [*each_shape(normal, 1.5), call(integers(0, 9, 33), 7)]


@operator("copy.default")
def _() -> list[Call]:
    return [call(normal(*shape), normal(*shape)) for shape in SHAPES] + [
        call(normal(3, 33), integers(0, 9, 33)),
        call(image(2, 3, 5, 7), normal(2, 3, 5, 7)),
    ]


@operator("native_dropout.default")
def _() -> list[Call]:
    return [call(normal(3, 33), 0.5, False)]
