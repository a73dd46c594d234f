# SPDX-License-Identifier: BSD-3-Clause
"""Test cases of a program, and suites of test cases, one for each method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union

import torch
from torch.utils._pytree import tree_flatten

ConfigValue: TypeAlias = Union[torch.Tensor, int, bool, float]  # noqa: UP007 - typing.Union, as in ExecuTorch
"""An input, or an expected output, of a method."""

MethodInputType: TypeAlias = Sequence[ConfigValue]
"""The inputs of one call, in the order of the method's arguments."""

MethodOutputType: TypeAlias = Sequence[torch.Tensor]
"""The outputs of one call, in the order in which the method returns them."""

DataContainer: TypeAlias = Union[list, tuple, dict]  # noqa: UP007
"""Containers of inputs and outputs; they are flattened when they are stored."""


class MethodTestCase:
    """A test case of a method: the inputs of a call, and optionally the expected outputs."""

    def __init__(self, inputs: MethodInputType, expected_outputs: MethodOutputType | None = None) -> None:
        """
        Args:
            inputs: Tensors and numbers, as the method expects them; lists, tuples and dictionaries are flattened.
            expected_outputs: What the method should return, e.g. what the model in PyTorch returned; a tensor, or
                containers of tensors. Without them the call can be run, but not verified.
        """
        self.inputs: list[ConfigValue] = tree_flatten(inputs)[0]
        self.expected_outputs: list[ConfigValue] = [] if expected_outputs is None else tree_flatten(expected_outputs)[0]


@dataclass
class MethodTestSuite:
    """The test cases of a method."""

    method_name: str
    test_cases: Sequence[MethodTestCase]
