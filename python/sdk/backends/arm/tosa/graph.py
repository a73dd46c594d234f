# SPDX-License-Identifier: BSD-3-Clause
"""`Graph`: a TOSA graph under construction, and the file that it becomes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.schema import (
    ATTRIBUTES,
    IDENTIFIER,
    TOSA_FILE,
    DType,
    Op,
    OpLocation,
    TosaBlock,
    TosaFile,
    TosaOperator,
    TosaRegion,
    TosaShape,
    TosaTensor,
    Version,
)
from sdk.backends.arm.tosa.specification import TosaSpecification
from sdk.backends.arm.tosa.types import check_types, pack
from sdk.exir._serialize._flatbuffer import FlatbufferError, write_root

MAX_RANK = 6  # of the level 8K
_MAX_SIZE = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of the graph. `constant` has its elements in `numpy_type(dtype)`, or is None if they are not known."""

    name: str
    shape: tuple[int, ...]
    dtype: DType
    constant: np.ndarray | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Graph:
    """The operators of one partition, in the order in which they are added. Constants are stored once."""

    def __init__(self, specification: TosaSpecification) -> None:
        self.specification = specification
        self.inputs: list[Value] = []
        self.outputs: list[str] = []
        self.location = ""
        """Where the model calls what is lowered next; written to the file only with `dump_debug_info`."""
        self.origin: tuple[int, ...] = ()
        """The debug handles of the model's nodes that are lowered next."""
        self._operators: list[_Operator] = []
        self._names: Counter[str] = Counter()
        self._constants: dict[tuple[Any, ...], Value] = {}
        self._shapes: dict[tuple[int, ...], Shape] = {}

    def input(self, name: str, shape: Sequence[int], dtype: DType) -> Value:
        """A new input of the graph."""
        value = self._value(name, shape, dtype)
        self.inputs.append(value)
        return value

    def output(self, value: Value) -> None:
        """Makes a tensor an output. An input, a constant or a tensor that is an output already is copied first."""
        computed = value.constant is None and all(value is not given for given in self.inputs)
        if not computed or value.name in self.outputs:
            value = self.emit(Op["IDENTITY"], [value], value.shape, value.dtype)
        self.outputs.append(value.name)

    def constant(self, array: np.ndarray, dtype: DType) -> Value:
        """Adds a constant tensor. Small constants that are equal are stored once."""
        key: tuple[Any, ...] = (dtype, array.shape, array.dtype.str)
        key = (*key, array.tobytes() if array.size <= 64 else id(array))
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self._value("constant", array.shape, dtype, array)
        return known

    def shape(self, numbers: Sequence[int]) -> Shape:
        """A constant shape operand."""
        key = tuple(int(number) for number in numbers)
        if key not in self._shapes:
            self._shapes[key] = Shape(f"shape_{len(self._shapes)}", key)
        return self._shapes[key]

    def emit(
        self, op: Op, inputs: Sequence[Value | Shape], shape: Sequence[int], dtype: DType, **attributes: Any
    ) -> Value:
        """Adds an operator with one result. Raises UnsupportedError if the specification lacks it for the types."""
        check_types(self.specification, op, [each.dtype for each in inputs if isinstance(each, Value)], dtype)
        result = self._value(op.name.lower(), shape, dtype)
        self._operators.append(_Operator(op, attributes, list(inputs), [result], self.location, self.origin))
        return result

    def producer(self, value: Value) -> tuple[Op, dict[str, Any], list[Value | Shape]] | None:
        """The operator that computes a tensor, with its attributes and operands; None for inputs and constants."""
        for each in reversed(self._operators):
            if any(output is value for output in each.outputs):
                return each.op, each.attributes, each.inputs
        return None

    def count(self) -> Counter[str]:
        """Counts the operators of each kind in the file, without constants."""
        return Counter(operator.op.name for operator in self._live_operators())

    def described(self) -> list[dict[str, Any]]:
        """The operators with their operands, results and locations in the model, as readable text."""
        return [
            {
                "operator": made.op.name,
                "inputs": [_described(each) for each in made.inputs],
                "outputs": [_described(each) for each in made.outputs],
                "attributes": {name: str(value) for name, value in made.attributes.items()},
                "location": made.location,
            }
            for made in self._live_operators()
        ]

    def serialize(self, with_locations: bool = False) -> bytes:
        """Serialises the graph. Leaves out operators whose results are not used."""
        operators = self._live_operators()
        used, shapes = self._operands(operators)
        constants = [_constant(Op["CONST"], name) for name, value in used.items() if value.constant is not None]
        constants += [_constant(Op["CONST_SHAPE"], name) for name in shapes]
        block = TosaBlock(
            "main",
            [
                *constants,
                *(
                    TosaOperator(
                        made.op,
                        ATTRIBUTES[made.op.name](**made.attributes),
                        [each.name for each in made.inputs],
                        [each.name for each in made.outputs],
                        OpLocation(made.location) if with_locations and made.location else None,
                    )
                    for made in operators
                ),
            ],
            [_tensor(value) for value in used.values()],
            [value.name for value in self.inputs],
            self.outputs,
            [
                TosaShape(name, len(shape.numbers), np.array(shape.numbers, dtype="<i8").tobytes())
                for name, shape in shapes.items()
            ],
        )
        file = TosaFile(Version(*self.specification.version, 0, False), [TosaRegion("main", [block])])
        try:
            return write_root(TOSA_FILE, file, IDENTIFIER, 8).data
        except FlatbufferError as error:
            raise RuntimeError(f"the TOSA graph of a partition cannot be written: {error}") from error

    def origins(self) -> list[tuple[int, ...]]:
        """Returns, for each operator of the file in order, the debug handles of the nodes from which it was made. The
        constants at the beginning have no handles."""
        operators = self._live_operators()
        used, shapes = self._operands(operators)
        constants = sum(value.constant is not None for value in used.values()) + len(shapes)
        return [()] * constants + [made.origin for made in operators]

    def _operands(self, operators: Sequence[_Operator]) -> tuple[dict[str, Value], dict[str, Shape]]:
        """The tensors and the shapes that the file has, by their names."""
        used: dict[str, Value] = {value.name: value for value in self.inputs}
        shapes: dict[str, Shape] = {}
        for made in operators:
            for each in (*made.inputs, *made.outputs):
                if isinstance(each, Shape):
                    shapes[each.name] = each
                else:
                    used[each.name] = each
        return used, shapes

    def _live_operators(self) -> list[_Operator]:
        needed = set(self.outputs)
        live = []
        for operator in reversed(self._operators):
            if any(result.name in needed for result in operator.outputs):
                needed.update(each.name for each in operator.inputs)
                live.append(operator)
        return live[::-1]

    def _value(self, name: str, shape: Sequence[int], dtype: DType, constant: np.ndarray | None = None) -> Value:
        sizes = tuple(int(size) for size in shape)
        if len(sizes) > MAX_RANK:
            raise UnsupportedError(f"a tensor has {len(sizes)} dimensions; TOSA's level 8K has {MAX_RANK}")
        if 0 in sizes:
            raise UnsupportedError("a tensor has no elements, which TOSA does not have")
        if math.prod(sizes) > _MAX_SIZE:
            raise UnsupportedError(f"a tensor has {math.prod(sizes)} elements; TOSA's level 8K has {_MAX_SIZE}")
        number = self._names[name]
        self._names[name] += 1
        return Value(f"{name}_{number}" if number else name, sizes, dtype, constant)


@dataclass(frozen=True)
class Shape:
    """A constant shape operand."""

    name: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class _Operator:
    """An operator; `location` and `origin` are copied from the graph when the operator is added."""

    op: Op
    attributes: dict[str, Any]
    inputs: list[Value | Shape]
    outputs: list[Value]
    location: str
    origin: tuple[int, ...]


def _described(each: Value | Shape) -> str:
    return str(list(each.numbers)) if isinstance(each, Shape) else f"{each.name}: {each.dtype.name}{list(each.shape)}"


def _constant(op: Op, name: str) -> TosaOperator:
    return TosaOperator(op, ATTRIBUTES[op.name](), [], [name])


def _tensor(value: Value) -> TosaTensor:
    data = None if value.constant is None else pack(value.constant, value.dtype)
    return TosaTensor(value.name, list(value.shape), value.dtype, data)
