# SPDX-License-Identifier: BSD-3-Clause
"""Operators that compute each element by itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from backends.cases import Call, Sliced
from backends.cases.call import call
from backends.cases.pointwise import UNARY
from backends.cases.values import integers, normal, truths, uniform
from backends.sweep.constants import GRAIN, LANES, VECTORS
from backends.sweep.declare import Case, Dynamic, offset, sweep, with_offsets
from backends.sweep.shapes import Make, element_shapes, image_shapes, last


def between(low: float, high: float) -> Make:
    return lambda *shape: uniform(low, high, *shape)


def whole(low: int, high: int, dtype: torch.dtype = torch.int64) -> Make:
    return lambda *shape: integers(low, high, *shape, dtype=dtype)


def unary(make: Make, *rest: object, **options: Any) -> list[Case]:
    """Runs each shape contiguous, at an offset, in channels-last order, sliced in the program, and with dynamic
    sizes."""
    calls = [call(make(*shape), *rest, **options) for shape in element_shapes()]
    views = [call(offset(make(*shape)), *rest, **options) for shape in ((7,), (17,), (3, 65), (GRAIN + 1,))]
    images = [call(last(make(*shape)), *rest, **options) for shape in image_shapes()]
    sliced = [call(Sliced(make(3, size + 1)), *rest, **options) for size in VECTORS[::3]]
    varying: list[Case] = [
        Dynamic(lambda n: call(make(n), *rest, **options), (1, 7, 2 * GRAIN + 1)),
        Dynamic(lambda n: call(make(n, 5), *rest, **options), (0, 7, 70)),
        Dynamic(lambda n: call(make(2, n, 3, 5), *rest, **options)),
        Dynamic(lambda n: call(last(make(2, 8, n, 3)), *rest, **options), (2, 7, 33)),
        Dynamic(lambda n: call(make(1, 2, 3, 4, n), *rest, **options)),
    ]
    return [*calls, *views, *images, *sliced, *varying]


def _register_unary(name: str, low: float, high: float) -> None:
    @sweep(f"{name}.default")
    def cases() -> list[Case]:
        return unary(between(low, high))


for _name, (_low, _high) in UNARY.items():
    _register_unary(_name, _low, _high)


@sweep("isinf.default", "isnan.default", "alias.default", "clone.default")
def _() -> list[Case]:
    return unary(normal)


@sweep("logical_not.default", "bitwise_not.default")
def _() -> list[Case]:
    return unary(truths)


@sweep("fill.Scalar", "full_like.default")
def _() -> list[Case]:
    return unary(normal, 1.5)


@sweep("native_dropout.default")
def _() -> list[Case]:
    """Without empty tensors, for which eager's mask has another dtype than the mask of PyTorch's meta kernel."""
    calls: list[Case] = [one for one in unary(normal, 0.5, False) if isinstance(one, Call) and _has_elements(one)]
    return [*calls, Dynamic(lambda n: call(normal(n, 5), 0.5, False))]


def _has_elements(one: Call) -> bool:
    tensor = one.args[0]
    return (tensor.tensor if isinstance(tensor, Sliced) else tensor).numel() > 0


@sweep("_to_copy.default")
def _() -> list[Case]:
    return [
        *unary(between(-9, 9), dtype=torch.int64),
        *unary(normal, dtype=torch.float16),
        *unary(whole(-9, 9), dtype=torch.float32),
    ]


def _dropping(shape: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    """Shapes that broadcast to `shape`: with one dimension of size 1, all but one, fewer dimensions, none."""
    rank = len(shape)
    yield from (tuple(1 if d == dim else n for d, n in enumerate(shape)) for dim in range(rank))
    yield from (tuple(n if d == dim else 1 for d, n in enumerate(shape)) for dim in range(rank))
    yield from (shape[dim:] for dim in range(1, rank))
    yield ()


def broadcasts() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pairs of shapes, in both directions: in 1 to 5 dimensions with sizes around a vector, and large ones."""
    shapes = [(size,) for size in VECTORS[::4]] + [(3, size) for size in VECTORS[::5]]
    shapes += [(2, 3, LANES[-1] + 1), (2, 3, 4, LANES[0] + 1), (2, 3, 2, 3, LANES[1] - 1)]
    pairs = [(shape, other) for shape in shapes for other in dict.fromkeys(_dropping(shape))]
    both = [((3, 1), (1, 17)), ((2, 1, 5, 1), (1, 3, 1, 7)), ((5, 1, 3), (2, 1, 1, 3)), ((1, 9), (9, 1))]
    none = [((0, 3), (1, 3)), ((0, 3), ()), ((3, 0), (3, 1)), ((1, 1), (0, 1)), ((2, 0, 5), (5,))]
    large = [((257, 257), (257,)), ((257, 257), (257, 1)), ((2 * GRAIN + 1,), (1,)), ((9, 1, GRAIN), (1, 1, GRAIN))]
    pairs += both + none + large
    return [*pairs, *((right, left) for left, right in pairs)]


