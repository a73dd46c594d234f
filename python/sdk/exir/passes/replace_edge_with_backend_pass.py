# SPDX-License-Identifier: BSD-3-Clause
"""Replaces Python arithmetic on symbolic numbers by operators that the runtime can execute."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.operator.prim_ops import PYTHON_SYM_OPS


def _is_number(node: Node) -> bool:
    return isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool))


class EdgeToBackendOpsPass(PassBase):
    """`operator.mul(sym_size, 2)` becomes `executorch_prim.mul.Scalar(sym_size, 2)`. Raises for arithmetic without
    an operator."""

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for module in graph_module.modules():
            if not isinstance(module, GraphModule):
                continue
            for node in module.graph.nodes:
                if node.op != "call_function" or isinstance(node.target, torch._ops.OpOverload) or not _is_number(node):
                    continue
                replacement = PYTHON_SYM_OPS.get(node.target)
                if replacement is not None:
                    node.target = replacement
                    modified = True
                elif _is_plain_arithmetic(node):
                    known = ", ".join(sorted(getattr(f, "__name__", str(f)) for f in PYTHON_SYM_OPS))
                    raise ExportError(
                        ExportErrorType.NOT_SUPPORTED,
                        f"node {node.name} computes a size with {node.target}, which the runtime has no operator for; "
                        f"it has {known}.\n{node.meta.get('stack_trace') or ''}",
                    )
            module.recompile()
        return PassResult(graph_module, modified)


def _is_plain_arithmetic(node: Node) -> bool:
    return getattr(node.target, "__module__", "") in ("_operator", "operator", "math", "torch", "builtins") and (
        getattr(node.target, "__name__", "") != "getitem"
    )
