# SPDX-License-Identifier: BSD-3-Clause
"""The values of one method. Equal literals share one value, and so do tensors with the same memory and layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from sdk.exir.error import ExportError, ExportErrorType, InternalError
from sdk.exir.schema import (
    Bool,
    BoolList,
    Double,
    DoubleList,
    EValue,
    Int,
    IntList,
    KernelTypes,
    Null,
    OptionalTensorList,
    String,
    Tensor,
    TensorList,
)
from sdk.exir.tensor import layout_enum, memory_format_enum, scalar_type_enum


class Ref(int):
    """The index of a value that is known already, as opposed to a literal integer."""


class Values:
    """A growing list of values. Methods return indices into it."""

    def __init__(self) -> None:
        self.items: list[EValue] = []
        self._shared: dict[str, Ref] = {}

    def add(self, value: KernelTypes) -> Ref:
        """Adds a value that is not shared, because it is written to or the caller sees it."""
        self.items.append(EValue(value))
        return Ref(len(self.items) - 1)

    def share(self, value: KernelTypes) -> Ref:
        """Adds or finds a value that can be shared, because it is only read or the plan reuses its memory."""
        # The representation tells 1 from True and 0.0 from -0.0, which compare equal.
        key = repr(value)
        index = self._shared.get(key)
        if index is None:
            index = self._shared[key] = self.add(value)
        return index

    def tensor(self, ref: Ref) -> Tensor:
        """A value that is known to be a tensor."""
        value = self.items[ref].val
        if not isinstance(value, Tensor):
            raise InternalError(f"value {int(ref)} is a {type(value).__name__}; expected a Tensor")
        return value

    def literal(self, value: Any, kind: torch._C.JitType | None = None) -> Ref:
        """A Python value as the argument of an operator. `kind` is the type in the operator's schema."""
        if isinstance(value, Ref):
            return value
        return self.share(self.constant(value, kind))

    def constant(self, value: Any, kind: torch._C.JitType | None = None) -> KernelTypes:
        """A Python value in the schema's form."""
        kind = _without_optional(kind)
        if value is None:
            return Null()
        if isinstance(value, bool):
            return Bool(value)
        if isinstance(value, int):
            return Double(float(value)) if isinstance(kind, torch._C.FloatType) else Int(value)
        if isinstance(value, float):
            return Double(value)
        if isinstance(value, str):
            return String(value)
        if isinstance(value, torch.dtype):
            return Int(int(scalar_type_enum(value)))
        if isinstance(value, torch.layout):
            return Int(layout_enum(value))
        if isinstance(value, torch.memory_format):
            return Int(memory_format_enum(value))
        if isinstance(value, torch.device):
            # The runtime has one device for operators that are not delegated.
            return Null()
        if isinstance(value, (list, tuple)):
            return self._list(value, kind)
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            f"{value!r} of type {type(value).__name__} cannot be an argument of an operator; expected a tensor, "
            "number, string, dtype, or a list of these",
        )

    def _list(self, items: Sequence[Any], kind: torch._C.JitType | None) -> KernelTypes:
        item_kind = _without_optional(kind.getElementType()) if isinstance(kind, torch._C.ListType) else None
        if isinstance(item_kind, torch._C.TensorType) or (item_kind is None and any(map(_is_ref, items))):
            optional = isinstance(kind, torch._C.ListType) and isinstance(kind.getElementType(), torch._C.OptionalType)
            indices = [-1 if item is None else int(item) for item in items]
            return OptionalTensorList(indices) if optional else TensorList(indices)
        if isinstance(item_kind, torch._C.BoolType) or (item_kind is None and items and isinstance(items[0], bool)):
            return BoolList(self._numbers(items, bool))
        if isinstance(item_kind, torch._C.FloatType) or (item_kind is None and items and isinstance(items[0], float)):
            return DoubleList(self._numbers(items, float))
        # Integers are references, since any of them may be computed at run time.
        return IntList([int(self.literal(item)) for item in items])

    def _numbers(self, items: Sequence[Any], cast: type) -> list[Any]:
        if any(map(_is_ref, items)):
            raise ExportError(
                ExportErrorType.NOT_SUPPORTED,
                f"a list of {cast.__name__} with an item computed at run time has no form in a program; "
                "only lists of integers may have such items",
            )
        return [cast(item) for item in items]


def _is_ref(item: Any) -> bool:
    return isinstance(item, Ref)


def _without_optional(kind: torch._C.JitType | None) -> torch._C.JitType | None:
    return kind.getElementType() if isinstance(kind, torch._C.OptionalType) else kind
