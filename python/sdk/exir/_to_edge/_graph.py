# SPDX-License-Identifier: BSD-3-Clause
"""Turns the graph of an ATen program into edge dialect in one walk.

Each node is copied, decomposed in place, or replaced: views become copies, writes become new values, numbers where
an operator takes a tensor become constants, memory formats become dim orders. The fake tensors that exporting left
in `node.meta["val"]` are reused wherever the layout of an operator's arguments has not changed, so most nodes cost
no tensor computation at all.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, GraphModule, Node
from torch.fx.traceback import NodeSource, NodeSourceAction
from torch.utils import _pytree as pytree

from sdk.exir._messages import add_context, describe_node, source_of
from sdk.exir._to_edge._aliases import copies, returns_argument, writes
from sdk.exir._to_edge._attributes import add_attribute, attribute_sink
from sdk.exir._to_edge._emitter import ConstantSink, EdgeOptions, value_of
from sdk.exir._to_edge._recorder import NeedsRetracingError
from sdk.exir._to_edge._writes import WriteLowering
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.graph.programs import make_graph_module
from sdk.exir.graph.symbols import SYM_TYPES
from sdk.exir.operator.aten_rules import (
    DROPPED_OPS,
    IDENTICAL_COPIES,
    IDENTITY_OPS,
    MATERIALISE_ORDER,
    VIEW_TO_COPY,
    aten,
    decomposition_of,
    makes_known_tensor,
    returns_alias,
)
from sdk.exir.sym_util import are_same_sizes
from sdk.exir.tensor import has_repeated_elements


@dataclass
class EdgeGraph:
    """The lowered graph, with the values that in-place writes gave to placeholders (in order of the first write)."""

    graph: Graph
    outputs: Any
    written: dict[str, Node] = field(default_factory=dict)
    placeholders: dict[str, Node] = field(default_factory=dict)


def _origin_of(node: Node) -> dict[str, Any]:
    """The metadata of the nodes that replace `node`: a copy of its metadata without values, and `from_node`, as torch's
    tracer writes it, by which tools find the ATen node of an edge node.
    """
    meta = {k: v for k, v in node.meta.items() if k not in ("val", "tensor_meta", "spec")}
    if node.op == "call_function":
        meta["from_node"] = [NodeSource(node, "to_edge", NodeSourceAction.CREATE)]
    return meta


class EdgeLowering(WriteLowering):
    """Lowers one graph module. `constants` receives the tensors that numbers become."""

    def __init__(
        self,
        module: GraphModule,
        root: torch.nn.Module,
        fake_mode: FakeTensorMode,
        options: EdgeOptions,
        constants: ConstantSink,
        placeholder_values: list[Any] | None = None,
    ) -> None:
        super().__init__(fake_mode, options, constants)
        self._module = module
        self._root = root
        self._placeholder_values = iter(placeholder_values) if placeholder_values is not None else None
        self._inlined: dict[Node, tuple] = {}
        self._order = {node: i for i, node in enumerate(module.graph.nodes)}
        graphs = [part.graph for part in module.modules() if isinstance(part, GraphModule)]
        self._has_writes = any(writes(node) for graph in graphs for node in graph.nodes)

    def run(self) -> EdgeGraph:
        """Walks the graph once. Raises `NeedsRetracingError` if the program must be traced as a whole instead."""
        placeholders: dict[str, Node] = {}
        outputs: Any = None
        for node in self._module.graph.nodes:
            self._meta = _origin_of(node)
            if node.op == "placeholder":
                placeholders[node.name] = self._placeholder(node)
            elif node.op == "get_attr":
                self._env[node] = self._get_attr(node)
            elif node.op == "call_function":
                self._env[node] = self._checked_call(node)
            elif node.op == "output":
                outputs = self._map(node.args[0])
            else:
                raise NeedsRetracingError(f"{node.op} nodes are lowered by tracing")
        return EdgeGraph(self._graph, outputs, self._written, placeholders)

    # --- nodes
    # -----------------------------------------------------------------------------------------------------------

    def _placeholder(self, node: Node) -> Node:
        new = self._graph.placeholder(node.name)
        new.name = node.name
        new.meta = dict(node.meta)
        if self._placeholder_values is not None:
            new.meta["val"] = next(self._placeholder_values)
        elif has_repeated_elements(node.meta.get("val")):
            # A program's tensors are dense: the runtime gets the elements of an expanded tensor, whatever its strides.
            new.meta["val"] = self._contiguous(node.meta["val"])
        self._symbols.add(new, new.meta.get("val"))
        self._env[node] = new
        return new

    def _get_attr(self, node: Node) -> Any:
        attribute: Any = self._module
        for atom in node.target.split("."):
            attribute = getattr(attribute, atom)
        if isinstance(attribute, GraphModule):
            return attribute
        name = add_attribute(self._root, node.target.replace(".", "_"), attribute)
        new = self._graph.get_attr(name)
        new.meta = dict(node.meta)
        if isinstance(attribute, torch.Tensor):
            new.meta["val"] = self._fake_mode.from_tensor(attribute, static_shapes=True)
        return new

    def _checked_call(self, node: Node) -> Any:
        try:
            return self._call(node)
        except NeedsRetracingError:
            raise
        except Exception as error:
            # The error already describes the node in the branch; add the node that calls the branch.
            add_context(error, f"while lowering to edge dialect the node\n  {describe_node(node)}{source_of(node)}")
            raise

    def _call(self, node: Node) -> Any:
        target = node.target
        if isinstance(target, EdgeOpOverload):
            target = target._op
        if isinstance(target, torch._ops.HigherOrderOperator):
            return self._higher_order(node, target)
        if not isinstance(target, torch._ops.OpOverload):
            return self._python(node)
        if target in DROPPED_OPS:
            return None
        if target in IDENTICAL_COPIES:
            return self._env[self._origin(node.args[0])]
        if target in IDENTITY_OPS or _swaps_nothing(node, target) or self._is_argument(node, target):
            self._same[node] = self._origin(node.args[0])
            return self._env[self._same[node]]
        if target is aten.item.default:
            target = aten._local_scalar_dense.default
        if target._schema.is_mutable:
            return self._write(node, target)
        args, kwargs = self._map(node.args), self._map(node.kwargs)
        if target is aten.sym_size.int:
            return self._sym_size(node, args)
        if target is aten.narrow.default:
            target, args = aten.slice.Tensor, self._slice_arguments(*args)
        if returns_alias(target) and not copies(node, target):
            origin = self._origin(node.args[0])
            self._views[node] = self._views.get(origin, origin)
            self._parents[node] = (origin, target, tuple(args[1:]))
        keep = self._options.keep is not None and self._options.keep(node)
        decomposition = None if keep else decomposition_of(target, self._options.preserved)
        if decomposition is None:
            if makes_known_tensor(target) and not node.all_input_nodes and target not in self._options.preserved:
                return self._known_tensor(target, args, kwargs)
            return self._copy(node, target, args, kwargs)
        return self._decompose(node, target, decomposition, args, kwargs)

    def _known_tensor(self, op: torch._ops.OpOverload, args: tuple, kwargs: dict) -> Node:
        """Computes a call whose arguments are all numbers. Returns the result as a constant."""
        with unset_fake_temporarily(), torch.no_grad():
            return self._constants(self._graph, op(*args, **kwargs))

    def _is_argument(self, node: Node, op: torch._ops.OpOverload) -> bool:
        """Whether writing to the result of a call also writes to its argument. A program without writes keeps the copy
        of PyTorch's decomposition, which ExecuTorch's programs have too."""
        return self._has_writes and returns_argument(node) and op not in self._options.preserved

    def _slice_arguments(self, tensor: Any, dim: int, start: Any, length: Any) -> tuple:
        """The arguments of the `slice` call that computes `narrow(tensor, dim, start, length)`."""
        first = value_of(start)
        if isinstance(first, int) and first < 0:
            first = value_of(tensor).shape[dim] + first
        return tensor, dim, self._number_node(first), self._number_node(first + value_of(length))

    def _number_node(self, value: Any) -> Any:
        return self._symbols.node_for(value) if isinstance(value, SYM_TYPES) else value

    def _python(self, node: Node) -> Any:
        """Lowers arithmetic on symbolic numbers, and `getitem`."""
        args, kwargs = self._map(node.args), self._map(node.kwargs)
        if node.target is operator.getitem and isinstance(node.args[0], Node):
            if node.args[0] in self._views:
                self._views[node] = self._views[node.args[0]]
            if node.args[0] in self._inlined:
                returned = self._inlined[node.args[0]][node.args[1]]
                if isinstance(returned, Node):
                    self._same[node] = self._origin(returned)
            if isinstance(args[0], (tuple, list)):
                return args[0][args[1]]
            # The layout of an output may differ from that at export: take it from the producer.
            return self._getitem(args[0], args[1])
        val = node.meta.get("val")
        if isinstance(val, SYM_TYPES) and val.node.expr in self._symbols._nodes:
            return self._symbols._nodes[val.node.expr]
        new = self._graph.call_function(node.target, args, kwargs)
        new.meta = {**self._meta, "val": val}
        self._symbols.add(new, val)
        return new

    def _sym_size(self, node: Node, args: tuple) -> Any:
        val = node.meta["val"]
        if isinstance(val, int):
            return val
        found = self._symbols._nodes.get(val.node.expr)
        if found is not None:
            return found
        new = self._graph.call_function(aten.sym_size.int, args)
        new.meta = {**self._meta, "val": val}
        self._symbols.add(new, val)
        return new

    def _copy(self, node: Node, op: torch._ops.OpOverload, args: tuple, kwargs: dict) -> Any:
        old_args = node.all_input_nodes
        unchanged = (
            op not in VIEW_TO_COPY
            and op not in MATERIALISE_ORDER
            and all(_same_layout(old.meta.get("val"), self._env[self._origin(old)]) for old in old_args)
        )
        val = node.meta.get("val")
        if not unchanged and not _has_unbacked(val):
            val = self._evaluate(VIEW_TO_COPY.get(op, op), args, kwargs)
        elif op in VIEW_TO_COPY:
            # A copy is dense, whereas the view that exporting computed has the strides of its base, or strides of 0.
            val = pytree.tree_map_only(torch.Tensor, self._contiguous, val)
        return self._emit(op, args, kwargs, val)

    def _decompose(
        self, node: Node, op: torch._ops.OpOverload, decomposition: Callable, args: tuple, kwargs: dict
    ) -> Any:
        fake_args, fake_kwargs = _plain(self._to_values((args, kwargs)))
        with self._fake_mode:
            result = self._recorder.run(op, decomposition, fake_args, fake_kwargs)
        if not copies(node, op):
            self._note_aliases(node, result)
        nodes = pytree.tree_map(self._to_node, result)
        self._tensor_nodes.clear()
        return nodes

    def _note_aliases(self, node: Node, result: Any) -> None:
        """Remembers whether the decomposed operator returned an argument, or a view of one."""
        for leaf in pytree.tree_leaves(result):
            if not isinstance(leaf, torch.Tensor):
                continue
            base = self._recorder.base_of(leaf)
            for source in node.all_input_nodes:
                origin = self._origin(source)
                if base is value_of(self._env[origin]):
                    if leaf is result and base is leaf:
                        self._same[node] = origin
                    else:
                        self._views[node] = self._views.get(origin, origin)

    def _higher_order(self, node: Node, op: torch._ops.HigherOrderOperator) -> Any:
        args = self._map(node.args)
        if op.name() == "wrap_with_set_grad_enabled":
            return self._inline(node, args[1], node.args[2:])
        if op.name() in ("executorch_call_delegate", "auto_functionalized_v2"):
            new = self._graph.call_function(op, args, self._map(node.kwargs))
            new.meta = {**self._meta, "val": node.meta.get("val")}
            return new
        operands = [a for a in pytree.tree_leaves(args) if isinstance(a, Node)]
        if op.name() not in ("cond", "while_loop", "map_impl", "scan"):
            raise NeedsRetracingError(f"{op.name()} is lowered by tracing")
        new_args = pytree.tree_map(
            lambda a: self._submodule(node, op, a, args, operands) if isinstance(a, GraphModule) else a, args
        )
        new = self._graph.call_function(op, new_args, self._map(node.kwargs))
        new.meta = {**self._meta, "val": pytree.tree_map_only(torch.Tensor, self._contiguous, node.meta.get("val"))}
        return new

    def _submodule(self, node: Node, op: Any, module: GraphModule, args: tuple, operands: list[Node]) -> Node:
        for inner in module.graph.nodes:
            if writes(inner):
                raise NeedsRetracingError(f"a branch of {node.name} writes in place")
        name = next(
            n.target
            for n in self._module.graph.nodes
            if n.op == "get_attr" and getattr(self._module, n.target, None) is module
        )
        root = torch.nn.Module()
        values = None
        if op.name() == "cond":
            values = [value_of(a) for a in args[3]]
        lowered = EdgeLowering(
            module, root, self._fake_mode, self._options, attribute_sink(root, self._fake_mode), values
        ).run()
        lowered.graph.output(lowered.outputs)
        submodule = make_graph_module(root, lowered.graph)
        return self._graph.get_attr(add_attribute(self._root, name, submodule))

    def _inline(self, node: Node, module: GraphModule, operands: tuple) -> Any:
        """Inlines a region that only changes autograd's mode. `operands` are nodes of the surrounding graph."""
        outer, pending = self._module, iter(operands)
        self._module = module
        # Positions inside the region are between the position of its call and that of the next node.
        count = len(module.graph.nodes) + 1
        self._order.update({n: self._order[node] + (i + 1) / count for i, n in enumerate(module.graph.nodes)})
        result: Any = None
        for inner in module.graph.nodes:
            self._meta = _origin_of(inner)
            if inner.op == "placeholder":
                operand = next(pending)
                self._env[inner] = self._map(operand)
                if isinstance(operand, Node):
                    self._same[inner] = self._origin(operand)
            elif inner.op == "get_attr":
                self._env[inner] = self._get_attr(inner)
            elif inner.op == "call_function":
                self._env[inner] = self._call(inner)
            elif inner.op == "output":
                result = inner.args[0]
        self._module = outer
        self._inlined[node] = tuple(result) if isinstance(result, (list, tuple)) else (result,)
        return self._map(self._inlined[node])


