# SPDX-License-Identifier: BSD-3-Clause
"""Operators of a single backend: they appear after the edge dialect and have no meaning for other targets."""

from __future__ import annotations

import torch

from sdk.exir.dialects.edge._ops import EdgeOpOverload, to_edge_op


class BackendOpOverload(EdgeOpOverload):
    """An operator of a backend's dialect, `exir_ops.backend.<namespace>.<name>.<overload>`.

    It can be introduced by any pass after `to_edge` and must have a kernel, or be consumed by a delegate.
    """

    def __init__(self, op_overload: EdgeOpOverload) -> None:
        super().__init__(op_overload._op, op_overload._schema)
        self.__module__ = "executorch.exir.dialects.backend._ops"

    @staticmethod
    def from_op(op: torch._ops.OpOverload) -> BackendOpOverload:
        """The backend form of an operator: the same object each time."""
        backend_op = _backend_ops.get(op)
        if backend_op is None:
            backend_op = _backend_ops[op] = BackendOpOverload(to_edge_op(op))
        return backend_op

    def __repr__(self) -> str:
        return f"<BackendOpOverload: {self.__name__}>: schema = {self._schema}"

    __str__ = __repr__


_backend_ops: dict[torch._ops.OpOverload, BackendOpOverload] = {}
