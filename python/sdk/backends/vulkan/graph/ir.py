# SPDX-License-Identifier: BSD-3-Clause
"""Calls of the runtime's operators, before their arguments have ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Node

from sdk.backends.vulkan.op_features import OpFeatures
from sdk.backends.vulkan.representations import Reprs, TensorRepr
from sdk.backends.vulkan.serialization.vulkan_graph_schema import OWN_MEMORY


@dataclass(eq=False)
class Tensor:
    """A tensor on the GPU, or a constant that an operator packs.

    Attributes:
        dtype: The type in the program.
        shape: The largest sizes.
        constant: The values of a constant.
        repr: Its representation on the GPU; None for constants.
        memory: Tensors with the same number share memory.
        is_state: Whether calls change it in place; `constant` has its first values.
        is_exact: Whether float32 stays float32 with `force_fp16`: scales of quantised tensors.
    """

    dtype: torch.dtype
    shape: tuple[int, ...]
    constant: torch.Tensor | None = None
    repr: TensorRepr | None = None
    memory: int = OWN_MEMORY
    is_state: bool = False
    is_exact: bool = False

    @property
    def numel(self) -> int:
        return torch.Size(self.shape).numel()


@dataclass(eq=False)
class Symbol:
    """An integer that is known when the program runs.

    Attributes:
        largest: For an input of the delegate, the largest value. It is assumed while the program is loaded.
    """

    largest: int = 0


Value = Tensor | Symbol | list["Value"]


@dataclass(eq=False)
class Call:
    """A call of an operator.

    Attributes:
        name: The name of the operator in payloads.
        args: Values, numbers, text, None, and lists of those, in the order of the operator's schema.
        result: The result; a list for operators with several.
        nodes: The nodes of the exported program that the call computes.
        inputs: For each argument, the representations that it may have; None if it is not a tensor of the GPU. With
            `joint`, the first tensor's representation applies to the others.
        outputs: The same for results.
        joint: Whether all operands and the first result have the same representation.
        tied: Whether the first result has the representation of the first operand.
    """

    name: str
    args: list[Any]
    result: Value
    nodes: list[Node] = field(default_factory=list)
    features: OpFeatures | None = None
    inputs: list[Reprs | None] = field(default_factory=list)
    outputs: list[Reprs] = field(default_factory=list)
    joint: bool = False
    tied: bool = False

    def results(self) -> list[Tensor]:
        """The tensors that the call computes."""
        return list(tensors_of(self.result))

    def operands(self) -> Iterator[tuple[int, Tensor]]:
        """Yields the position and the tensor of each argument on the GPU, including tensors in lists."""
        for position, argument in enumerate(self.args):
            for tensor in tensors_of(argument):
                if tensor.constant is None:
                    yield position, tensor


@dataclass
class GpuGraph:
    """The calls of a payload in order, with its inputs and outputs."""

    calls: list[Call] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)

    def remove_unread(self) -> None:
        """Removes the calls whose results nothing reads, except those that change state."""
        read = {id(value) for value in self.outputs}
        kept = []
        for call in reversed(self.calls):
            if call.name in CHANGES_STATE or any(id(value) in read for value in _values_of(call.result)):
                kept.append(call)
                read.update(id(value) for value in _values_of(call.args))
        self.calls = kept[::-1]


CHANGES_STATE = frozenset(
    f"{name}.default" for name in ("llama.sdpa_with_kv_cache", "llama.update_cache", "aten.copy_", "aten.index_put_")
)
"""Operators that change their operands in place."""


def _values_of(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _values_of(item)
    else:
        yield value


def tensors_of(argument: Any) -> Iterator[Tensor]:
    """The tensors of an argument."""
    if isinstance(argument, Tensor):
        yield argument
    elif isinstance(argument, list):
        for item in argument:
            yield from tensors_of(item)
