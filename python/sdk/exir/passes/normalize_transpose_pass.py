# SPDX-License-Identifier: BSD-3-Clause
"""Calls `t_copy` instead of `t`."""

from __future__ import annotations

from typing import Any

import torch

from sdk.exir.pass_base import Argument, ExportPass, NodeMetadata, ProxyValue
from sdk.exir.passes.replace_broken_ops_with_function_ops_pass import copying


class NormalizeTransposePass(ExportPass):
    """Replaces `aten.t`, on graphs in ATen dialect. `ReplaceBrokenOpsWithFunctionalOpsPass` replaces all views."""

    def call_operator(
        self, op: Any, args: tuple[Argument, ...], kwargs: dict[str, Argument], meta: NodeMetadata
    ) -> ProxyValue:
        return super().call_operator(copying(op) if op == torch.ops.aten.t.default else op, args, kwargs, meta)
