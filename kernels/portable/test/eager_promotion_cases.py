# SPDX-License-Identifier: BSD-3-Clause
"""Cases whose results differ if an operator computes in the dtype of its operands or of its output by mistake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from eager_case_format import of

WIDE = {"into": torch.int64}
FLOAT = {"into": torch.float32}


def result_dtype_cases() -> Iterator[tuple[Any, ...]]:
    """Results that wrap around, or are rounded, in the promoted dtype before they are stored in a wider one."""
    a = of(100, -128, 7, 100, dtype=torch.int8)
    b = of(100, -1, 3, -100, dtype=torch.int8)
    for name in ("add", "sub", "mul", "maximum", "minimum", "floor_divide", "fmax", "fmin", "gcd", "lcm"):
        yield f"{name}.out", a, b, WIDE
    yield "mul.out", a.repeat(70), b.repeat(70), WIDE
    yield "mul.out", a.view(4, 1), b, WIDE
    yield "add.out", a, b, 3, WIDE
    yield "sub.out", of(1, 2, dtype=torch.uint8), of(2, 1, dtype=torch.uint8), WIDE
    yield "sub.out", of(1, 2, dtype=torch.uint8), of(2, 1, dtype=torch.uint8), FLOAT
    yield "mul.out", of(400, -300, dtype=torch.int16), of(100, 2, dtype=torch.int8), WIDE
    yield "mul.out", of(2**30, -5, dtype=torch.int32), of(4, 2, dtype=torch.int32), WIDE
    for name in ("add", "sub", "mul"):
        yield f"{name}.Scalar_out", a, 3, WIDE
    yield "rsub.Scalar_out", a, 100, WIDE
    for name in ("fmod", "remainder"):
        yield f"{name}.Tensor_out", a, b, WIDE
        yield f"{name}.Scalar_out", a, 7, WIDE
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield f"{name}.Tensor_out", a, b, WIDE
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        yield f"{name}.Tensor_out", a, of(1, 7, 5, 6, dtype=torch.int8), WIDE
        yield f"{name}.Tensor_Scalar_out", a, 1, WIDE
    for dtype in (torch.int8, torch.uint8):
        yield "bitwise_not.out", of(0, 5, 127, dtype=dtype), WIDE
    for name in ("neg", "abs", "sign"):
        yield f"{name}.out", a, WIDE
    yield "pow.Tensor_Tensor_out", of(2, 2, 3, -7, dtype=torch.int8), of(7, 8, 5, 3, dtype=torch.int8), WIDE
    yield "pow.Scalar_out", 2, of(7, 8, 3, dtype=torch.int8), WIDE
    for exponent in (2, 3):
        yield "pow.Tensor_Scalar_out", a, exponent, WIDE
    for output in (WIDE, FLOAT):
        yield "add.out", of(True, True, False, dtype=torch.bool), of(True, False, False, dtype=torch.bool), output
        yield "mul.out", of(True, True, False, dtype=torch.bool), of(True, False, False, dtype=torch.bool), output
    yield (
        "where.self_out",
        of(True, False, dtype=torch.bool),
        of(200, 3, dtype=torch.uint8),
        of(1, 77, dtype=torch.uint8),
        WIDE,
    )
    yield "clamp.out", a, -50, 50, WIDE
    for dtype in (torch.float16, torch.bfloat16):
        x = of(60000.0, 1.0, 0.1, -7.3, dtype=dtype)
        y = of(60000.0, 0.3, 3.7, 1.1, dtype=dtype)
        for name in ("add", "sub", "mul", "div", "atan2"):
            yield f"{name}.out", x, y, FLOAT
        for name in ("sigmoid", "tanh", "sqrt"):
            yield f"{name}.out", y, FLOAT
        yield "div.out", x, y, {"into": torch.float64}
        yield "pow.Tensor_Scalar_out", x[1:3], 2, FLOAT
        yield "pow.Tensor_Scalar_out", y, 0.5, FLOAT


def operand_dtype_cases() -> Iterator[tuple[Any, ...]]:
    """Operands without dimensions do not raise the dtype of the result: they are converted before the operation."""
    a = of(100, 10, -100, dtype=torch.int8)
    large = torch.tensor(300)  # 44 in int8
    for name in ("add", "sub", "mul", "maximum", "minimum", "floor_divide", "gcd"):
        yield f"{name}.out", a, large
    yield "maximum.out", a, large, WIDE
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield f"{name}.Tensor_out", of(44, 100, -100, dtype=torch.int8), large
        for dtype in (torch.float16, torch.bfloat16):
            x = of(0.1, 0.2, 2049.0, dtype=dtype)
            yield f"{name}.Scalar_out", x, 0.1
            yield f"{name}.Tensor_out", x, torch.tensor(0.1, dtype=torch.float64)
            yield f"{name}.Tensor_out", x, of(0, 1, 2049, dtype=torch.int32)
    for name in ("fmod", "remainder"):
        yield f"{name}.Tensor_out", a, large
    yield "bitwise_right_shift.Tensor_out", a, torch.tensor(257)
    yield "where.self_out", of(True, False, False, dtype=torch.bool), a, large
    yield "clamp.Tensor_out", a, torch.tensor(-300), large
    yield "div.out", a, large


def exact_number_cases() -> Iterator[tuple[Any, ...]]:
    """Numbers are rounded to the tensor's dtype only where PyTorch does so: not in multiplications and divisions."""
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.linspace(0.25, 1000, 25).to(dtype)
        for number in (0.7, 3.3):
            zero_dim = torch.tensor(number)
            for name in ("add", "sub", "mul", "div", "rsub"):
                yield f"{name}.Scalar_out", x, number
            yield "add.out", x, x, number
            for name in ("add", "sub", "mul", "div", "floor_divide", "maximum"):
                yield f"{name}.out", x, zero_dim
            yield "div.out", zero_dim, x
            yield "mul.out", zero_dim, x
            for name in ("fmod", "remainder"):
                yield f"{name}.Scalar_out", x, number
                yield f"{name}.Tensor_out", x, zero_dim
            for mode in ("trunc", "floor"):
                yield "div.Scalar_mode_out", x, number, {"rounding_mode": mode}
            yield "pow.Tensor_Scalar_out", x, number / 10
