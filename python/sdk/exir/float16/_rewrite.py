# SPDX-License-Identifier: BSD-3-Clause
"""Writes the graph that a plan describes."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.utils import _pytree as pytree

from sdk.exir.float16._plan import FLOAT, HALF, Plan, in_half, is_float
from sdk.exir.float16._rules import is_cast_of_truth
from sdk.exir.operator.aten_rules import DROPPED_OPS

_CAST = torch.ops.aten._to_copy.default


class Rewriter:
    """Writes a graph by a plan: `write(graph)`. A value that is read in both dtypes is converted once."""

    def __init__(self, plan: Plan, mode: Any) -> None:
        self._plan = plan
        self._mode = mode
        self._graph = Graph()
        self._forms: dict[Node, dict[torch.dtype, Node]] = {}  # of float32 nodes, by dtype
        self._copies: dict[Node, Node] = {}

    def write(self, graph: Graph) -> Graph:
        """The new graph. Inputs and outputs have the names and, except for constants, the dtypes that they had."""
        for node in graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node)
            elif node.op == "output":
                self._output(node)
            elif node.target not in DROPPED_OPS and node not in self._plan.same and node not in self._plan.anew:
                self._call(node)
        return self._graph

    def _placeholder(self, node: Node) -> None:
        new = self._graph.node_copy(node)
        new.name = node.name
        dtype = self._plan.constants.get(node, FLOAT)
        if dtype == HALF:
            with self._mode:
                new.meta["val"] = node.meta["val"].to(HALF)
            new.meta.pop("tensor_meta", None)
        self._add(node, new)

    def _output(self, node: Node) -> None:
        new = self._graph.node_copy(node, self._read_float)
        new.name = node.name

    def _call(self, node: Node) -> None:
        if node.target is operator.getitem:
            source, index = node.args
            assert isinstance(source, Node)
            new = self._graph.node_copy(node, lambda operand: self._copies[operand])
            value = self._copies[source].meta["val"][index]
        elif node in self._plan.halves:
            new, value = self._in_half(node), self._plan.values[node]
        else:
            new, value = self._graph.node_copy(node, self._read_float), node.meta.get("val")
        self._describe(new, node, value)
        self._add(node, new)

    def _in_half(self, node: Node) -> Node:
        args, kwargs = in_half(node, lambda operand: self._read(operand, HALF))
        return self._graph.create_node(node.op, node.target, args, kwargs, node.name)

    def _describe(self, new: Node, node: Node, value: Any) -> None:
        new.meta = dict(node.meta)
        if value is not node.meta.get("val"):
            new.meta["val"] = value
            new.meta.pop("tensor_meta", None)

    def _add(self, node: Node, new: Node) -> None:
        self._copies[node] = new
        if is_float(node):
            dtypes = {leaf.dtype for leaf in pytree.tree_leaves(new.meta["val"]) if isinstance(leaf, torch.Tensor)}
            self._forms[node] = {HALF if HALF in dtypes else FLOAT: new}

    def _read_float(self, operand: Node) -> Node:
        return self._read(operand, FLOAT)

    def _read(self, operand: Node, dtype: torch.dtype) -> Node:
        """The node that replaces `operand` in the new graph; in `dtype` if `operand` is float32."""
        if not is_float(operand):
            return self._copies[operand]
        while operand in self._plan.same:
            (operand,) = operand.all_input_nodes[:1]
        forms = self._forms.setdefault(operand, {})
        if dtype not in forms:
            forms[dtype] = self._anew(operand, dtype) if operand in self._plan.anew else self._cast(forms, dtype)
        return forms[dtype]

    def _cast(self, forms: dict[torch.dtype, Node], dtype: torch.dtype) -> Node:
        source = next(iter(forms.values()))
        cast = self._graph.call_function(_CAST, (source,), {"dtype": dtype})
        cast.meta = {key: value for key, value in source.meta.items() if key != "tensor_meta"}
        with self._mode:
            cast.meta["val"] = source.meta["val"].to(dtype)
        return cast

    def _anew(self, node: Node, dtype: torch.dtype) -> Node:
        new = self._graph.node_copy(node, self._read_float)
        if is_cast_of_truth(node):
            new.target, new.args, new.kwargs = _CAST, new.args[:1], {"dtype": dtype}
        else:
            new.kwargs = {**new.kwargs, "dtype": dtype}
        self._describe(new, node, node.meta["val"] if dtype == FLOAT else self._plan.values[node])
        return new
