# SPDX-License-Identifier: BSD-3-Clause
"""Nodes for symbolic sizes: finds the node that computes a `SymInt`, or builds one from the sizes of tensors in
the graph."""

from __future__ import annotations

import operator
from typing import Any

import sympy
import torch
from torch.fx import Graph, Node

SYM_TYPES = (torch.SymInt, torch.SymFloat, torch.SymBool)


class SymbolTable:
    """Maps sympy expressions to the nodes of `graph` that compute them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes: dict[sympy.Expr, Node] = {}
        self._sources: dict[sympy.Symbol, tuple[Node, int]] = {}

    def add(self, node: Node, value: Any) -> None:
        """Adds the value of a node: a symbolic number, or a tensor whose sizes are symbols."""
        if isinstance(value, SYM_TYPES):
            self._nodes.setdefault(value.node.expr, node)
        elif isinstance(value, torch.Tensor):
            for dim, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and size.node.expr.is_symbol:
                    self._sources.setdefault(size.node.expr, (node, dim))

    def node_for(self, value: Any) -> Any:
        """The node that computes the symbolic number `value`; a plain number if its expression is constant."""
        return self._build(value.node.expr, value.node.shape_env)

    def _build(self, expr: sympy.Expr, shape_env: Any) -> Any:
        if expr.is_Integer:
            return int(expr)
        if expr.is_Float or expr.is_Rational:
            return float(expr)
        found = self._nodes.get(expr)
        if found is not None:
            return found
        if expr.is_symbol:
            if expr not in self._sources:
                raise KeyError(f"no tensor in the graph has the size {expr}")
            tensor, dim = self._sources[expr]
            node = self._graph.call_function(torch.ops.aten.sym_size.int, (tensor, dim))
        else:
            node = self._build_operation(expr, shape_env)
        node.meta["val"] = shape_env.create_symintnode(expr, hint=_hint(expr, shape_env))
        self._nodes[expr] = node
        return node

    def _build_operation(self, expr: sympy.Expr, shape_env: Any) -> Node:
        name = type(expr).__name__
        if name == "Pow" and expr.args[1].is_Integer and int(expr.args[1]) > 0:
            base = self._build(expr.args[0], shape_env)
            return self._fold(operator.mul, [base] * int(expr.args[1]), expr, shape_env)
        function = {
            "Add": operator.add,
            "Mul": operator.mul,
            "FloorDiv": operator.floordiv,
            "CleanDiv": operator.floordiv,
            "Mod": operator.mod,
            "PythonMod": operator.mod,
            "Max": torch.sym_max,
            "Min": torch.sym_min,
        }.get(name)
        if function is None:
            raise KeyError(f"size {expr} uses {name}, for which there is no node")
        return self._fold(function, [self._build(a, shape_env) for a in expr.args], expr, shape_env)

    def _fold(self, function: Any, operands: list[Any], expr: sympy.Expr, shape_env: Any) -> Node:
        # A sum or product of several terms becomes a chain; the value of a partial result is computed from its
        # operands.
        values = [o.meta["val"] if isinstance(o, Node) else o for o in operands]
        node, value = operands[0], values[0]
        for operand, operand_value in zip(operands[1:], values[1:], strict=True):
            value = function(value, operand_value)
            node = self._graph.call_function(function, (node, operand))
            node.meta["val"] = value
        return node


def _hint(expr: sympy.Expr, shape_env: Any) -> int | None:
    hint = shape_env.replace(expr).xreplace(shape_env.backed_var_to_val)
    return int(hint) if hint.is_Integer else None
