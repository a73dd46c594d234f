# SPDX-License-Identifier: BSD-3-Clause
"""Writes eager_cases.txt: calls of operators with the results that PyTorch eager gives, for eager_cases_test.cpp.

Run it from the root of the repository after adding a case below::

    python kernels/portable/test/generate_eager_cases.py

A case is the name of an out variant and the arguments of the operator; missing ones take their schema's defaults. The
format is text, one value a line, described at the top of eager_cases_test.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

OUTPUT = Path(__file__).with_name("eager_cases.txt")
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
REALS = (*FLOATS, *INTEGERS)
ALL = (*REALS, torch.bool)
NAN, INF = float("nan"), float("inf")


class Fails:
    """Marks a call that must be refused; ``like`` is the output tensor that it gets."""

    def __init__(self, *like: torch.Tensor) -> None:
        self.like = like


def tensor(*shape: int, dtype: torch.dtype = torch.float32, low: float = -4, high: float = 4) -> torch.Tensor:
    """Reproducible values in [low, high], rounded to what the text holds exactly."""
    values = torch.rand(shape) * (high - low) + low
    if dtype == torch.bool:
        return values > (low + high) / 2
    if dtype == torch.uint8:
        return values.abs().to(dtype)
    return (values * 64).round().div(64).to(dtype)


def of(*values: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def channels_last(*shape: int, **options: Any) -> torch.Tensor:
    return tensor(*shape, **options).to(memory_format=torch.channels_last)


def unary_cases() -> Iterator[tuple[Any, ...]]:
    special = of(0.0, -0.0, 1.0, -1.0, 0.5, INF, -INF, NAN, 1e-6, -3e-5, 20.0, -20.0, 88.0, -87.5, 0.6249, 1.001)
    in_domain = {"acosh": (1, 5), "acos": (-1, 1), "asin": (-1, 1), "atanh": (-0.9, 0.9), "log": (0, 9), "log2": (0, 9)}
    in_domain |= {"log10": (0, 9), "log1p": (-0.9, 9), "rsqrt": (0.1, 9), "sqrt": (0, 9), "logit": (0.1, 0.9)}
    floating = "acos acosh asin asinh atan atanh cos cosh erf exp expm1 log log10 log1p log2 reciprocal rsqrt sigmoid"
    floating += " sin sinh sqrt tan tanh logit"
    for name in floating.split():
        low, high = in_domain.get(name, (-4, 4))
        yield f"{name}.out", special
        yield f"{name}.out", special.double()
        yield f"{name}.out", tensor(2, 9, low=low, high=high)
        yield f"{name}.out", tensor(7, low=low, high=high, dtype=torch.float16)
        if name != "logit":  # which eager rounds to bfloat16 after each step
            yield f"{name}.out", tensor(3, 3, low=low, high=high, dtype=torch.bfloat16)
            yield f"{name}.out", of(0, 1, 2, dtype=torch.int64)
            yield f"{name}.out", of(True, False, dtype=torch.bool)
    for name in ("neg", "abs", "sign", "ceil", "floor", "round", "trunc", "relu"):
        for dtype in REALS:
            yield f"{name}.out", tensor(2, 9, dtype=dtype)
        yield f"{name}.out", of(2.5, -2.5, 3.5, -0.5, 0.0, INF, -INF, NAN)
    for name in ("abs", "neg"):
        yield f"{name}.out", of(-(2**63), 2**63 - 1, 0, dtype=torch.int64)
    for name in ("isnan", "isinf"):
        yield f"{name}.out", special
        yield f"{name}.out", of(1, 2, dtype=torch.int32)
        yield f"{name}.out", of(INF, NAN, 1, dtype=torch.float16)
    for dtype in ALL:
        yield "logical_not.out", tensor(6, dtype=dtype).mul(of(0, 1, 1, 0, 1, 1)).to(dtype)
    for dtype in (*INTEGERS, torch.bool):
        yield "bitwise_not.out", tensor(6, dtype=dtype)
    yield "bitwise_not.out", tensor(3), Fails(tensor(3))
    for approximate in ("none", "tanh"):
        yield "gelu.out", torch.cat([special, torch.linspace(-6, 6, 33)]), approximate
        yield "gelu.out", tensor(5, dtype=torch.float64), approximate
        yield "gelu.out", tensor(5, dtype=torch.bfloat16), approximate
    yield "gelu.out", tensor(3), "exact", Fails(tensor(3))
    yield "gelu.out", of(1, 2, dtype=torch.int64), Fails(of(1, 2, dtype=torch.int64))
    yield "elu.out", torch.cat([special, tensor(20)]), 1.5, 0.7, 1.2
    yield "elu.out", tensor(9, dtype=torch.float64)
    yield "leaky_relu.out", torch.cat([special, tensor(20)]), 0.2
    yield "hardtanh.out", special, -0.5, 0.75
    yield "hardtanh.out", tensor(7, dtype=torch.int32), -1, 2
    yield "relu.out", channels_last(2, 3, 2, 4)
    yield "exp.out", channels_last(2, 3, 2, 2)
    yield "sigmoid.out", torch.zeros(0, 3)
    yield "neg.out", tensor()


def binary_cases() -> Iterator[tuple[Any, ...]]:
    arithmetic = ("add.out", "mul.out", "maximum.out", "minimum.out", "div.out", "sub.out")
    for name in arithmetic:
        for dtype in REALS:
            yield name, tensor(3, 5, dtype=dtype), tensor(3, 5, dtype=dtype, low=1)
        yield name, tensor(2, 3, 4), tensor(3, 1)
        yield name, tensor(3, 1), tensor(1, 4)
        yield name, tensor(4), tensor()
        yield name, tensor(), tensor(2, 1, 3)
        yield name, tensor(0, 3), tensor(3)
        yield name, channels_last(2, 3, 2, 3), tensor(1, 3, 1, 1)
        yield name, channels_last(1, 3, 2, 3), tensor(1, 3, 2, 3)
        yield name, tensor(3, dtype=torch.int32), tensor(3, dtype=torch.float16)
        yield name, tensor(3, dtype=torch.int8), tensor(3, dtype=torch.int64, low=1)
        yield name, tensor(3, dtype=torch.float16), tensor(dtype=torch.float64)
        yield name, tensor(3, dtype=torch.int32), tensor()
        yield name, tensor(3, dtype=torch.uint8), tensor(3, dtype=torch.int8, low=1)
        yield name, tensor(2, 3), tensor(2, 4), Fails(tensor(2, 4))
        yield name, tensor(3), tensor(3), Fails(of(1, 2, 3, dtype=torch.int64))
    yield "add.out", of(True, False, True), of(True, True, False)
    yield "add.out", tensor(2, 150), tensor(150)
    yield "div.out", tensor(2, 150, dtype=torch.float16), tensor(2, 1)
    yield "add.out", tensor(3, dtype=torch.bool), tensor(3, dtype=torch.bool)
    yield "add.out", of(2**31 - 1, -(2**31), dtype=torch.int32), of(1, -1, dtype=torch.int32)
    yield "add.out", of(2**63 - 1, -(2**63), dtype=torch.int64), of(1, -1, dtype=torch.int64)
    yield "mul.out", of(2**62, 200, dtype=torch.int64), of(6, 3, dtype=torch.int64)
    yield "maximum.out", of(1.0, NAN, INF, NAN), of(NAN, 2.0, -INF, NAN)
    yield "minimum.out", of(1.0, NAN, INF, NAN), of(NAN, 2.0, -INF, NAN)
    yield "add.out", tensor(4), tensor(4), 2
    yield "sub.out", tensor(4), tensor(4), 0.5
    yield "sub.out", tensor(4, dtype=torch.int32), tensor(4, dtype=torch.int32), -3
    yield "add.out", tensor(4, dtype=torch.int32), tensor(4, dtype=torch.int32), 0.5, Fails(tensor(4))
    yield "sub.out", of(True, dtype=torch.bool), of(True, dtype=torch.bool), Fails(of(True, dtype=torch.bool))
    for name in ("add.Scalar_out", "sub.Scalar_out", "rsub.Scalar_out", "mul.Scalar_out", "div.Scalar_out"):
        for dtype in (torch.float32, torch.bfloat16, torch.int32, torch.uint8):
            yield name, tensor(2, 3, dtype=dtype), 3
            yield name, tensor(2, 3, dtype=dtype), 1.5
    divisions = ("floor_divide.out", "fmod.Tensor_out", "remainder.Tensor_out")
    for name in divisions:
        for dtype in (torch.float32, torch.float64, torch.int8, torch.int32, torch.int64):
            yield name, of(7, -7, 7, -7, 6, -6, 0, dtype=dtype), of(3, 3, -3, -3, 2, -2, 5, dtype=dtype)
        yield name, of(7, 200, dtype=torch.uint8), of(3, 7, dtype=torch.uint8)
        yield name, of(1.0, -1.0, 0.0, INF, 5.5, -0.3), of(0.0, 0.0, 0.0, 2.0, INF, 0.1)
        yield name, of(1, 2, dtype=torch.int32), of(0, 1, dtype=torch.int32), Fails(of(0, 0, dtype=torch.int32))
        yield name, of(1, 2), of(1, 2, 3), Fails(of(1, 2, 3))
    for mode in ("trunc", "floor", None):
        yield "div.out_mode", of(7, -7, 7.5, -7.5), of(2, 2, -2, -2), {"rounding_mode": mode}
        yield "div.out_mode", of(7, -7, dtype=torch.int32), of(2, 2, dtype=torch.int32), {"rounding_mode": mode}
        yield "div.Scalar_mode_out", of(7, -7, dtype=torch.int64), -2, {"rounding_mode": mode}
    int64_min = of(-(2**63), dtype=torch.int64)
    wrapped = of(-1, dtype=torch.int64)
    yield "remainder.Tensor_out", int64_min, wrapped
    yield "fmod.Scalar_out", of(7.25, -7.25), 2
    yield "fmod.Scalar_out", of(7, -7, dtype=torch.int32), 4
    yield "remainder.Scalar_out", of(7.25, -7.25), -2
    yield "remainder.Scalar_out", of(7, -7, dtype=torch.int16), 4
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        for dtype in ALL:
            yield f"{name}.Tensor_out", tensor(9, dtype=dtype, low=-1, high=2), tensor(9, dtype=dtype, low=-1, high=2)
        yield f"{name}.Tensor_out", of(1.0, NAN, INF), of(1.0, NAN, INF)
        yield f"{name}.Tensor_out", tensor(2, 3, dtype=torch.int64), tensor(3)
        yield f"{name}.Scalar_out", tensor(9, dtype=torch.int32), 0
        yield f"{name}.Scalar_out", tensor(9, dtype=torch.int32), 0.5
        yield f"{name}.Scalar_out", of(0.0, NAN, -1), 0
    for name in ("logical_and.out", "logical_or.out", "logical_xor.out"):
        yield name, of(True, False, True, False), of(True, True, False, False)
        yield name, of(0.0, 2.0, NAN, 0.0), of(0, 1, 0, 3, dtype=torch.int32)
        yield name, of([True], [False], dtype=torch.bool), of(True, False, dtype=torch.bool)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        for dtype in (torch.bool, torch.uint8, torch.int16, torch.int64):
            yield f"{name}.Tensor_out", tensor(6, dtype=dtype), tensor(6, dtype=dtype)
        yield f"{name}.Scalar_out", of(1, -7, 200, dtype=torch.int32), 6
        yield f"{name}.Tensor_out", tensor(2), tensor(2), Fails(tensor(2))
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        for dtype in INTEGERS:
            yield f"{name}.Tensor_out", of(1, 100, 3, 77, dtype=dtype), of(3, 1, 7, 40, dtype=dtype)
        yield f"{name}.Tensor_out", of(-1, -100, 3, dtype=torch.int32), of(3, 1, -1, dtype=torch.int32)
        yield f"{name}.Tensor_Scalar_out", of(-64, 64, dtype=torch.int8), 2
    powers = "pow.Tensor_Scalar_out"
    for exponent in (0, 1, 2, 3, 0.5, -0.5, -1, -2.0, 2.5):
        yield powers, tensor(6, low=0.25), exponent
    yield powers, of(2, -3, dtype=torch.int32), 2
    yield powers, of(2, -3, dtype=torch.int32), 3
    yield powers, of(4, 9, dtype=torch.int32), 0.5
    yield powers, of(2, -3, dtype=torch.int32), -1, Fails(of(0, 0, dtype=torch.int32))
    yield powers, tensor(4, dtype=torch.float16, low=0.5), 2
    yield "pow.Tensor_Tensor_out", tensor(2, 3, low=0.25), tensor(3)
    yield "pow.Tensor_Tensor_out", of(2, 3, -1, 1, dtype=torch.int64), of(10, 4, -3, -5, dtype=torch.int64)
    yield "pow.Scalar_out", 2, tensor(4)
    yield "pow.Scalar_out", 3, of(0, 1, 5, dtype=torch.int64)
    yield "atan2.out", of(1.0, -1.0, 0.0, 0.0), of(1.0, -2.0, -1.0, 1.0)
    yield "atan2.out", of(1, 2, dtype=torch.int32), of(3, 4, dtype=torch.int32)


def select_cases() -> Iterator[tuple[Any, ...]]:
    mask = of(True, False, True, dtype=torch.bool)
    for dtype in ALL:
        yield "where.self_out", mask, tensor(2, 3, dtype=dtype), tensor(3, dtype=dtype)
    yield "where.self_out", mask, tensor(3, dtype=torch.int32), tensor()
    yield "where.self_out", tensor(2, 3, 1, dtype=torch.bool), tensor(), tensor(4)
    yield "where.self_out", channels_last(1, 2, 3, 3) > 0, channels_last(1, 2, 3, 3), tensor()
    yield "where.self_out", tensor(3), tensor(3), tensor(3), Fails(tensor(3))
    yield "masked_fill.Scalar_out", tensor(2, 3), mask, -INF
    yield "masked_fill.Scalar_out", tensor(2, 3, dtype=torch.int64), mask, 7
    yield "clamp.out", of(1.0, -2.0, NAN, 5.0), -1, 3
    yield "clamp.out", of(1.0, -2.0, NAN, 5.0), None, 3
    yield "clamp.out", of(1.0, -2.0, NAN, 5.0), 0.5
    yield "clamp.out", of(1.0, -2.0), 3, 1
    yield "clamp.out", of(1, -2, 9, dtype=torch.int32), 0, 5
    yield "clamp.out", of(1, -2, 9, dtype=torch.int32), 0.5, 5
    yield "clamp.out", tensor(4, dtype=torch.float16), -0.5, 0.5
    yield "clamp.out", tensor(4), Fails(tensor(4))
    yield "clamp.Tensor_out", tensor(2, 3), tensor(3), tensor(2, 1)
    yield "clamp.Tensor_out", tensor(2, 3), tensor(3)
    yield "clamp.Tensor_out", tensor(2, 3), None, tensor(3)
    yield "masked_select.out", tensor(2, 3), mask
    yield "masked_select.out", tensor(3), of([True], [False], dtype=torch.bool)
    yield "masked_scatter.out", tensor(2, 3), mask, tensor(9)
    yield "masked_scatter.out", tensor(2, 3), mask, tensor(3), Fails(tensor(2, 3))
    yield "nonzero.out", of([1, 0], [0, 2])
    yield "nonzero.out", tensor(dtype=torch.bool)
    yield "nonzero.out", torch.zeros(3)
    yield "repeat_interleave.Tensor_out", of(2, 0, 3, dtype=torch.int64)


def reduction_cases() -> Iterator[tuple[Any, ...]]:
    for name in ("sum.IntList_out", "mean.out"):
        for dim in ([0], [1], [-1], [0, 2], [1, 2], [0, 1, 2], [], None):
            yield name, tensor(3, 2, 5), dim, True
            yield name, tensor(3, 2, 5), dim
        yield name, tensor(140), [0]
        yield name, tensor(70, 3), [0]
        yield name, channels_last(2, 3, 2, 4), [2, 3]
        yield name, channels_last(2, 3, 2, 4), [2, 3], True
        yield name, channels_last(2, 3, 2, 4), [1]
        yield name, tensor(3, 4, dtype=torch.float16), [1]
        yield name, tensor(3, 4, dtype=torch.int32), [1], False, {"dtype": torch.float32}
        yield name, tensor(), []
        yield name, torch.zeros(0, 3), [0]
        yield name, torch.zeros(3, 0), [0]
        yield name, tensor(3, 4), [2], Fails(tensor(3))
        yield name, tensor(3, 4), [0, 0], Fails(tensor(3))
    for dtype in (*INTEGERS, torch.bool):
        yield "sum.IntList_out", tensor(3, 4, dtype=dtype), [0]
    yield "mean.dtype_out", tensor(3, 4)
    for name in ("amax.out", "amin.out"):
        for dtype in ALL:
            yield name, tensor(3, 4, dtype=dtype), [1]
        yield name, tensor(3, 2, 5), [0, 2], True
        yield name, of([1.0, NAN], [INF, 3.0]), [1]
        yield name, of([-INF, -INF], [INF, 3.0]), [0]
        yield name, torch.zeros(0, 3), [0], Fails(torch.zeros(3))
    for name in ("max.unary_out", "min.unary_out", "prod.out"):
        yield name, tensor(3, 4)
        yield name, tensor(7, dtype=torch.int64)
    yield "prod.int_out", tensor(3, 4, dtype=torch.int32), 1
    yield "prod.int_out", tensor(3, 4), 0, True
    for name in ("any", "all"):
        for dtype in (torch.bool, torch.float32, torch.int32, torch.uint8):
            values = tensor(3, 4, dtype=torch.bool).logical_or(of(1, 0, 0, 0)).to(dtype)
            yield f"{name}.out", values, 0
            yield f"{name}.out", values, 1, True
            yield f"{name}.all_out", values
            yield f"{name}.dims_out", values, [0, 1]
            yield f"{name}.dims_out", values, []
            yield f"{name}.dims_out", values, None
        yield f"{name}.out", torch.zeros(2, 0), 1
    for name in ("argmax.out", "argmin.out"):
        for dtype in (*FLOATS, torch.int32, torch.uint8):
            yield name, tensor(3, 4, dtype=dtype), 1
        yield name, tensor(3, 2, 5), 1, True
        yield name, tensor(3, 4)
        yield name, tensor(3, 4), None, True
        yield name, channels_last(2, 3, 2, 4)
        yield name, channels_last(2, 3, 2, 4), 1
        yield name, of(1.0, NAN, 5.0, NAN), 0
        yield name, of(1, 5, 5, 1), 0
        yield name, tensor(), 0
        yield name, tensor(140)
    for name in ("max.dim_max", "min.dim_min"):
        yield name, tensor(3, 4), 1
        yield name, tensor(3, 4, dtype=torch.int64), 0, True
        yield name, of([1.0, NAN, 3.0]), -1
        yield name, tensor(5, dtype=torch.bool), 0
    for name, unbiased in (("var.out", True), ("var.out", False)):
        yield name, tensor(3, 40), [1], unbiased
        yield name, tensor(3, 2, 5), [0, 2], unbiased, True
    yield "var.correction_out", tensor(2, 140) + 100, [1], {"correction": 0}
    yield "var.correction_out", tensor(3, 4), None, {"correction": 2}
    yield "var.correction_out", tensor(3, 1), [1], {"correction": 1}
    yield "var.correction_out", tensor(3, 4, dtype=torch.float64), [0]
    yield "var_mean.correction_out", tensor(3, 40), [1], {"correction": 1, "keepdim": True}
    for dim in (0, 1, -1):
        yield "cumsum.out", tensor(3, 4), dim
    yield "cumsum.out", tensor(140), 0
    yield "cumsum.out", tensor(4, dtype=torch.int32), 0
    yield "cumsum.out", tensor(4, dtype=torch.bool), 0
    yield "cumsum.out", tensor(4, dtype=torch.int32), 0, {"dtype": torch.float32}
    yield "cumsum.out", tensor(), 0


def sort_cases() -> Iterator[tuple[Any, ...]]:
    for dtype in ALL:
        yield "sort.values_stable", tensor(3, 9, dtype=dtype, low=-2, high=2), {"stable": True}
    for descending in (True, False):
        options = {"stable": True, "descending": descending}
        yield "sort.values_stable", of(3.0, NAN, -1.0, 3.0, INF, NAN, 0.0), options
        yield "sort.values_stable", tensor(7, 3), options | {"dim": 0}
        yield "sort.values_stable", channels_last(1, 3, 4, 2), options | {"dim": 1}
        yield "sort.values", of(4, 1, 3, 2, dtype=torch.int32), 0, descending
    yield "sort.values", tensor()
    for largest in (True, False):
        yield "topk.values", of(3.0, 9.0, -1.0, 4.0, 7.5), 3, -1, largest
        yield "topk.values", torch.randperm(40).reshape(4, 10), 4, 0, largest
        yield "topk.values", torch.randperm(40).reshape(4, 10).float(), 10, 1, largest
    yield "topk.values", tensor(3), 0
    yield "topk.values", tensor(3), 4, Fails(tensor(4), of(0, 0, 0, 0, dtype=torch.int64))


def shape_cases() -> Iterator[tuple[Any, ...]]:
    for dtype in ALL:
        yield "permute_copy.out", tensor(2, 3, 4, dtype=dtype), [2, 0, 1]
        yield "cat.out", [tensor(2, 3, dtype=dtype), tensor(1, 3, dtype=dtype)], 0
    for dims in ([0, 2, 3, 1], [0, 3, 1, 2], [3, 2, 1, 0], [0, 1, 3, 2], [0, 2, 1, 3]):
        yield "permute_copy.out", tensor(2, 3, 2, 4), dims
        yield "permute_copy.out", channels_last(2, 3, 2, 4), dims
    yield "permute_copy.out", tensor(18, 17), [1, 0]
    yield "permute_copy.out", tensor(), []
    yield "permute_copy.out", torch.zeros(2, 0, 3), [1, 2, 0]
    yield "permute_copy.out", tensor(2, 3), [0, 0], Fails(tensor(2, 3))
    yield "permute_copy.out", tensor(2, 3), [0], Fails(tensor(2, 3))
    yield "transpose_copy.int_out", tensor(2, 3, 4), 1, -1
    yield "transpose_copy.int_out", tensor(2, 3, 4), 0, 3, Fails(tensor(2, 3, 4))
    yield "t_copy.out", tensor(2, 3)
    yield "t_copy.out", tensor(4)
    yield "view_copy.out", tensor(2, 6), [3, -1]
    yield "view_copy.out", tensor(2, 6), [2, 2, 3, 1]
    yield "view_copy.out", tensor(), [1, 1]
    yield "view_copy.out", tensor(2, 6), [5, -1], Fails(tensor(5, 2))
    yield "view_copy.out", tensor(2, 6), [-1, -1], Fails(tensor(2, 6))
    yield "view_copy.out", tensor(2, 6), [2, 5], Fails(tensor(2, 5))
    yield "squeeze_copy.dim_out", tensor(2, 1, 3), 1
    yield "squeeze_copy.dim_out", tensor(2, 1, 3), 0
    yield "squeeze_copy.dims_out", tensor(1, 2, 1, 3), [0, 2, 3]
    yield "unsqueeze_copy.out", tensor(2, 3), -1
    yield "unsqueeze_copy.out", tensor(), 0
    yield "unsqueeze_copy.out", tensor(2), 3, Fails(tensor(2, 1))
    for name in ("alias_copy.out", "detach_copy.out", "lift_fresh_copy.out", "clone.out"):
        yield name, tensor(2, 3)
    yield "slice_copy.Tensor_out", tensor(5, 4), 0, 1, 4, 2
    yield "slice_copy.Tensor_out", tensor(5, 4), 1, -3
    yield "slice_copy.Tensor_out", tensor(5, 4), 0, 3, 1
    yield "slice_copy.Tensor_out", tensor(5, 4), 1, None, 9223372036854775807, 3
    yield "slice_copy.Tensor_out", channels_last(2, 4, 3, 3), 1, 1, 3
    yield "slice_copy.Tensor_out", tensor(5), 0, 0, 5, 0, Fails(tensor(5))
    yield "narrow_copy.out", tensor(5, 4), 1, 1, 2
    yield "narrow_copy.out", tensor(5, 4), 1, 3, 2, Fails(tensor(5, 2))
    yield "select_copy.int_out", tensor(3, 4, 2), 1, -1
    yield "select_copy.int_out", tensor(3), 0, 3, Fails(tensor())
    yield "slice_scatter.out", tensor(5, 4), tensor(2, 4), 0, 1, 4, 2
    yield "slice_scatter.out", tensor(5, 4), tensor(3, 4), 0, 1, 3, Fails(tensor(5, 4))
    yield "select_scatter.out", tensor(3, 4), tensor(3), 1, 2
    yield "cat.out", [tensor(2, 3), tensor(2, 1), tensor(0), tensor(2, 2)], -1
    yield "cat.out", [tensor(2, 3), tensor(2, 3, dtype=torch.int32)], 1
    yield "cat.out", [channels_last(1, 2, 3, 3), channels_last(1, 3, 3, 3)], 1
    yield "cat.out", [tensor(2, 3), tensor(3, 2)], 0, Fails(tensor(5, 3))
    yield "stack.out", [tensor(2, 3), tensor(2, 3)], 1
    yield "stack.out", [tensor(), tensor()], -1
    yield "stack.out", [tensor(2), tensor(3)], 0, Fails(tensor(2, 2))
    yield "split_copy.Tensor_out", tensor(5, 2), 2
    yield "split_copy.Tensor_out", tensor(2, 6), 3, 1
    yield "split_with_sizes_copy.out", tensor(2, 6), [1, 0, 5], 1
    yield "split_with_sizes_copy.out", tensor(2, 6), [1, 6], 1, Fails(tensor(2, 1), tensor(2, 6))
    yield "unbind_copy.int_out", tensor(3, 2, 2), 1
    yield "expand_copy.out", tensor(3, 1), [2, 3, 4]
    yield "expand_copy.out", tensor(3, 1), [-1, 5]
    yield "expand_copy.out", tensor(), [2]
    yield "expand_copy.out", tensor(3, 2), [3, 4], Fails(tensor(3, 4))
    yield "repeat.out", tensor(2, 3), [2, 1, 3]
    yield "repeat.out", tensor(2, 3), [0, 2]
    yield "flip.out", tensor(2, 3, 4), [0, -1]
    yield "roll.out", tensor(3, 4), [1, -2], [0, 1]
    yield "roll.out", tensor(3, 4), [5]
    yield "as_strided_copy.out", tensor(10), [2, 3], [1, 2], 3
    yield "as_strided_copy.out", tensor(5), [2, 3], [1, 2], 3, Fails(tensor(2, 3))
    for offset in (0, 1, -2):
        yield "diagonal_copy.out", tensor(3, 4, 2), offset
    yield "diagonal_copy.out", tensor(3, 4, 2), 0, 1, 2
    yield "unfold_copy.out", tensor(2, 7), 1, 3, 2
    yield "tril.out", tensor(2, 3, 4)
    yield "tril.out", tensor(4, 3, dtype=torch.int32), 1
    yield "tril.out", tensor(3, 3, dtype=torch.bool), -1
    yield "triu.out", tensor(3, 4), 1
    yield "triu.out", tensor(3, 4), -1
    yield "constant_pad_nd.out", tensor(2, 3), [1, 2, 0, 1], 1.5
    yield "constant_pad_nd.out", tensor(2, 5), [-1, 2]
    yield "constant_pad_nd.out", tensor(2, 3, dtype=torch.int64), [1, 1], 7
    yield "constant_pad_nd.out", channels_last(1, 2, 3, 3), [1, 1, 1, 1], 0
    for kind in ("reflection", "replication"):
        yield f"{kind}_pad1d.out", tensor(2, 5), [2, 3]
        yield f"{kind}_pad2d.out", tensor(1, 2, 3, 4), [2, 1, 1, 2]
        yield f"{kind}_pad3d.out", tensor(1, 1, 2, 3, 3), [1, 2, 2, 0, 1, 1]
    yield "reflection_pad1d.out", tensor(2, 3), [3, 0], Fails(tensor(2, 6))


def copy_and_create_cases() -> Iterator[tuple[Any, ...]]:
    for source in ALL:
        for target in ALL:
            yield "copy.out", tensor(4, dtype=target), tensor(4, dtype=source, low=0)
    yield "copy.out", tensor(2, 3), tensor(3)
    yield "copy_", tensor(2, 3), tensor(2, 1)
    yield "copy_", tensor(2, 3), tensor(2, 2), Fails()
    yield "_to_copy.out", tensor(2, 3), {"out_dtype": torch.int32}
    yield "_to_copy.out", of(0.0, 0.5, NAN, -2.0), {"out_dtype": torch.bool}
    yield "_to_copy.out", of(1e-8, 65520.0, 1e30, -70000.0), {"out_dtype": torch.float16}
    yield "full.out", [2, 3], 1.5
    yield "full.out", [2], 3, {"out_dtype": torch.int64}
    yield "full.out", [], True, {"out_dtype": torch.bool}
    yield "full_like.out", tensor(2, 3), -2
    yield "ones.out", [3]
    yield "zeros.out", [0, 3]
    yield "ones_like.out", tensor(2, dtype=torch.int8)
    yield "zeros_like.out", tensor(2, 2)
    yield "fill.Scalar_out", tensor(2, 2), 2.5
    yield "fill.Tensor_out", tensor(2, 2), tensor()
    yield "scalar_tensor.out", 2.5
    yield "scalar_tensor.out", 7, {"out_dtype": torch.int64}
    yield "arange.out", 5, {"out_dtype": torch.int64}
    yield "arange.out", 4.5
    yield "arange.start_out", 2, 11, 3, {"out_dtype": torch.int32}
    yield "arange.start_out", 1.0, -0.3, -0.25
    yield "arange.start_out", 1, 5, -1, Fails(tensor(1))


def index_cases() -> Iterator[tuple[Any, ...]]:
    i = of(2, 0, -1, dtype=torch.int64)
    j = of([1], [0], dtype=torch.int64)
    mask = of(True, False, True, dtype=torch.bool)
    data = tensor(3, 4, 3)
    for indices in ([i], [None, i], [i, i], [None, i, i], [i, None, i], [j, i], [None, None, i], [mask], [None, j]):
        yield "index.Tensor_out", data, indices
    yield "index.Tensor_out", data, [tensor(3, 4, dtype=torch.bool)]
    yield "index.Tensor_out", data, [mask, None, of(0, 2, dtype=torch.int64)]
    yield "index.Tensor_out", data, [i.int()]
    yield "index.Tensor_out", data, [of(0, 3, dtype=torch.int64)], Fails(tensor(2, 4, 5))
    yield "index.Tensor_out", data, [i, of(1, 2, dtype=torch.int64)], Fails(tensor(3, 5))
    yield "index.Tensor_out", tensor(3, 4, dtype=torch.float16), [i, i]
    yield "index.Tensor_out", channels_last(2, 3, 4, 4), [None, i]
    for accumulate in (False, True):
        yield "index_put.out", tensor(3, 4), [i], tensor(3, 4), accumulate
        yield "index_put.out", tensor(3, 4), [None, of(1, 3, dtype=torch.int64)], tensor(2), accumulate
        yield "index_put.out", tensor(3, 4), [mask], tensor(), accumulate
        yield "index_put.out", tensor(3, 4, dtype=torch.int32), [i, i], tensor(3, dtype=torch.int32), accumulate
        yield "index_put_", tensor(3, 4), [i], tensor(4), accumulate
    yield "index_put.out", tensor(3), [of(1, 1, 1, dtype=torch.int64)], tensor(3), True
    yield "index_put.out", tensor(3, 4), [i], tensor(2, 4), Fails(tensor(3, 4))
    yield "index_select.out", tensor(3, 4), 1, of(3, 0, 0, dtype=torch.int64)
    yield "index_select.out", tensor(3, 4), 0, of(1, dtype=torch.int32)
    yield "index_select.out", tensor(3), 0, of(3, dtype=torch.int64), Fails(tensor(1))
    at = of([0, 1, 2], [2, 0, 0], dtype=torch.int64)
    yield "gather.out", tensor(2, 4), 1, at
    yield "gather.out", tensor(3, 3, dtype=torch.int16), 0, at
    yield "gather.out", tensor(2, 2), 1, at, Fails(tensor(2, 3))
    yield "scatter.src_out", tensor(2, 4), 1, of([0, 1, 2], [3, 0, 1], dtype=torch.int64), tensor(2, 3)
    yield "scatter.value_out", tensor(2, 4), 1, at, 9
    yield "scatter.value_out", tensor(3, 3, dtype=torch.int32), 0, at, 9
    yield "scatter_add.out", tensor(2, 4), 1, at, tensor(2, 3)
    yield "scatter_add.out", tensor(3, 3, dtype=torch.int64), 0, at, tensor(2, 3, dtype=torch.int64)
    yield "scatter_add.out", tensor(2, 2), 1, at, tensor(2, 3), Fails(tensor(2, 2))


SECTIONS = (
    unary_cases,
    binary_cases,
    select_cases,
    reduction_cases,
    sort_cases,
    shape_cases,
    copy_and_create_cases,
    index_cases,
)


def find_operators(name: str) -> tuple[Any, Any]:
    """The out variant and the functional operator (or the in-place one, twice) of a name such as ``add.out``."""
    packet_name, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, packet_name)
    out = getattr(packet, overload or "default")
    if packet_name.endswith("_"):
        return out, out
    signature = [(a.name, str(a.type)) for a in out._schema.arguments if not a.is_out]
    for candidate in packet.overloads():
        schema = getattr(packet, candidate)._schema
        inputs = [(a.name, str(a.type)) for a in schema.arguments if not a.is_out]
        factory = [a for a in inputs if a[0] not in ("dtype", "layout", "device", "pin_memory")]
        writes = any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
        if not writes and (inputs == signature or factory == signature):
            return out, getattr(packet, candidate)
    raise LookupError(f"{name} has no functional variant")


def encode_number(value: Any, dtype: torch.dtype | None = None) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return repr(value) if isinstance(value, int) else f"{value:.9g}" if dtype != torch.float64 else repr(value)


def encode(value: Any, kind: str) -> list[str]:
    """The lines of one argument; ``kind`` is the type in the schema."""
    if value is None:
        return ["none"]
    if isinstance(value, torch.Tensor):
        sizes = ",".join(map(str, value.shape)) or "-"
        order = ",".join(map(str, value.dim_order())) or "-"
        numbers = " ".join(encode_number(v, value.dtype) for v in value.flatten().tolist())
        return [f"tensor {str(value.dtype)[6:]} {sizes} {order} {numbers}".rstrip()]
    if isinstance(value, (list, tuple)) and "Tensor" in kind:
        lines = [line for item in value for line in encode(item, "Tensor")]
        return [f"{'optional_' if 'Optional' in kind else ''}tensors {len(value)}", *lines]
    if isinstance(value, (list, tuple)) and "float" in kind:
        return ["floats " + " ".join(repr(float(item)) for item in value)]
    if isinstance(value, (list, tuple)):
        return ["ints " + " ".join(map(str, value))]
    if isinstance(value, str):
        return [f"str {value}"]
    if isinstance(value, torch.dtype):
        return [f"int {DTYPE_CODES[value]}"]
    if isinstance(value, bool):
        return [f"bool {int(value)}"]
    return [f"int {value}"] if isinstance(value, int) and kind != "float" else [f"float {float(value)!r}"]


DTYPE_CODES = {
    dtype: code
    for code, dtype in enumerate((torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16))
} | {torch.float32: 6, torch.float64: 7, torch.bool: 11, torch.bfloat16: 15}


def encode_case(name: str, *given: Any) -> list[str]:
    arguments = list(given)
    fails = arguments.pop() if isinstance(arguments[-1], Fails) else None
    named = dict(arguments.pop()) if arguments and isinstance(arguments[-1], dict) else {}
    out_dtype = named.pop("out_dtype", None)
    tolerance = named.pop("tolerance", None)
    out, functional = find_operators(name)
    values: dict[str, Any] = {}
    for argument in out._schema.arguments:
        if argument.is_out:
            continue
        if arguments:
            values[argument.name] = arguments.pop(0)
        elif argument.name in named:
            values[argument.name] = named.pop(argument.name)
        elif argument.has_default_value():
            values[argument.name] = argument.default_value
        else:
            values[argument.name] = None
    assert not arguments and not named, f"{name}: too many arguments {arguments} {named}"
    kinds = {a.name: str(a.type) for a in out._schema.arguments}
    inputs = [line for key, value in values.items() for line in encode(value, kinds[key])]

    in_place = name.partition(".")[0].endswith("_")
    marks = (" fails" if fails else "") + (f" tolerance {tolerance}" if tolerance else "")
    lines = [f"case aten::{name}{marks}", *inputs]
    if fails:
        expected = list(fails.like)
    else:
        called = {k: v.clone() if isinstance(v, torch.Tensor) and in_place else v for k, v in values.items()}
        called |= {"dtype": out_dtype} if out_dtype is not None else {}
        result = functional(**called)
        expected = [] if in_place else list(result) if isinstance(result, (list, tuple)) else [result]
        if in_place:
            lines += ["self", *encode(result, "Tensor")]
    returns_list = "Tensor[]" in str(out._schema.arguments[-1].type) or "List[Tensor]" in str(
        out._schema.arguments[-1].type
    )
    if returns_list:
        lines.append(f"out_list {len(expected)}")
    elif expected:
        lines.append("out")
    lines += [line for item in expected for line in encode(item, "Tensor")]
    return lines


def write_cases(output: Path, generator: str, sections: Iterable[Callable[[], Iterator[tuple[Any, ...]]]]) -> None:
    """Writes the cases of the sections, sorted by operator."""
    torch.manual_seed(0)
    cases = [encode_case(*case) for section in sections for case in section()]
    cases.sort(key=lambda lines: re.split(r"[ ]", lines[0])[1])
    header = f"# Generated by {generator} from PyTorch {torch.__version__.partition('+')[0]}; do not edit."
    output.write_text("\n".join([header, *(line for lines in cases for line in lines)]) + "\n", encoding="utf-8")
    print(f"{len(cases)} cases, {output.stat().st_size} bytes")


if __name__ == "__main__":
    write_cases(OUTPUT, Path(__file__).name, SECTIONS)
