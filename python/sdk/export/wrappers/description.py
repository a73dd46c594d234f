# SPDX-License-Identifier: BSD-3-Clause
"""The description of a program that a wrapper is generated from."""

from __future__ import annotations

import hashlib
import keyword
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sdk.devtools.element_types import BYTES, type_name
from sdk.exir import schema
from sdk.exir.scalar_type import ScalarType

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

    name: str  # an identifier in all languages, in snake_case
    kind: str  # "tensor", "int", "double", "bool", "string", "none" or "other", such as a list
    dtype: ScalarType | None = None
    dims: tuple[Dim, ...] = ()

    @property
    def type(self) -> str:
        """As readable text: `float32[1, 3, 224, 224]`, `int`."""
        if self.dtype is None:
            return self.kind
        return f"{type_name(self.dtype)}[{', '.join(map(str, self.dims))}]"

    @property
    def nbytes(self) -> int:
        """At the largest sizes."""
        return math.prod(dim.high for dim in self.dims) * BYTES.get(self.dtype, 0) if self.dtype is not None else 0


@dataclass(frozen=True)
class MethodSpec:
    """One method of the program."""

    name: str
    inputs: tuple[ValueSpec, ...]
    outputs: tuple[ValueSpec, ...]
    arena_bytes: int

    @property
    def signature(self) -> str:
        inputs = ", ".join(f"{value.name}: {value.type}" for value in self.inputs)
        return f"{self.name}({inputs}) -> {', '.join(value.type for value in self.outputs) or 'nothing'}"


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
        ranges: by method, (index of an input, dimension) -> the sizes it may have. Without, a dynamic dimension may
            have any size up to its largest.
    """
    content = file.read_bytes()
    methods = []
    for plan in program.execution_plan:
        names = list((input_names or {}).get(plan.name, ()))
        if len(names) != len(plan.inputs):
            names = [f"input_{index}" for index in range(len(plan.inputs))]
        outputs = ["output"] if len(plan.outputs) == 1 else [f"output_{index}" for index in range(len(plan.outputs))]
        known = (ranges or {}).get(plan.name, {})
        inputs = []
        for index, (name, value) in enumerate(zip(_identifiers(names), plan.inputs, strict=True)):
            sizes = {dim: size for (of_input, dim), size in known.items() if of_input == index}
            inputs.append(_value(name, plan.values[value].val, sizes, all_known=bool(known)))
        methods.append(
            MethodSpec(
                name=plan.name,
                inputs=tuple(inputs),
                outputs=tuple(
                    _value(name, plan.values[value].val, {}, all_known=False)
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


def _value(name: str, value: object, ranges: Mapping[int, tuple[int, int]], all_known: bool) -> ValueSpec:
    if not isinstance(value, schema.Tensor):
        return ValueSpec(name, _KINDS.get(type(value).__name__, "other"))
    # The program says only that some dimension is dynamic, not which.
    open_ended = value.shape_dynamism != schema.TensorShapeDynamism.STATIC and not all_known
    dims = [Dim(*ranges.get(d, (0 if open_ended else size, size))) for d, size in enumerate(value.sizes)]
    return ValueSpec(name, "tensor", ScalarType(value.scalar_type), tuple(dims))


# Reserved words of Kotlin, Swift and C++ that are valid names in Python.
_RESERVED = frozenset(
    """
    auto bool break case catch char class const continue default delete do double else enum explicit export extern
    false float for friend fun func goto if import in init inline int internal interface is let long namespace new null
    nil object operator out package private protected public register return self short signed sizeof static struct
    super switch template this throw throws true try typealias typedef typename typeof union unsigned using val var
    virtual void volatile when where while
    """.split()  # noqa: SIM905
)


def _identifiers(names: Sequence[str]) -> list[str]:
    """Unique names that are valid in every language: `state.0` becomes `state_0`."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower() or "input"
        plain = f"input_{plain}" if plain[0].isdigit() else plain
        plain = f"{plain}_" if plain in _RESERVED or keyword.iskeyword(plain) else plain
        unique, count = plain, 2
        while unique in found:
            unique, count = f"{plain}_{count}", count + 1
        found.append(unique)
    return found
