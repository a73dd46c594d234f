# SPDX-License-Identifier: BSD-3-Clause
"""The graph of a program as an `OperatorGraph`."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx import Node as FXNode

from sdk.devtools.debug_format.base_schema import Node, OperatorGraph, OperatorNode, ValueNode
from sdk.devtools.inspector._matching import op_type
from sdk.exir.debug_handle_utils import DEBUG_HANDLE_KEY
from sdk.exir.delegate import is_lowered_module

__all__ = ["FXOperatorGraph", "OperatorNode"]


@dataclass
class FXOperatorGraph(OperatorGraph):
    """The graph of an exported program.

    It has the graphs `inputs`, `forward` and `outputs`. The results of an operator are not separate nodes. After the
    call of a delegate comes the graph that was lowered to it, which has the name of its module.

    The metadata of operators is `debug_handle`, `stack_trace`, `nn_module_stack` and, of the call of a delegate,
    `backend_id`, as far as the program has them.
    """

    @staticmethod
    def gen_operator_graph(
        model: GraphModule, skip_stack_trace: bool | None = False, enable_module_hierarchy: bool = False
    ) -> FXOperatorGraph:
        """Converts the graph of `model`.

        Args:
            model: The graph module of a program in any dialect.
            skip_stack_trace: Leave out the lines of the model's source, which are long.
            enable_module_hierarchy: Put the operators of each module into a graph of the module's name, whose metadata
                is its class (`module_type`). A module that is called again has another graph.
        """
        converter = _Converter(bool(skip_stack_trace), enable_module_hierarchy)
        return FXOperatorGraph("base", converter.convert(model))


class _Converter:
    def __init__(self, skip_stack_trace: bool, by_module: bool) -> None:
        self._skip_stack_trace = skip_stack_trace
        self._by_module = by_module
        self._num_values = 0

    def convert(self, model: GraphModule) -> list[Node | OperatorGraph]:
        """The graphs of the inputs, the operators and the outputs."""
        nodes: dict[FXNode, Node] = {}
        inputs: list[Node | OperatorGraph] = []
        outputs: list[Node | OperatorGraph] = []
        body = _Body(self._by_module)
        for node in model.graph.nodes:
            if node.op == "placeholder":
                nodes[node] = _value(node, None)
                inputs.append(nodes[node])
            elif node.op == "output":
                outputs.append(_value(node, [nodes[used] for used in node.all_input_nodes]))
            elif node.op == "get_attr":
                nodes[node] = ValueNode(f"{node.name}_", metadata={}, val=str(node.target))
            elif node.target is operator.getitem:
                nodes[node] = nodes[node.args[0]]
            else:
                values, nodes[node] = self._operator(node, nodes)
                modules = node.meta.get("nn_module_stack") or {}
                body.add([*values, nodes[node]], modules)
                for name, graph in _graphs_of(node):
                    body.add([FXOperatorGraph(name, self.convert(graph))], modules)
        return [
            FXOperatorGraph("inputs", inputs),
            FXOperatorGraph("forward", body.elements),
            FXOperatorGraph("outputs", outputs),
        ]

    def _operator(self, node: FXNode, nodes: Mapping[FXNode, Node]) -> tuple[list[Node], OperatorNode]:
        """An operator, and its arguments that are not tensors."""
        schema = getattr(node.target, "_schema", None)
        names = [argument.name for argument in schema.arguments] if schema is not None else []
        given = [(names[i] if i < len(names) else f"arg{i}", value) for i, value in enumerate(node.args)]
        inputs: list[Node] = []
        values: list[Node] = []
        for name, value in (*given, *node.kwargs.items()):
            parts = _tensors_of(value)
            if parts:
                inputs.extend(nodes[part] for part in parts)
                continue
            constant = list(value) if isinstance(value, (list, tuple)) else str(value)
            values.append(ValueNode(f"{name}_{self._num_values}", metadata={}, val=constant))
            self._num_values += 1
            inputs.append(values[-1])
        found = OperatorNode(f"{node.name}_", inputs, _shapes(node), self._metadata(node), names or None, op_type(node))
        return values, found

    def _metadata(self, node: FXNode) -> dict[str, Any]:
        keys = (DEBUG_HANDLE_KEY, *(() if self._skip_stack_trace else ("stack_trace",)), "nn_module_stack")
        found = {key: node.meta[key] for key in keys if node.meta.get(key) is not None}
        backends = [module.backend_id for _, module in _modules_of(node) if is_lowered_module(module)]
        return {**found, "backend_id": backends[0]} if backends else found


class _Body:
    """The elements of a graph, grouped by module if requested."""

    def __init__(self, by_module: bool) -> None:
        self.elements: list[Node | OperatorGraph] = []
        self._by_module = by_module
        self._open: list[tuple[str, list[Node | OperatorGraph]]] = []

    def add(self, elements: Sequence[Node | OperatorGraph], modules: Mapping[str, Any]) -> None:
        """Adds `elements`, which belong to the innermost of `modules`: a node's `nn_module_stack`."""
        stack = [_module(name, entry) for name, entry in modules.items()][1:] if self._by_module else []
        common = 0
        while common < min(len(stack), len(self._open)) and self._open[common][0] == stack[common][0]:
            common += 1
        del self._open[common:]
        for path, kind in stack[common:]:
            graph = FXOperatorGraph(path, [], {"module_type": kind})
            (self._open[-1][1] if self._open else self.elements).append(graph)
            self._open.append((path, graph.elements))
        (self._open[-1][1] if self._open else self.elements).extend(elements)


def _module(name: str, entry: Any) -> tuple[str, str]:
    """The path and the class of an entry of a node's `nn_module_stack`, whose first one is the model itself."""
    path, kind = entry if isinstance(entry, (list, tuple)) and len(entry) == 2 else (name, entry)
    return str(path), kind if isinstance(kind, str) else getattr(kind, "__qualname__", str(kind))


def _value(node: FXNode, inputs: list[Node] | None) -> ValueNode:
    tensors = _results(node)
    return ValueNode(f"{node.name}_", inputs, _shapes(node), {}, dtype=str([t.dtype for t in tensors]))


def _results(node: FXNode) -> list[torch.Tensor]:
    """The tensors that a node returns; an output node returns its arguments."""
    if node.op == "output":
        return [tensor for used in node.all_input_nodes for tensor in _results(used)]
    value = node.meta.get("val")
    return [v for v in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(v, torch.Tensor)]


def _shapes(node: FXNode) -> list[list[Any]]:
    return [[size if isinstance(size, int) else str(size) for size in tensor.shape] for tensor in _results(node)]


def _tensors_of(argument: Any) -> list[FXNode]:
    """The nodes in an argument: the argument itself, or those in a list."""
    if isinstance(argument, FXNode):
        return [argument]
    return [a for a in argument if isinstance(a, FXNode)] if isinstance(argument, (list, tuple)) else []


def _modules_of(node: FXNode) -> Iterator[tuple[str, Any]]:
    """The modules that a node calls: a delegate, or the branches of a condition."""
    owner = node.graph.owning_module
    for used in node.all_input_nodes:
        if used.op == "get_attr" and owner is not None:
            yield str(used.target), getattr(owner, str(used.target), None)


def _graphs_of(node: FXNode) -> Iterator[tuple[str, GraphModule]]:
    """The graphs that a node runs, by name."""
    for name, module in _modules_of(node):
        if is_lowered_module(module):
            yield name, module.original_module.graph_module
        elif isinstance(module, GraphModule):
            yield name, module
