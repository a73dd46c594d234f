# SPDX-License-Identifier: BSD-3-Clause
"""The description of a program that a wrapper is generated from."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sdk.codegen.literals import comment
from sdk.devtools.element_types import BYTES, type_name
from sdk.exir import schema
from sdk.exir._serialize._regular_file import read_file
from sdk.exir.scalar_type import ScalarType
from sdk.export.wrappers.names import PORTABLE, Scope, snake

_KINDS = {"Int": "int", "Double": "double", "Bool": "bool", "String": "string", "Null": "none"}


@dataclass(frozen=True)
class Dim:
    """The sizes of a dimension, both ends included."""

    low: int
    high: int

    def __str__(self) -> str:
        return str(self.high) if self.low == self.high else f"{self.low}..{self.high}"


@dataclass(frozen=True)
class ValueSpec:
    """An input or output."""

    name: str  # an identifier in snake_case
    kind: str  # "tensor", "int", "double", "bool", "string", "none" or "other", such as a list
    dtype: ScalarType | None = None
    dims: tuple[Dim, ...] = ()

    @property
    def type(self) -> str:
        """The type as text: `float32[1, 3, 224, 224]`, `int`."""
        if self.dtype is None:
            return self.kind
        return f"{type_name(self.dtype)}[{', '.join(map(str, self.dims))}]"

    @property
    def nbytes(self) -> int:
        """Size in bytes at the largest sizes of the dimensions; 0 for a value that is not a tensor."""
        return math.prod(dim.high for dim in self.dims) * BYTES.get(self.dtype, 0) if self.dtype is not None else 0


@dataclass(frozen=True)
class MethodSpec:
    """One method of the program."""

    name: str  # as in the program: any text
    inputs: tuple[ValueSpec, ...]
    outputs: tuple[ValueSpec, ...]
    arena_bytes: int

    @property
    def signature(self) -> str:
        """The method's inputs and outputs as text for a comment."""
        inputs = ", ".join(f"{value.name}: {value.type}" for value in self.inputs)
        return f"{comment(self.name)}({inputs}) -> {', '.join(value.type for value in self.outputs) or 'nothing'}"


@dataclass(frozen=True)
class ProgramSpec:
    """The program's file and its methods."""

    file_name: str
    file_bytes: int
    sha256: str
    data_file_name: str | None
    methods: tuple[MethodSpec, ...]


def describe_program(
    program: schema.Program,
    file: Path,
    data_file: Path | None = None,
    input_names: Mapping[str, Sequence[str]] | None = None,
    ranges: Mapping[str, Mapping[tuple[int, int], tuple[int, int]]] | None = None,
) -> ProgramSpec:
    """Describes the program that was written to `file`.

    Args:
        program: the content of the file.
        file: the .pte, whose size and hash the wrapper names.
        data_file: the .ptd with its weights, if there is one.
        input_names: by method, a name for each input. Without, or with another number of names, they are input_0, ...
        ranges: by method, (index of an input, dimension) -> the sizes it may have. By default they come from the
            program. If the program lacks them too, every dimension of a dynamic tensor may have any size up to its
            largest.

    Raises:
        ValueError: the program is damaged, or has methods that the runtime cannot tell apart by name.
    """
    _check_names([plan.name for plan in program.execution_plan])
    content = read_file(file)
    methods = []
    for plan in program.execution_plan:
        names = list((input_names or {}).get(plan.name, ()))
        if len(names) != len(plan.inputs):
            names = [f"input_{index}" for index in range(len(plan.inputs))]
        outputs = ["output"] if len(plan.outputs) == 1 else [f"output_{index}" for index in range(len(plan.outputs))]
        known = (ranges or {}).get(plan.name) or _ranges_in(plan)
        inputs = []
        for index, (name, value) in enumerate(zip(_identifiers(names), plan.inputs, strict=True)):
            sizes = {dim: size for (of_input, dim), size in known.items() if of_input == index}
            all_known = bool(known) or plan.dynamic_sizes is not None
            inputs.append(_value(name, _at(plan, value), sizes, all_known))
        methods.append(
            MethodSpec(
                name=plan.name,
                inputs=tuple(inputs),
                outputs=tuple(
                    _value(name, _at(plan, value), {}, all_known=False)
                    for name, value in zip(outputs, plan.outputs, strict=True)
                ),
                arena_bytes=sum(plan.non_const_buffer_sizes[1:]),
            )
        )
    return ProgramSpec(
        file_name=file.name,
        file_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        data_file_name=data_file.name if data_file is not None else None,
        methods=tuple(methods),
    )


def _ranges_in(plan: schema.ExecutionPlan) -> dict[tuple[int, int], tuple[int, int]]:
    """The sizes of dynamic dimensions that a program has for the runtime's checks."""
    numbers, ranges = plan.dynamic_sizes or [], {}
    for entry in range(0, len(numbers), 6):
        index, dim, least = (*numbers[entry : entry + 3], -1, -1, -1)[:3]
        value = _at(plan, plan.inputs[index]) if 0 <= index < len(plan.inputs) else None
        sizes = value.sizes if isinstance(value, schema.Tensor) else []
        if not (0 <= dim < len(sizes) and 0 <= least <= sizes[dim]):
            raise ValueError(f"method {plan.name!r} has dynamic sizes that do not match its inputs: export it again")
        ranges[index, dim] = (least, sizes[dim])
    return ranges


def _at(plan: schema.ExecutionPlan, index: int) -> object:
    if not 0 <= index < len(plan.values):
        raise ValueError(f"method {plan.name!r} has {len(plan.values)} values, and no value {index}: export it again")
    return plan.values[index].val


def _value(name: str, value: object, ranges: Mapping[int, tuple[int, int]], all_known: bool) -> ValueSpec:
    if not isinstance(value, schema.Tensor):
        return ValueSpec(name, _KINDS.get(type(value).__name__, "other"))
    if min(value.sizes, default=0) < 0:
        raise ValueError(f"a tensor has a negative size: {list(value.sizes)}; export the program again")
    # The program says only that some dimension is dynamic, not which.
    open_ended = value.shape_dynamism != schema.TensorShapeDynamism.STATIC and not all_known
    dims = [Dim(*ranges.get(d, (0 if open_ended else size, size))) for d, size in enumerate(value.sizes)]
    return ValueSpec(name, "tensor", ScalarType(value.scalar_type), tuple(dims))


def _identifiers(names: Sequence[str]) -> list[str]:
    """Unique names: `state.0` becomes `state_0`. A language may change names that are reserved in it."""
    scope = Scope(PORTABLE)
    return [scope.add(snake(name, "input").lower()) for name in names]


def _check_names(names: Sequence[str]) -> None:
    """Raises ValueError for method names by which the runtime would not find the method."""
    for name in names:
        if "\0" in name or not name:
            raise ValueError(
                f"the name of a method is {name!r}, which the runtime cannot find: export the program again"
            )
        if names.count(name) > 1:
            raise ValueError(f"two methods have the name {name!r}: export the program again")
