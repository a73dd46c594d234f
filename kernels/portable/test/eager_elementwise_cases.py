# SPDX-License-Identifier: BSD-3-Clause
"""Cases of elementwise operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from eager_case_format import ALL, INF, INTEGERS, NAN, REALS, Fails, channels_last, of, tensor


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
    above_2_to_23 = of(8388609.0, -8388609.0, 16777215.0, -5.0, 5.0, -5.0), of(1.0, 1.0, -1.0, INF, -INF, -INF)
    yield "floor_divide.out", *above_2_to_23
    yield "div.out_mode", *above_2_to_23, {"rounding_mode": "floor"}
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
