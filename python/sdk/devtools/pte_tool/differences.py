# SPDX-License-Identifier: BSD-3-Clause
"""Data classes for the differences of two programs. A is the first program, B the second."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from sdk.exir.scalar_type import ScalarType


@dataclass
class OperatorUsage:
    """A call of an operator or delegate that takes a value as argument `arg_index`."""

    name: str
    arg_index: int


@dataclass
class TensorInfo:
    """A tensor among the values of a method. `fqn` is a weight's name; constants have a positive
    `data_buffer_idx`."""

    evalue_index: int
    scalar_type: ScalarType
    sizes: list[int]
    fqn: str | None
    data_buffer_idx: int
    operator_usages: list[OperatorUsage] = field(default_factory=list)


@dataclass
class FieldDiff:
    """A field that has two values."""

    field_name: str
    value_a: Any
    value_b: Any


@dataclass
class ElementDiff:
    """An element that has two values."""

    flat_index: int
    multi_index: tuple[int, ...]
    value_a: float
    value_b: float


@dataclass
class TensorDataDiff:
    """A tensor whose fields or bytes differ. Elements are compared where sizes and dtype are the same;
    `element_diffs` are the first that differ."""

    tensor_a: TensorInfo
    tensor_b: TensorInfo
    byte_size_a: int
    byte_size_b: int
    bytes_differ: bool
    metadata_diffs: list[FieldDiff] = field(default_factory=list)
    num_elements: int = 0
    num_differing: int = 0
    max_abs_diff: float = 0.0
    mean_abs_diff: float = 0.0
    element_diffs: list[ElementDiff] = field(default_factory=list)


@dataclass
class EValueDiff:
    """A value that differs, and is not a tensor in both programs."""

    evalue_index: int
    type_a: str
    type_b: str
    type_mismatch: bool = False
    field_diffs: list[FieldDiff] = field(default_factory=list)
    operator_usages_a: list[OperatorUsage] = field(default_factory=list)
    operator_usages_b: list[OperatorUsage] = field(default_factory=list)


@dataclass
class ExecutionPlanDiff:
    """The differences of a method. `delegate_payloads` has the positions of delegates whose payloads or options differ;
    ExecuTorch does not have this field."""

    plan_index: int
    name_a: str | None = None
    name_b: str | None = None
    operators_only_in_a: list[str] = field(default_factory=list)
    operators_only_in_b: list[str] = field(default_factory=list)
    delegates_only_in_a: list[str] = field(default_factory=list)
    delegates_only_in_b: list[str] = field(default_factory=list)
    non_const_buffer_sizes_a: list[int] | None = None
    non_const_buffer_sizes_b: list[int] | None = None
    value_count_a: int | None = None
    value_count_b: int | None = None
    instruction_count_a: int | None = None
    instruction_count_b: int | None = None
    tensor_diffs: list[TensorDataDiff] = field(default_factory=list)
    evalue_diffs: list[EValueDiff] = field(default_factory=list)
    tensors_only_in_a: list[TensorInfo] = field(default_factory=list)
    tensors_only_in_b: list[TensorInfo] = field(default_factory=list)
    delegate_payloads: list[int] = field(default_factory=list)

    def has_differences(self) -> bool:
        """Whether anything is set but the index."""
        return any(getattr(self, each.name) not in (None, []) for each in fields(self)[1:])


@dataclass
class NamedDataDiff:
    """Named data that only "A" or only "B" has, or, with an empty `only_in`, whose bytes differ."""

    key: str
    only_in: str
    bytes_differ: bool = False


@dataclass
class PTEDiffResult:
    """The differences of two files. `error` says why a file could not be read."""

    path_a: str
    path_b: str
    size_a: int
    size_b: int
    bitwise_equal: bool
    version_a: int | None = None
    version_b: int | None = None
    plan_diffs: list[ExecutionPlanDiff] = field(default_factory=list)
    extra_plans_in_a: list[str] = field(default_factory=list)
    extra_plans_in_b: list[str] = field(default_factory=list)
    named_data_diffs: list[NamedDataDiff] = field(default_factory=list)
    error: str | None = None
