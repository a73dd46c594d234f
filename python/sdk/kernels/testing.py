# SPDX-License-Identifier: BSD-3-Clause
"""Tests kernels against results that Python computes. The calls are written to a file. A program made by the CMake
function `executorch_kernel_test` runs them with the kernels that it links. No program (.pte) is involved.

    cases = KernelCases()
    for dtype in (torch.float32, torch.int64):
        x = torch.arange(-4, 4).to(dtype)
        cases.add("my_ops::mul3.out", x, expected=3 * x)
    cases.add("my_ops::mul3.out", torch.ones(2, dtype=torch.bool), refused=torch.empty(2))
    cases.write("mul3_cases.txt")
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch

__all__ = ["KernelCases", "encode_argument", "encode_case"]

DTYPES = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.float32,
    torch.float64,
    torch.bool,
    torch.bfloat16,
)
"""The dtypes that the tensors of a case may have."""

Tensors: TypeAlias = torch.Tensor | Sequence[torch.Tensor]


class KernelCases:
    """Calls of kernels and their expected results."""

    def __init__(self) -> None:
        self._cases: list[list[str]] = []

    def add(
        self,
        operator: str,
        *arguments: Any,
        expected: Tensors | None = None,
        refused: Tensors | None = None,
        tolerance: float | None = None,
    ) -> None:
        """Adds a call of an out variant.

        Args:
            operator: its name and overload, `my_ops::mul3.out`.
            arguments: all but the outputs, in the order of the schema: tensors, lists of tensors (or None), numbers,
                lists of numbers, text, dtypes, None. A float is written as one: pass 2.0, not 2, for a `float`.
            expected: the results, a tensor for each output. The kernel gets outputs of their dtypes, sizes and dim
                orders (upper bounds, so that it may resize them), filled with a pattern.
            refused: the outputs that the kernel gets, in place of `expected`, if the kernel must fail.
            tolerance: the largest relative error of floating-point results; 0 if they must be equal. By default a few
                units in the last place.

        Raises:
            ValueError: not exactly one of `expected` and `refused` is given, `tolerance` is negative or not finite, or
                a value has no form in a file of cases.
        """
        if (expected is None) == (refused is None):
            raise ValueError(
                f"{operator}: give the results as `expected`, or the outputs of a call that must fail as `refused`"
            )
        outputs = expected if expected is not None else refused
        tensors = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs or ())
        lines = [line for argument in arguments for line in encode_argument(argument)]
        self._cases.append(encode_case(operator, lines, tensors, refused is not None, tolerance))

    def write(self, path: str | Path) -> None:
        """Writes the file, sorted by operator. The same calls give the same bytes."""
        lines = ["# Written by sdk.kernels.testing; do not edit."]
        lines += [line for case in sorted(self._cases, key=lambda case: case[0].split()[1]) for line in case]
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def encode_case(
    operator: str,
    arguments: Sequence[str],
    outputs: Sequence[torch.Tensor],
    refused: bool,
    tolerance: float | None,
    marker: str = "out",
) -> list[str]:
    """Returns the lines of a call. `marker` says how the outputs are passed: as `out` arguments; as one list argument,
    `out_list N`; or as the first argument, `self`, which is written in place."""
    if tolerance is not None and not 0 <= tolerance < math.inf:
        raise ValueError(f"{operator}: tolerance is {tolerance}; expected a finite number that is not negative")
    marks = (" fails" if refused else "") + ("" if tolerance is None else f" tolerance {tolerance}")
    lines = [f"case {operator}{marks}", *arguments]
    if outputs or marker.startswith("out_list"):
        lines.append(marker)
    return lines + [line for output in outputs for line in encode_argument(output)]


def encode_argument(value: Any, kind: str = "") -> list[str]:
    """Returns the lines of one argument. `kind` is its type in the schema, if known: the value alone does not
    distinguish a `float` from an `int`, nor the types of empty lists."""
    if value is None:
        return ["none"]
    if isinstance(value, torch.Tensor):
        return [_encode_tensor(value)]
    if isinstance(value, (list, tuple)):
        return _encode_list(value, kind)
    if isinstance(value, str):
        if not value or value.split() != [value]:
            raise ValueError(f"{value!r}: the text of a case is one word")
        return [f"str {value}"]
    if isinstance(value, torch.dtype):
        from sdk.exir.tensor import scalar_type_enum

        return [f"int {int(scalar_type_enum(value))}"]
    if isinstance(value, bool):
        return [f"bool {int(value)}"]
    if not isinstance(value, (int, float)):
        raise ValueError(f"an argument of type {type(value).__name__} has no form in a file of cases")
    return [f"int {value}"] if isinstance(value, int) and kind != "float" else [f"float {float(value)!r}"]


def _encode_list(values: Sequence[Any], kind: str) -> list[str]:
    if "Tensor" in kind or any(isinstance(item, torch.Tensor) for item in values):
        optional = "Optional" in kind or any(item is None for item in values)
        lines = [line for item in values for line in encode_argument(item)]
        return [f"{'optional_' if optional else ''}tensors {len(values)}", *lines]
    if "float" in kind or any(isinstance(item, float) for item in values):
        return ["floats " + " ".join(repr(float(item)) for item in values)]
    return ["ints " + " ".join(map(str, values))]


def _encode_tensor(tensor: torch.Tensor) -> str:
    if tensor.dtype not in DTYPES:
        raise ValueError(f"a tensor of {tensor.dtype} has no form in a file of cases")
    sizes = ",".join(map(str, tensor.shape)) or "-"
    order = ",".join(map(str, tensor.dim_order())) or "-"
    numbers = " ".join(_encode_number(value, tensor.dtype) for value in tensor.flatten().tolist())
    return f"tensor {str(tensor.dtype).removeprefix('torch.')} {sizes} {order} {numbers}".rstrip()


def _encode_number(value: float, dtype: torch.dtype) -> str:
    if isinstance(value, int):  # or bool
        return str(int(value))
    return repr(value) if dtype == torch.float64 else f"{value:.9g}"
