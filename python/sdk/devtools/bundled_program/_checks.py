# SPDX-License-Identifier: BSD-3-Clause
"""Checks that test cases fit the methods of a program. If not, it raises AssertionError, also with `python -O`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from sdk.devtools.bundled_program.config import MethodTestSuite
from sdk.exir import schema
from sdk.exir.schema import TensorShapeDynamism
from sdk.exir.tensor import get_scalar_type

_NUMBERS: dict[type, type] = {schema.Int: int, schema.Bool: bool, schema.Double: float}


def methods_by_name(program: schema.Program) -> dict[str, schema.ExecutionPlan]:
    return {plan.name: plan for plan in program.execution_plan}


def values_of(plan: schema.ExecutionPlan, indices: Sequence[int]) -> list[Any]:
    """Values of a method by their indices: its inputs or outputs."""
    return [plan.values[index].val for index in indices]


def check_suites(program: schema.Program, suites: Sequence[MethodTestSuite]) -> None:
    """Raises AssertionError if a suite is not for a method of the program, or a case does not fit its method."""
    plans = methods_by_name(program)
    names = [suite.method_name for suite in suites]
    if missing := set(names) - set(plans):
        raise AssertionError(
            f"All method names in bundled config should be found in program.execution_plan, but {missing} does not "
            f"include. The program has the methods {sorted(plans)}."
        )
    if twice := {name for name in names if names.count(name) > 1}:
        raise AssertionError(f"There are several test suites for {sorted(twice)}; put the cases of a method into one.")
    for suite in suites:
        plan = plans[suite.method_name]
        for index, case in enumerate(suite.test_cases):
            where = f"test case {index} of the method {suite.method_name!r}"
            _check_values("input", case.inputs, values_of(plan, plan.inputs), where)
            if case.expected_outputs:
                _check_values("output", case.expected_outputs, values_of(plan, plan.outputs), where)


def _check_values(kind: str, found: Sequence[Any], expected: list[Any], where: str) -> None:
    if len(found) != len(expected):
        raise AssertionError(
            f"The number of {kind}s in each bundled set and Program shall equal, but get {len(found)} and "
            f"{len(expected)}: {where}."
        )
    for index, (value, like) in enumerate(zip(found, expected, strict=True)):
        place = f"{kind} {index} of {where}"
        if isinstance(value, torch.Tensor):
            _check_tensor(kind, value, like, place)
        elif type(value) in (int, bool, float):
            _check_number(kind, index, value, like, place)
        else:
            raise AssertionError(
                f"The type of {kind} {value!r:.80} with type {type(value)} is not supported: {place}. Test cases have "
                "tensors, int, bool and float."
            )


def _check_tensor(kind: str, value: torch.Tensor, like: Any, place: str) -> None:
    if not isinstance(like, schema.Tensor):
        raise AssertionError(f"A tensor was given where the program has {_describe(like)}: {place}.")
    if value.layout != torch.strided or value.is_quantized:
        raise AssertionError(f"A test case has dense tensors, found one of {value.layout}, {value.dtype}: {place}.")
    dtype = get_scalar_type(like.scalar_type)
    if value.dtype != dtype:
        name = "input" if kind == "input" else "label"
        raise AssertionError(f"The {name} tensor {value} dtype shall be {dtype}, but now is {value.dtype} ({place})")
    dynamic = like.shape_dynamism != TensorShapeDynamism.STATIC
    sizes, found = list(like.sizes), list(value.shape)
    if like.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND:
        fits = len(found) == len(sizes)
    elif dynamic:  # the sizes of the program are the largest ones
        fits = len(found) == len(sizes) and all(a <= b for a, b in zip(found, sizes, strict=True))
    else:
        fits = found == sizes
    if not fits:
        at_most = "at most " if dynamic else ""
        raise AssertionError(f"The {kind} tensor shall have {at_most}the sizes {sizes}, but now has {found}: {place}.")


def _check_number(kind: str, index: int, value: float, like: Any, place: str) -> None:
    if isinstance(like, schema.Tensor) and kind == "output":
        raise AssertionError(f"The {index}-th expected output shall be a tensor, but now is {type(value)}: {place}.")
    if isinstance(like, schema.Null) and kind == "input":
        return  # the method accepts any number
    expected = _NUMBERS.get(type(like))
    if expected is None:
        raise AssertionError(f"{value} was given where the program has {_describe(like)}: {place}.")
    if type(value) is not expected:
        raise AssertionError(f"The {kind} primitive dtype shall be {expected}, but now is {type(value)} ({place})")


def _describe(value: Any) -> str:
    if isinstance(value, schema.Tensor):
        return f"a tensor of {get_scalar_type(value.scalar_type)} and the sizes {list(value.sizes)}"
    number = _NUMBERS.get(type(value))
    return f"a number ({number.__name__})" if number else f"a value of type {type(value).__name__}"
