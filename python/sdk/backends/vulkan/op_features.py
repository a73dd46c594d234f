# SPDX-License-Identifier: BSD-3-Clause
"""The dtypes, storages and shapes that an operator of the runtime supports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch.fx import Node

from sdk.backends.vulkan.representations import ANY_STORAGE, Reprs

Dtypes = frozenset[torch.dtype]

FLOATS: Dtypes = frozenset({torch.float16, torch.float32})
INTEGERS: Dtypes = frozenset({torch.int32, torch.int64})
BOOL: Dtypes = frozenset({torch.bool})
INT8: Dtypes = frozenset({torch.int8})
UINT8: Dtypes = frozenset({torch.uint8})
NUMBERS = FLOATS | INTEGERS
FLOATS_INTEGERS_BOOL = NUMBERS | BOOL
STORED: Dtypes = FLOATS_INTEGERS_BOOL | {torch.uint8, torch.int8, torch.float64}
ANY_DTYPE: Dtypes = frozenset()
"""Every dtype is allowed."""

Storages: TypeAlias = tuple[tuple[Reprs | None, ...] | Reprs, tuple[Reprs, ...] | Reprs | None]


@dataclass(frozen=True, kw_only=True)
class OpFeatures:
    """The conditions of one operator.

    Attributes:
        inputs_storage: Either one set, from which all tensors of a call have the same representation, or a set for each
            argument, None where the argument is not a tensor or a constant that the operator packs itself.
        outputs_storage: The same for results; None if they have the representation of the first operand.
        inputs_dtypes: One set for all operands, or one for each argument.
        outputs_dtypes: The same for results; None if they have the first operand's.
        supports_resize: Whether sizes may change from run to run.
        supports_highdim: Whether tensors may have more than four dimensions.
        supports_prepacking: Whether the operator packs its constants itself.
        check: Returns why a call is not supported, or None.
        pick_storage: `inputs_storage` and `outputs_storage` where they depend on the call.
        first: The position of the operand that is never a constant to pack.
        constants: The positions of the operands that must be constants where the operator packs its own; None for
            all but `first`.
        ours: Whether ExecuTorch 1.4 lacks the operator.
        widened: Returns why ExecuTorch 1.4 would not take a call that this package's runtime takes; None if it would.
        widened_dtypes: The dtypes of arguments, by position, that this package's runtime takes and that `widened`
            refuses for ExecuTorch.
    """

    inputs_storage: tuple[Reprs | None, ...] | Reprs = ANY_STORAGE
    outputs_storage: tuple[Reprs, ...] | Reprs | None = None
    inputs_dtypes: tuple[Dtypes, ...] | Dtypes = STORED
    outputs_dtypes: tuple[Dtypes, ...] | Dtypes | None = None
    supports_resize: bool = False
    supports_highdim: bool = False
    supports_prepacking: bool = False
    check: Callable[[Node], str | None] | None = None
    pick_storage: Callable[[Node], Storages] | None = None
    first: int = 0
    constants: tuple[int, ...] | None = None
    ours: bool = False
    widened: Callable[[Node], str | None] | None = None
    widened_dtypes: Mapping[int, Dtypes] = field(default_factory=dict)

    def storages(self, node: Node) -> Storages:
        """`inputs_storage` and `outputs_storage` of a call."""
        if self.pick_storage is not None:
            return self.pick_storage(node)
        return self.inputs_storage, self.outputs_storage

    def check_dtypes(self, node: Node) -> str | None:
        """Returns which operand or result has a dtype that the operator does not take."""
        for position, argument in enumerate(node.args):
            allowed = self.widened_dtypes.get(position, _at(self.inputs_dtypes, position))
            for operand in tensors_in(argument):
                if allowed and operand.dtype not in allowed:
                    return f"argument {position} is {operand.dtype}; it takes {_listed(allowed)}"
        results = self.outputs_dtypes
        if results is None:
            results = _at(self.inputs_dtypes, 0)
        for position, result in enumerate(tensors_in(node)):
            allowed = _at(results, position)
            if allowed and result.dtype not in allowed:
                return f"its result is {result.dtype}; it computes {_listed(allowed)}"
        return None


def tensors_in(argument: Any) -> Iterator[torch.Tensor]:
    """The fake tensors of an argument: of a node, of a node with several results, or of a list of nodes."""
    if isinstance(argument, Node):
        argument = argument.meta.get("val")
    if isinstance(argument, torch.Tensor):
        yield argument
    elif isinstance(argument, list | tuple):
        for item in argument:
            yield from tensors_in(item)


def argument_of(node: Node, position: int, name: str, default: Any = None) -> Any:
    """An argument of a call, given by position or by name."""
    return node.args[position] if position < len(node.args) else node.kwargs.get(name, default)


def _at(sets: tuple[Dtypes, ...] | Dtypes, position: int) -> Dtypes:
    if isinstance(sets, frozenset):
        return sets
    return sets[position] if position < len(sets) else ANY_DTYPE


def _listed(dtypes: Dtypes | Sequence[torch.dtype]) -> str:
    return ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in dtypes))
