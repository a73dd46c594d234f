# SPDX-License-Identifier: BSD-3-Clause
"""`Call`: a node of the model while it is lowered, with its operands as tensors of TOSA in the layouts it requests.

TOSA's convolutions and pools expect channels last, PyTorch has them first. A tensor is therefore kept in the layout in
which it was computed (`Placed`), and converted when an operator requires another layout. Elementwise operators,
reductions and operators that move elements work in any layout, so transposes remain only where two layouts meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch.fx import Node

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.arm.tosa.types import to_computed
from sdk.backends.graph.names import arguments_of


@dataclass(frozen=True)
class Placed:
    """A tensor of the model: axis i of `value` is the tensor's dimension `order[i]`."""

    value: Value
    order: tuple[int, ...]

    @staticmethod
    def plain(value: Value) -> Placed:
        """A tensor whose dimensions are in the order of the model."""
        return Placed(value, tuple(range(value.rank)))

    def axis(self, dim: int) -> int:
        """The axis that holds a dimension, which may count from the end."""
        return self.order.index(dim % max(len(self.order), 1))

    def by_axis(self, by_dim: Sequence[Any]) -> list[Any]:
        """Reorders a sequence with one entry for each dimension to one entry for each axis."""
        return [by_dim[dim] for dim in self.order]


class Call:
    """A call of an operator.

    Attributes:
        b: The graph of TOSA to which operators are added.
        node: The node.
        order: The layout of the results that are returned without one; set by `operands`.
    """

    def __init__(self, builder: Builder, node: Node, resolve: Callable[[Node], Placed]) -> None:
        self.b = builder
        self.node = node
        self.order: tuple[int, ...] | None = None
        self._resolve = resolve
        self._arguments = arguments_of(node)

    def __getitem__(self, name: str) -> Any:
        """An argument by its name in the operator's schema."""
        return self._arguments[name]

    def get(self, name: str) -> Any:
        """Returns an argument, or None if the operator's schema has no argument of that name."""
        return self._arguments.get(name)

    def __contains__(self, name: str) -> bool:
        """Whether the operator's schema has an argument."""
        return name in self._arguments

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the only result."""
        return static_shape(self.node)

    @property
    def dtype(self) -> DType:
        """The type in which the only result is computed."""
        return to_computed(self.node.meta["val"].dtype)

    @property
    def sums(self) -> tuple[DType, DType]:
        """The type of a convolution's result, and its accumulator type."""
        return self.dtype, DType.FP32

    def stored(self, number: float) -> float:
        """Rounds a number to the type of the result's elements."""
        return number

    def zero_point(self, name: str) -> int:
        """The integer that represents zero in an operand."""
        return 0

    def bias(self, channels: int) -> Value:
        """The bias of a convolution; a bias with one element applies to all channels."""
        return self.b.number(0, self.dtype, 1) if self["bias"] is None else self.value("bias")

    def weight(self, value: Value) -> Value:
        """The weight of a convolution in the type that the file stores."""
        return value

    def finished(self, sums: Value, first: int) -> Value:
        """Converts the sums of a convolution for the channels from `first` on to elements of the result."""
        return sums

    @property
    def working(self) -> DType:
        """The type in which several operators in sequence compute: PyTorch rounds to float16 once, at the end. The
        float32 result of a lowering is converted."""
        return DType.FP32 if self.dtype == DType.FP16 else self.dtype

    def shape_of(self, name: str) -> tuple[int, ...]:
        """The shape of an operand."""
        return static_shape(self._arguments[name])

    def placed(self, node: str | Node) -> Placed:
        """An operand in its present layout, converted to the type in which operators compute."""
        found = self._resolve(self._arguments[node] if isinstance(node, str) else node)
        if found.value.dtype == DType.BF16:
            found = Placed(self.b.convert(found.value, DType.FP32), found.order)
        return found

    def value(self, node: str | Node, order: Sequence[int] | None = None) -> Value:
        """An operand in a layout, by default the model's."""
        placed = self.placed(node)
        wanted = tuple(range(len(placed.order))) if order is None else tuple(order)
        return self.b.transpose(placed.value, [placed.order.index(dim) for dim in wanted])

    def constant(self, name: str) -> Any:
        """The elements of a constant operand, else None."""
        argument = self._arguments[name]
        return self._resolve(argument).value.constant if isinstance(argument, Node) else None

    def operands(self, *arguments: Any, dtype: DType | None = None, dtypes: Sequence[DType] | None = None) -> list[Any]:
        """Returns tensors with the layout and rank of the result; numbers do not change. Tensors are converted to
        `dtype`, or each to its entry in `dtypes`; the default is the type of the result."""
        rank = len(self.shape)
        placed = [self._lift(self.placed(each), rank) if isinstance(each, Node) else each for each in arguments]
        tensors = [each for each in placed if isinstance(each, Placed)]
        computed = [each for each in tensors if each.value.constant is None]
        largest = max(computed or tensors, key=lambda each: each.value.size)
        self.order = largest.order
        if dtypes is None:
            dtypes = [self.dtype if dtype is None else dtype] * len(placed)
        return [
            self._arranged(each, wanted) if isinstance(each, Placed) else each
            for each, wanted in zip(placed, dtypes, strict=True)
        ]

    def with_layout(self, result: Any) -> Placed:
        """Returns the result of a lowering with its layout, which is `order` if the lowering did not give one."""
        if isinstance(result, Placed):
            return result
        if self.order is None or len(self.order) != result.rank:
            return Placed.plain(result)
        return Placed(result, self.order)

    def _arranged(self, placed: Placed, dtype: DType) -> Value:
        assert self.order is not None
        value = self.b.transpose(placed.value, [placed.order.index(dim) for dim in self.order])
        return self.b.cast(value, dtype)

    def _lift(self, placed: Placed, rank: int) -> Placed:
        more = rank - len(placed.order)
        if more <= 0:
            return placed
        value = self.b.reshape(placed.value, (1,) * more + placed.value.shape)
        return Placed(value, (*range(more), *(dim + more for dim in placed.order)))


def static_shape(node: Any) -> tuple[int, ...]:
    """The sizes of a tensor. Raises UnsupportedError if one is known only when the program runs."""
    value = node.meta["val"]
    if any(not isinstance(size, int) for size in value.shape):
        raise UnsupportedError("a size is dynamic, which TOSA 1.0 does not have: export with fixed shapes")
    return tuple(value.shape)


def without_axes(b: Builder, placed: Placed, dims: Sequence[int]) -> Placed:
    """A tensor without the dimensions `dims`, which have the size 1."""
    removed = {dim % len(placed.order) for dim in dims}
    kept = [dim for dim in placed.order if dim not in removed]
    shape = [size for size, dim in zip(placed.value.shape, placed.order, strict=True) if dim not in removed]
    numbers = {dim: number for number, dim in enumerate(sorted(kept))}
    return Placed(b.reshape(placed.value, shape), tuple(numbers[dim] for dim in kept))