def _plain(arguments: Any) -> Any:
    """Arguments with ordinary lists and dicts in place of fx's immutable ones, which decompositions may change."""
    if isinstance(arguments, tuple):
        return tuple(map(_plain, arguments))
    if isinstance(arguments, list):
        return list(map(_plain, arguments))
    if isinstance(arguments, dict):
        return {key: _plain(value) for key, value in arguments.items()}
    return arguments


def _swaps_nothing(node: Node, target: torch._ops.OpOverload) -> bool:
    """Whether a call transposes a dimension with itself. Its decomposition returns the argument, which PyTorch rejects
    for a view."""
    if target not in (aten.t.default, aten.transpose.int, aten.t_copy.default, aten.transpose_copy.int):
        return False
    rank = node.args[0].meta["val"].dim()
    first, second = (0, min(rank, 2) - 1) if target in (aten.t.default, aten.t_copy.default) else node.args[1:3]
    return rank == 0 or (first - second) % rank == 0


def _same_layout(old: Any, new: Any) -> bool:
    value = value_of(new)
    if isinstance(old, torch.Tensor):
        return value is old or (
            isinstance(value, torch.Tensor)
            and old.dtype == value.dtype
            and are_same_sizes(old.stride(), value.stride())
        )
    if isinstance(old, (tuple, list)):
        return isinstance(value, (tuple, list)) and all(_same_layout(o, n) for o, n in zip(old, value, strict=False))
    return True


def _has_unbacked(val: Any) -> bool:
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

    return any(
        isinstance(leaf, (torch.Tensor, *SYM_TYPES)) and free_unbacked_symbols(leaf) for leaf in pytree.tree_leaves(val)
    )
