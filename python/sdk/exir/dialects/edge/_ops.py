# SPDX-License-Identifier: BSD-3-Clause
"""Operators of the edge dialect: ATen operators as the compiler sees them, before they become kernels.

An `EdgeOpOverload` wraps a `torch._ops.OpOverload`. It is called like the operator it wraps and has its attributes,
but is a separate object of a separate type, so that a graph shows which dialect it is in and a backend's pass cannot
confuse the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from sdk.exir.dialects.edge._dtype_constraint import (
    AllowedDtypeSet,
    FunctionDtypeConstraint,
    constraint_of,
    edge_dialect_info,
)
from sdk.exir.operator.convert import to_out_variant

__all__ = [
    "AllowedDtypeSet",
    "EdgeDialectArgument",
    "EdgeDialectFunctionSchema",
    "EdgeOpOverload",
    "EdgeOpOverloadPacket",
    "FunctionDtypeConstraint",
    "to_edge_op",
]

# Graphs print operators as `<module>_<name>`; programs and tests of the original use this module's name.
_PRINTED_MODULE = "executorch.exir.dialects.edge._ops"


def __getattr__(name: str) -> Any:
    if name == "_edge_dialect_info":  # Read when first asked for.
        return edge_dialect_info()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class EdgeDialectArgument:
    """An argument or result of an edge operator: the schema's argument and the dtypes it may have, which is every dtype
    if `allowed_types` is None."""

    def __init__(self, argument: torch._C.Argument, allowed_types: set[torch.dtype] | None = None) -> None:
        self.argument = argument
        self.allowed_types = allowed_types

    def __getattr__(self, name: str) -> Any:
        if name == "argument":
            raise AttributeError(name)
        return getattr(self.argument, name)


class EdgeDialectFunctionSchema:
    """The schema of an operator together with the dtypes that its edge form accepts."""

    def __init__(self, schema: torch._C.FunctionSchema) -> None:
        self.schema = schema
        self.name = schema.name
        self.overload_name = schema.overload_name
        constraint = self.dtype_constraint = constraint_of(schema)
        names = constraint.essential_tensor_io_names | constraint.optional_tensor_io_names if constraint else set()

        def allowed(name: str) -> set[torch.dtype] | None:
            return constraint[name] if constraint is not None and name in names else None

        self.arguments = [EdgeDialectArgument(a, allowed(a.name)) for a in schema.arguments]
        self.returns = [EdgeDialectArgument(r, allowed(f"__ret_{i}")) for i, r in enumerate(schema.returns)]

    def __getattr__(self, name: str) -> Any:
        if name == "schema":
            raise AttributeError(name)
        return getattr(self.schema, name)

    def __str__(self) -> str:
        return str(self.schema)


class EdgeOpOverload:
    """One overload of an operator in the edge dialect, for example `exir_ops.edge.aten.add.Tensor`.

    Calling it runs the ATen operator, so graphs stay executable. There is one object per overload and process:
    compare with `is` or `==`.
    """

    def __init__(self, op: torch._ops.OpOverload, schema: EdgeDialectFunctionSchema) -> None:
        self._op = op
        self._schema = schema
        self.__name__ = f"{op.namespace}.{op._schema.name.split('::')[-1]}.{op._overloadname}"
        self.__module__ = _PRINTED_MODULE
        self.__qualname__ = self.__name__
        self._out_variant: torch._ops.OpOverload | None = None

    def to_out_variant(self) -> torch._ops.OpOverload:
        """The overload that writes its results into tensors of the caller. `RuntimeError` if it does not exist."""
        if self._out_variant is None:
            self._out_variant = to_out_variant(self._op)[0]
        return self._out_variant

    @property
    def namespace(self) -> str:
        return self._op.namespace

    def name(self) -> str:
        """`namespace::operator.overload`; the overload is left out if it is the default one."""
        return self._op.name()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_op":
            raise AttributeError(name)
        return getattr(self._op, name)

    def __deepcopy__(self, memo: object) -> EdgeOpOverload:
        return self

    def __copy__(self) -> EdgeOpOverload:
        return self

    def __reduce__(self) -> tuple[Callable[..., EdgeOpOverload], tuple[str, str, str]]:
        return _find_edge_op, (self._op.namespace, self._op._schema.name.split("::")[-1], self._op._overloadname)

    def __repr__(self) -> str:
        return f"<EdgeOpOverload: {self.__name__}>: schema = {self._schema}"

    __str__ = __repr__


class EdgeOpOverloadPacket:
    """All overloads of one operator; an overload is an attribute: `exir_ops.edge.aten.add.Tensor`."""

    def __init__(
        self, qualified_op_name: str, op_name: str, parent_overload_packet: torch._ops.OpOverloadPacket
    ) -> None:
        self._qualified_op_name = qualified_op_name
        self.__name__ = op_name
        self.__module__ = _PRINTED_MODULE
        self._op = parent_overload_packet

    def __getattr__(self, key: str) -> EdgeOpOverload:
        if key == "_op" or (key.startswith("__") and key.endswith("__")):
            raise AttributeError(key)
        overload = getattr(self._op, key)
        if not isinstance(overload, torch._ops.OpOverload):
            raise AttributeError(
                f"{self._qualified_op_name} has no overload {key!r}; it has {', '.join(self._op.overloads())}"
            )
        edge_op = to_edge_op(overload)
        setattr(self, key, edge_op)
        return edge_op

    def overloads(self) -> list[str]:
        return self._op.overloads()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<EdgeOpOverloadPacket(op='{self._qualified_op_name}')>"


_edge_ops: dict[torch._ops.OpOverload, EdgeOpOverload] = {}


def to_edge_op(op: torch._ops.OpOverload) -> EdgeOpOverload:
    """The edge form of an ATen or custom operator: the same object each time."""
    edge_op = _edge_ops.get(op)
    if edge_op is None:
        edge_op = _edge_ops[op] = EdgeOpOverload(op, EdgeDialectFunctionSchema(op._schema))
    return edge_op


def _find_edge_op(namespace: str, name: str, overload: str) -> EdgeOpOverload:
    return to_edge_op(getattr(getattr(getattr(torch.ops, namespace), name), overload))
