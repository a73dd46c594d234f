# SPDX-License-Identifier: BSD-3-Clause
"""Replaces symbolic sizes in specs by the numbers that memory is planned for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.utils import _pytree as pytree

from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.sym_util import UnboundedSizeError, eval_expr, eval_upper_bound
from sdk.exir.tensor import TensorSpec, stride_from_dim_order


def _specs(graph_module: GraphModule) -> Iterator[tuple[Node, TensorSpec]]:
    seen = set()
    for module in graph_module.modules():
        if isinstance(module, GraphModule):
            for node in module.graph.nodes:
                for spec in pytree.tree_leaves(node.meta.get("spec")):
                    if isinstance(spec, TensorSpec) and id(spec) not in seen:
                        seen.add(id(spec))
                        yield node, spec


def _evaluate(graph_module: GraphModule, evaluate: Callable[[Any], int]) -> PassResult:
    for node, spec in _specs(graph_module):
        if all(isinstance(size, int) for size in spec.shape):
            continue
        try:
            spec.shape = [evaluate(size) for size in spec.shape]
        except UnboundedSizeError as error:
            source = node.meta.get("stack_trace")
            where = f"\n{source.rstrip()}" if source else ""
            message = f"node {node.name} of shape {[str(s) for s in spec.shape]}: {error.message}{where}"
            raise ExportError(ExportErrorType.NOT_SUPPORTED, message) from None
        spec.stride = tuple(stride_from_dim_order(spec.shape, spec.dim_order))
    return PassResult(graph_module, True)


class ConstraintBasedSymShapeEvalPass(PassBase):
    """Plans for the upper bound of every dynamic dimension: its range's when exporting, or its size in the example
    inputs if its range has none. Sizes that depend on data or on an integer input must have an upper bound."""

    def call(self, graph_module: GraphModule) -> PassResult:
        return _evaluate(graph_module, eval_upper_bound)


class HintBasedSymShapeEvalPass(PassBase):
    """Plans for the sizes of the example inputs, and for the upper bounds of sizes that depend on data. Larger inputs
    then do not fit; use `ConstraintBasedSymShapeEvalPass` instead."""

    def call(self, graph_module: GraphModule) -> PassResult:
        def hint(size: Any) -> int:
            value = eval_expr(size)
            return eval_upper_bound(size) if value is None else value

        return _evaluate(graph_module, hint)


def free_symbols_of(graph_module: GraphModule) -> set[str]:
    """Names of all symbols in the specs of a graph."""
    sizes = [s for _, spec in _specs(graph_module) for s in spec.shape if isinstance(s, torch.SymInt)]
    return {str(symbol) for size in sizes for symbol in size.node.expr.free_symbols}
