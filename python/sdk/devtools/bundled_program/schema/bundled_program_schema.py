# SPDX-License-Identifier: BSD-3-Clause
"""The schema of bundled programs as dataclasses, one for each flatbuffer table of a `.bpte`, fields in schema order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union

from sdk.exir.scalar_type import ScalarType


@dataclass
class Tensor:
    """Contiguous elements in the order of `dim_order`, outermost dimension first."""

    scalar_type: ScalarType
    sizes: list[int]
    data: bytes
    dim_order: list[int]


@dataclass
class Int:
    """An integer of 64 bits."""

    int_val: int


@dataclass
class Bool:
    """A truth value."""

    bool_val: bool


@dataclass
class Double:
    """A floating-point number of 64 bits."""

    double_val: float


ValueUnion: TypeAlias = Union[Tensor, Int, Bool, Double]  # noqa: UP007 - typing.Union, as in ExecuTorch


@dataclass
class Value:
    """An input or an expected output."""

    val: ValueUnion


@dataclass
class BundledMethodTestCase:
    """Inputs in the order of the method; outputs flattened, or empty if no outputs are expected."""

    inputs: list[Value]
    expected_outputs: list[Value]


@dataclass
class BundledMethodTestSuite:
    """The test cases of one method."""

    method_name: str
    test_cases: list[BundledMethodTestCase]


@dataclass
class BundledProgram:
    """Test suites, and the bytes of the `.pte` to which they belong."""

    version: int
    method_test_suites: list[BundledMethodTestSuite]
    program: bytes
