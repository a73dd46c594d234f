# SPDX-License-Identifier: BSD-3-Clause
"""`ops`: the operators of every dialect, addressed as `ops.edge.aten.add.Tensor` or
`ops.backend.my_namespace.my_op.default`."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch

from sdk.exir.dialects.backend._ops import BackendOpOverload
from sdk.exir.dialects.edge._ops import EdgeOpOverloadPacket


class _BackendOpOverloadPacket:
    def __init__(self, packet: torch._ops.OpOverloadPacket) -> None:
        self._op = packet

    def __getattr__(self, key: str) -> BackendOpOverload:
        if key == "_op" or (key.startswith("__") and key.endswith("__")):
            raise AttributeError(key)
        return BackendOpOverload.from_op(getattr(self._op, key))


class _OpNamespace(types.ModuleType):
    """The operators of one namespace (`aten`, `quantized_decomposed`, ...) in one dialect."""

    def __init__(self, dialect: str, name: str) -> None:
        super().__init__(f"{dialect}.{name}")
        self.dialect = dialect
        self.name = name

    def __getattr__(self, op_name: str) -> Any:
        if op_name.startswith("__") and op_name.endswith("__"):
            raise AttributeError(op_name)
        packet = getattr(getattr(torch.ops, self.name), op_name)
        if self.dialect == "backend":
            dialect_packet: Any = _BackendOpOverloadPacket(packet)
        else:
            dialect_packet = EdgeOpOverloadPacket(f"{self.name}::{op_name}", op_name, packet)
        setattr(self, op_name, dialect_packet)
        return dialect_packet


class _DialectNamespace(types.ModuleType):
    """The namespace of one dialect: `edge` or `backend`."""

    def __init__(self, dialect_name: str) -> None:
        super().__init__(f"{__name__}.{dialect_name}")
        self._dialect_name = dialect_name

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name == "dim_order_ops":
            import sdk.exir.operator.dim_order_ops
        elif name == "quantized_decomposed":
            import sdk.exir.operator.quantized_ops
        elif name == "executorch_prim":
            import sdk.exir.operator.prim_ops  # noqa: F401  (registers the operators)
        namespace = _OpNamespace(self._dialect_name, name)
        setattr(self, name, namespace)
        return namespace


class _Ops(types.ModuleType):
    """The root: an attribute is a dialect."""

    def __init__(self) -> None:
        super().__init__("sdk.exir.dialects.ops")

    def __getattr__(self, dialect_name: str) -> _DialectNamespace:
        if dialect_name not in ("edge", "backend"):
            raise AttributeError(f"there is no dialect {dialect_name!r}; the dialects are 'edge' and 'backend'")
        dialect = _DialectNamespace(dialect_name)
        setattr(self, dialect_name, dialect)
        return dialect


ops = _Ops()


def bind_pattern_to_op(library: torch.library.Library, schema_or_name: str) -> Callable[[Callable], Callable]:
    """Decorator that makes the decorated function the implementation of an operator.

    `schema_or_name` is a schema, which defines the operator in `library`, or the name of an operator that is
    already defined. The function becomes its CompositeImplicitAutograd kernel: the operator runs wherever the
    function's operators run, and exporting a graph that contains it again decomposes it into them.
    """

    def decorate(pattern: Callable) -> Callable:
        name = schema_or_name
        if "(" in schema_or_name:
            name = schema_or_name.split("(")[0].split("::")[-1].strip()
            library.define(schema_or_name.split("::")[-1])
        library.impl(name.split("::")[-1], pattern, "CompositeImplicitAutograd")
        return pattern

    return decorate
