# SPDX-License-Identifier: BSD-3-Clause
"""Calls edge operators instead of operators of `torch.ops`."""

from __future__ import annotations

from typing import Any

from torch._ops import OpOverload
from torch.fx.node import Target

from sdk.exir.dialects.edge._ops import EdgeOpOverload, to_edge_op
from sdk.exir.operator.aten_rules import SCALAR_OPS
from sdk.exir.pass_base import Argument, ExportPass, NodeMetadata, ProxyValue

__all__ = ["OpReplacePass", "aten_to_edge", "should_lower_to_edge"]


def aten_to_edge(aten_op: OpOverload) -> EdgeOpOverload:
    """The edge form of an operator: the same object each time."""
    return to_edge_op(aten_op)


def should_lower_to_edge(op: Target) -> bool:
    """Whether edge dialect calls `op` as an edge operator: all of `torch.ops`, except for sizes and numbers."""
    return isinstance(op, OpOverload) and op not in SCALAR_OPS and op.namespace != "executorch_prim"


class OpReplacePass(ExportPass):
    """Replaces every operator that `should_lower_to_edge`."""

    def call_operator(
        self, op: Any, args: tuple[Argument, ...], kwargs: dict[str, Argument], meta: NodeMetadata
    ) -> ProxyValue:
        return super().call_operator(aten_to_edge(op) if should_lower_to_edge(op) else op, args, kwargs, meta)
