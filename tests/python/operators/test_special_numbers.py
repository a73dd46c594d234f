# SPDX-License-Identifier: BSD-3-Clause
"""NaN, infinity, zeros, and numbers near the ends of a dtype's range: functions of one and of two numbers give what
eager gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sdk.exir import to_edge
from sdk.runtime import Runtime

Function = Callable[..., torch.Tensor]

OF_TORCH = (
    "abs", "acosh", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "digamma", "erf", "erfc", "erfinv", "exp",
    "exp2", "expm1", "floor", "lgamma", "log", "log10", "log1p", "log2", "nan_to_num", "neg", "reciprocal", "relu",
    "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tanh", "trunc",
)  # fmt: skip
OF_FUNCTIONAL = (
    "celu", "elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid", "mish", "relu6", "selu",
    "silu", "softplus", "softsign", "tanhshrink",
)  # fmt: skip
ONE: dict[str, Function] = {
    **{name: getattr(torch, name) for name in OF_TORCH},
    **{name: getattr(F, name) for name in OF_FUNCTIONAL},
    "clamp": lambda x: x.clamp(-1, 1),
    "cube": lambda x: x**3,
}

OF_TWO = (
    "add", "atan2", "copysign", "div", "floor_divide", "fmax", "fmin", "fmod", "hypot", "logaddexp", "maximum",
    "minimum", "mul", "pow", "remainder", "sub", "xlogy",
)  # fmt: skip
TWO: dict[str, Function] = {
    **{name: getattr(torch, name) for name in OF_TWO},
    "truncated quotient": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "rounded quotient": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "lerp": lambda x, y: torch.lerp(x, y, 0.25),
}

USUAL = (
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    3.0,
    -3.0,
    10.0,
    -10.0,
    88.0,
    -88.0,
    1e-6,
    -1e-6,
)


class Calls(nn.Module):
    """Functions of the same tensors."""

    def __init__(self, functions: Sequence[Function]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        return [function(*inputs) for function in self.functions]


def check(functions: dict[str, Function], inputs: tuple[torch.Tensor, ...]) -> None:
    calls = Calls(list(functions.values()))
    program = to_edge(torch.export.export(calls, inputs)).to_executorch()
    found = Runtime.get().load_program(program.buffer).load_method("forward").execute(inputs)
    for name, ours, theirs in zip(functions, found, calls(*inputs), strict=True):
        rtol, atol = (2e-5, 1e-5) if theirs.dtype == torch.float32 else (4e-3, 2e-3)
        torch.testing.assert_close(
            ours, theirs, rtol=rtol, atol=atol, equal_nan=True, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["float32", "float16"])
def test_functions_of_one_number(dtype: torch.dtype) -> None:
    info = torch.finfo(dtype)
    check(ONE, (torch.tensor([*USUAL, info.max, -info.max, info.tiny, -info.tiny, info.max / 2], dtype=dtype),))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["float32", "float16"])
def test_functions_of_two_numbers(dtype: torch.dtype) -> None:
    x, y = torch.meshgrid(torch.tensor(USUAL, dtype=dtype), torch.tensor(USUAL, dtype=dtype), indexing="ij")
    check(TWO, (x.flatten(), y.flatten()))


def test_quotients_above_the_last_fraction() -> None:
    """From 2^23 on every float32 number is an integer, and adding 0.5 to one rounds."""
    x = torch.tensor([8388609.0, -8388609.0, 16777215.0, 25165827.0])
    check(
        {name: TWO[name] for name in ("floor_divide", "rounded quotient", "remainder")},
        (x, torch.tensor([1.0, 1.0, -1.0, 3.0])),
    )
