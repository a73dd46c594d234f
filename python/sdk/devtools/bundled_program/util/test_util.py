# SPDX-License-Identifier: BSD-3-Clause
"""A model with two methods, random test suites, and both together, for tests of bundled programs."""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from sdk.devtools.bundled_program.config import (
    ConfigValue,
    MethodInputType,
    MethodOutputType,
    MethodTestCase,
    MethodTestSuite,
)

if TYPE_CHECKING:
    from sdk.exir import ExecutorchProgramManager

DEFAULT_INT_INPUT = 2
"""The last input of each method: a number that becomes a constant when the program is exported."""


class SampleModel(nn.Module):
    """A model with two methods on tensors of 2 x 2 int32."""

    def __init__(self) -> None:
        super().__init__()
        self.a: Tensor
        self.b: Tensor
        self.register_buffer("a", torch.full((2, 2), 3, dtype=torch.int32))
        self.register_buffer("b", torch.full((2, 2), 2, dtype=torch.int32))
        self.method_names = ["encode", "decode"]

    def encode(self, x: Tensor, q: Tensor, a: int = DEFAULT_INT_INPUT) -> Tensor:
        return self.a * x + a * self.b + q

    def decode(self, x: Tensor, q: Tensor, a: int = DEFAULT_INT_INPUT) -> Tensor:
        return x * q + a * self.b


class _AsForward(nn.Module):
    """A module whose forward is another module's method."""

    def __init__(self, model: nn.Module, method: str) -> None:
        super().__init__()
        self.model, self.method = model, method

    def forward(self, *inputs: ConfigValue) -> Tensor:
        result: Tensor = getattr(self.model, self.method)(*inputs)
        return result


def get_rand_input_values(sizes: list[list[int]], dtype: torch.dtype, count: int) -> list[MethodInputType]:
    """`count` inputs of a method: random tensors of these sizes, and the number."""
    return [[*_random_tensors(sizes, dtype), DEFAULT_INT_INPUT] for _ in range(count)]


def get_rand_method_names(count: int) -> list[str]:
    """Different names of five letters."""
    names: set[str] = set()
    while len(names) < count:
        names.add("".join(random.choices(string.ascii_letters, k=5)))
    return list(names)


def get_random_test_suites(
    n_model_inputs: int,
    model_input_sizes: list[list[int]],
    n_model_outputs: int,
    model_output_sizes: list[list[int]],
    dtype: torch.dtype,
    n_sets_per_plan_test: int,
    n_method_test_suites: int,
) -> tuple[list[str], list[list[MethodInputType]], list[list[MethodOutputType]], list[MethodTestSuite]]:
    """Suites for methods that do not exist, with random inputs and outputs.

    Returns:
        The names, and for each its inputs, its expected outputs, and the suite of both.
    """
    _check_count("inputs", n_model_inputs, model_input_sizes)
    _check_count("outputs", n_model_outputs, model_output_sizes)
    names = get_rand_method_names(n_method_test_suites)
    inputs = [get_rand_input_values(model_input_sizes, dtype, n_sets_per_plan_test) for _ in names]
    outputs: list[list[MethodOutputType]] = [
        [_random_tensors(model_output_sizes, dtype) for _ in range(n_sets_per_plan_test)] for _ in names
    ]
    suites = [
        MethodTestSuite(name, [MethodTestCase(*case) for case in zip(*cases, strict=True)])
        for name, *cases in zip(names, inputs, outputs, strict=True)
    ]
    return names, inputs, outputs, suites


def get_random_test_suites_with_eager_model(
    eager_model: nn.Module,
    method_names: list[str],
    n_model_inputs: int,
    model_input_sizes: list[list[int]],
    dtype: torch.dtype,
    n_sets_per_plan_test: int,
) -> tuple[list[list[MethodInputType]], list[MethodTestSuite]]:
    """Suites for the methods of a model, with random inputs and the model's outputs for them.

    Returns:
        The inputs of each method, and the suites.
    """
    _check_count("inputs", n_model_inputs, model_input_sizes)
    inputs = [get_rand_input_values(model_input_sizes, dtype, n_sets_per_plan_test) for _ in method_names]
    suites = [
        MethodTestSuite(name, [MethodTestCase(call, getattr(eager_model, name)(*call)) for call in calls])
        for name, calls in zip(method_names, inputs, strict=True)
    ]
    return inputs, suites


def get_common_executorch_program() -> tuple[ExecutorchProgramManager, list[MethodTestSuite]]:
    """The program of `SampleModel`, and ten cases for each of its methods."""
    from sdk.exir import to_edge

    model = SampleModel()
    sizes = [[2, 2], [2, 2]]
    inputs, suites = get_random_test_suites_with_eager_model(model, model.method_names, 2, sizes, torch.int32, 10)
    methods = {
        name: torch.export.export(_AsForward(model, name), tuple(calls[0]))
        for name, calls in zip(model.method_names, inputs, strict=True)
    }
    return to_edge(methods).to_executorch(), suites


def _random_tensors(sizes: list[list[int]], dtype: torch.dtype) -> list[Tensor]:
    return [(4 * torch.rand(size) - 2).to(dtype) for size in sizes]


def _check_count(what: str, count: int, sizes: list[list[int]]) -> None:
    if count != len(sizes):
        raise ValueError(f"expected sizes for {count} {what}, found {len(sizes)}")