def binary(make: Make, other: Make | None = None, **options: Any) -> list[Case]:
    """Equal shapes, broadcasts both ways, offsets, channels-last order on either side, slices, sizes that vary."""
    second = other or make
    calls = [call(make(*shape), second(*shape), **options) for shape in element_shapes()]
    calls += [call(make(*left), second(*right), **options) for left, right in broadcasts()]
    calls += [with_offsets(call(make(3, size), second(3, size), **options)) for size in VECTORS[::3]]
    calls += [with_offsets(call(make(3, size), second(size), **options)) for size in VECTORS[1::3]]
    for shape in image_shapes():
        of_channels = (1, shape[1], *(1 for _ in shape[2:]))
        calls.append(call(last(make(*shape)), last(second(*shape)), **options))
        calls.append(call(last(make(*shape)), second(*of_channels), **options))
        calls.append(call(make(*of_channels), last(second(*shape)), **options))
    calls.append(call(last(make(2, 5, 3, 7)), second(2, 1, 3, 7), **options))
    calls.append(call(last(make(2, 5, 3, 7)), second(3, 7), **options))
    calls.append(call(last(make(2, 5, 3, 7)), second(7), **options))
    calls += [call(Sliced(make(3, size + 1)), second(3, size), **options) for size in VECTORS[::5]]
    varying: list[Case] = [
        Dynamic(lambda n: call(make(n), second(n), **options), (1, 7, 2 * GRAIN + 1)),
        Dynamic(lambda n: call(make(n, 5), second(5), **options), (0, 7, 70)),
        Dynamic(lambda n: call(make(5, 1), second(n, 5, 3), **options)),
        Dynamic(lambda n: call(make(3, n), second(3, 1), **options)),
        Dynamic(lambda n: call(last(make(2, 8, n, 3)), second(1, 8, 1, 1), **options), (2, 7, 33)),
        Dynamic(lambda n: call(make(), second(2, n), **options)),
    ]
    return [*calls, *varying]


@sweep("add.Tensor", "sub.Tensor", "mul.Tensor", "maximum.default", "minimum.default", "atan2.default")
def _() -> list[Case]:
    return binary(normal)


@sweep("div.Tensor", "fmod.Tensor", "remainder.Tensor")
def _() -> list[Case]:
    return binary(normal, between(0.5, 2))


@sweep("div.Tensor_mode")
def _() -> list[Case]:
    return [one for mode in ("trunc", "floor") for one in binary(normal, between(0.5, 2), rounding_mode=mode)]


@sweep("pow.Tensor_Tensor")
def _() -> list[Case]:
    return binary(between(0.2, 3), between(-2, 2))


@sweep("pow.Tensor_Scalar")
def _() -> list[Case]:
    return [one for exponent in (2, 0.5, 1.7) for one in unary(between(0.2, 3), exponent)]


@sweep("pow.Scalar")
def _() -> list[Case]:
    calls = [Call((2.5, *one.args)) for one in unary(between(-2, 2)) if isinstance(one, Call)]
    return [*calls, Dynamic(lambda n: call(2.5, between(-2, 2)(n, 5)))]


@sweep("eq.Tensor", "ne.Tensor", "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor")
def _() -> list[Case]:
    return binary(whole(0, 3, torch.float32))


@sweep("eq.Scalar", "ne.Scalar", "lt.Scalar", "le.Scalar", "gt.Scalar", "ge.Scalar")
def _() -> list[Case]:
    return unary(whole(0, 3, torch.float32), 1.0)


@sweep("add.Scalar", "sub.Scalar", "mul.Scalar", "div.Scalar", "fmod.Scalar", "remainder.Scalar")
def _() -> list[Case]:
    return unary(normal, 1.5)


@sweep("div.Scalar_mode")
def _() -> list[Case]:
    return [one for mode in ("trunc", "floor") for one in unary(normal, 1.5, rounding_mode=mode)]


@sweep("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor")
def _() -> list[Case]:
    return [*binary(truths), *binary(whole(-9, 9))]


@sweep("bitwise_and.Scalar", "bitwise_or.Scalar", "bitwise_xor.Scalar")
def _() -> list[Case]:
    return unary(whole(-9, 9), 5)


@sweep("logical_and.default", "logical_or.default", "logical_xor.default")
def _() -> list[Case]:
    return binary(truths)


@sweep("clamp.default")
def _() -> list[Case]:
    return [*unary(normal, -0.5, 0.5), *unary(normal, None, 0.5)]


@sweep("clamp.Tensor")
def _() -> list[Case]:
    bounds = [call(normal(*shape), between(-1, 0)(*other), between(0, 1)(*shape)) for shape, other in broadcasts()[:60]]
    plain = [call(normal(*shape), between(-1, 0)(*shape), between(0, 1)(*shape)) for shape in element_shapes()]
    return [*bounds, *plain, Dynamic(lambda n: call(normal(n, 5), between(-1, 0)(5), None))]


@sweep("where.self")
def _() -> list[Case]:
    calls = [call(truths(*shape), normal(*shape), normal(*shape)) for shape in element_shapes()]
    calls += [call(truths(*left), normal(*right), normal(1)) for left, right in broadcasts()]
    calls += [call(truths(1), normal(*left), normal(*right)) for left, right in broadcasts()]
    images = [call(last(truths(*shape)), last(normal(*shape)), normal()) for shape in image_shapes()]
    return [*calls, *images, Dynamic(lambda n: call(truths(n, 5), normal(5), normal(n, 1)))]


@sweep("copy.default")
def _() -> list[Case]:
    """The source is broadcast to the destination's shape."""
    into = [(left, right) for left, right in broadcasts() if torch.broadcast_shapes(left, right) == left]
    calls = [call(normal(*left), normal(*right)) for left, right in into]
    images = [call(last(normal(*shape)), normal(*shape)) for shape in image_shapes()]
    return [*calls, *images, Dynamic(lambda n: call(normal(n, 5), normal(5)))]
