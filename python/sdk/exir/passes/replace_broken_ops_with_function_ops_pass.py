# SPDX-License-Identifier: BSD-3-Clause
"""Calls the variants of operators that copy, instead of those that return views."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload

from sdk.exir.pass_base import Argument, ExportPass, NodeMetadata, ProxyValue


def copying(op: OpOverload) -> OpOverload:
    """The variant of a view that copies: `view_copy` of `view`."""
    namespace, name = op._schema.name.split("::")
    return getattr(getattr(getattr(torch.ops, namespace), f"{name}_copy"), op._overloadname)


class ReplaceBrokenOpsWithFunctionalOpsPass(ExportPass):
    """Replaces views, on graphs in ATen dialect."""

    def call_operator(
        self, op: Any, args: tuple[Argument, ...], kwargs: dict[str, Argument], meta: NodeMetadata
    ) -> ProxyValue:
        is_view = isinstance(op, OpOverload) and op.is_view
        return super().call_operator(copying(op) if is_view else op, args, kwargs, meta)
