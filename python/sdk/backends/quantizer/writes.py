# SPDX-License-Identifier: BSD-3-Clause
"""Replaces writes in place by calls that return new tensors.

An observer, and the quantised copy that it becomes, is placed where a tensor is computed. A later write in place to the
tensor or to a view of it would not reach the copy, and a write to a quantised view would not reach the tensor. Buffers
and inputs get their new values by one `copy_` at the end of the graph.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.utils._pytree import tree_leaves, tree_map_only

from sdk.backends.quantizer.aliases import functional_form, is_view, written_operands
from sdk.backends.quantizer.regions import WITHOUT_GRADIENT, inline_regions_that_write
from sdk.backends.quantizer.views import item_of, written_back

_aten = torch.ops.aten


def replace_writes(model: GraphModule) -> None:
    """Replaces the writes to tensors that are also read elsewhere, to buffers and to inputs. A write that only the next
    operator reads stays, and so do writes that have no other form, such as those of custom operators."""
    is_changed = inline_regions_that_write(model)
    aliases = _Aliases(model.graph)
    if _divide(aliases):
        aliases, is_changed = _Aliases(model.graph), True
    shared = _parts_of_one_memory(model)
    chosen = [root for root in aliases.writes if root.target not in shared and aliases.needs_values(root)]
    if chosen:
        _Values(model.graph, aliases, chosen).replace()
    if chosen or is_changed:
        model.recompile()


def _parts_of_one_memory(model: GraphModule) -> set[Any]:
    """The names of attributes that share memory with another tensor: a write to one of them changes the other one."""
    owners: dict[int, list[tuple[Any, Tensor]]] = {}
    for target in {node.target: None for node in model.graph.find_nodes(op="get_attr")}:
        tensor = functools.reduce(getattr, str(target).split("."), model)
        if isinstance(tensor, Tensor) and type(tensor) in (Tensor, torch.nn.Parameter) and tensor.numel():
            owners.setdefault(tensor.untyped_storage().data_ptr(), []).append((target, tensor))
    return {
        target
        for sharing in owners.values()
        for target, tensor in sharing
        if any(other is not tensor for _, other in sharing)
    }


def _divide(aliases: _Aliases) -> bool:
    """Replaces items of lists of views of tensors that are written by single views. Returns whether there were any."""
    items = [node for node in aliases.sources if _is_item(node) and aliases.root(node) in aliases.writes]
    for item in items:
        single = item_of(item.args[0], item.args[1])
        if single is not None:
            target, args = single
            with item.graph.inserting_before(item):
                made = item.graph.call_function(target, args)
            made.meta = dict(item.meta)
            item.replace_all_uses_with(made)
            views = item.args[0]
            item.graph.erase_node(item)
            if not views.users:
                item.graph.erase_node(views)
    return bool(items)


class _Aliases:
    """The tensors of a graph that share memory.

    Attributes:
        sources: A view, or the result of a write, and the tensor that it shares memory with.
        writes: A tensor that is no view, and the calls that write to it or to its views.
    """

    def __init__(self, graph: torch.fx.Graph) -> None:
        self.sources: dict[Node, Node] = {}
        self.writes: dict[Node, list[Node]] = {}
        writing = [node for node in graph.nodes if _writes_values(node)]
        if not writing:
            return
        attributes: dict[Any, Node] = {}
        for node in graph.nodes:
            source = attributes.setdefault(node.target, node) if node.op == "get_attr" else _source(node, self.sources)
            if source is not None and source is not node:
                self.sources[node] = source
        for node in writing:
            for root in {self.root(each) for each in written_operands(node) if isinstance(each, Node)}:
                self.writes.setdefault(root, []).append(node)

    def root(self, node: Node) -> Node:
        while node in self.sources:
            node = self.sources[node]
        return node

    def needs_values(self, root: Node) -> bool:
        """Whether the writes to a tensor must and can be replaced."""
        writes = self.writes[root]
        if not all(map(self._has_value, writes)):
            return False
        if root.op == "get_attr" and not root.meta["val"].is_floating_point() and len(root.users) == 1:
            return bool(writes[0].users)  # a counter that nothing reads, as that of a batch norm
        return not all(map(self._is_read_next_only, writes))

    def _has_value(self, write: Node) -> bool:
        """Whether a write has a form that returns the new value, from which the tensor's can be computed."""
        target, written = write.target, list(written_operands(write))
        if written != list(write.args[:1]) or torch.Tag.inplace_view in target.tags or functional_form(target) is None:
            return False
        node = write.args[0]
        while isinstance(node.meta.get("val"), Tensor):
            if node not in self.sources:
                return True
            if _is_item(node) or not (self.is_same(node) or written_back(node) is not None):
                return False
            node = self.sources[node]
        return False

    def _is_read_next_only(self, write: Node) -> bool:
        node = write.args[0]
        while len(node.users) == 1:
            if node not in self.sources:
                return bool(node.op == "call_function")
            node = self.sources[node]
        return False

    def is_same(self, node: Node) -> bool:
        """Whether a node is another name of the tensor that it shares memory with."""
        return node.op == "get_attr" or (not _is_item(node) and bool(node.target._schema.is_mutable))


def _writes_values(node: Node) -> bool:
    # detach_, with which export marks constants, changes no value.
    return node.target is not _aten.detach_.default and any(isinstance(each, Node) for each in written_operands(node))


def _is_item(node: Node) -> bool:
    return node.target is operator.getitem


def _source(node: Node, sources: dict[Node, Node]) -> Node | None:
    """The operand whose memory the result of a call shares."""
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], Node):
        return None
    operand = node.args[0]
    if _is_item(node):
        return operand if operand in sources else None
    if operand in written_operands(node):
        return operand
    if not is_view(node):
        return None
    if not all("val" in each.meta for each in node.all_input_nodes):
        return operand  # unknown: such a view may share memory
    result = next(iter(tree_leaves(_result(node.target, node.args, node.kwargs))), None)
    shares = isinstance(result, Tensor) and torch._C._is_alias_of(result, operand.meta["val"])
    return operand if shares else None


def _result(target: Any, args: Any, kwargs: Any) -> Any:
    """What a call of an operator returns for the example values of nodes."""
    args, kwargs = tree_map_only(Node, lambda each: each.meta["val"], (args, kwargs))
    with torch.no_grad():
        return target(*args, **kwargs)


class _Values:
    """Replaces, in the order of a graph, every read of the chosen tensors by a read of their values at that point."""

    def __init__(self, graph: torch.fx.Graph, aliases: _Aliases, chosen: list[Node]) -> None:
        self._graph = graph
        self._aliases = aliases
        self._writes: dict[Node, list[Node]] = {root: [] for root in chosen}  # those that were replaced
        self._known: dict[Node, tuple[int, Node]] = {}  # the number of writes before, and the value

    def replace(self) -> None:
        for node in list(self._graph.nodes):
            self._place = node
            written = node.args[0] if any(node in self._aliases.writes[root] for root in self._writes) else None
            node.args = map_arg(node.args, self._value)
            node.kwargs = map_arg(node.kwargs, self._value)
            if written is not None:
                self._write(node, written)
            elif node.op == "output":
                self._store()
        replaced = {write for writes in self._writes.values() for write in writes}
        for node in reversed(self._graph.nodes):
            if node in replaced or (node in self._aliases.sources and not node.users and node.op == "call_function"):
                self._graph.erase_node(node)

    def _value(self, node: Node) -> Node:
        root = self._aliases.root(node)
        writes = len(self._writes.get(root, ()))
        known, value = self._known.get(node, (0, node))
        if known == writes:
            return value
        source = self._value(self._aliases.sources[node])
        same = self._aliases.is_same(node)
        # The strides of a value may differ from those of the tensor.
        target = _aten.reshape.default if node.target is _aten.view.default else node.target
        value = source if same else self._call(target, (source, *node.args[1:]), node, node.kwargs)
        self._known[node] = (writes, value)
        return value

    def _call(self, target: Any, args: tuple[Any, ...], like: Node, kwargs: dict[str, Any] | None = None) -> Node:
        with self._graph.inserting_before(self._place):
            made = self._graph.call_function(target, args, kwargs or {})
        made.meta = {**like.meta, "val": _result(target, args, kwargs or {})}
        return made

    def _write(self, write: Node, written: Node) -> None:
        root = self._aliases.root(written)
        values = {written: self._written(write)}
        node = written
        while node is not root:
            source, value = self._aliases.sources[node], values[node]
            if not self._aliases.is_same(node):
                back = written_back(node)
                assert back is not None
                value = back(lambda target, *args: self._call(target, args, write), self._value(source), value)
            values[source] = value
            node = source
        self._writes[root].append(write)
        for node, value in values.items():
            self._known[node] = (len(self._writes[root]), value)

    def _written(self, write: Node) -> Node:
        """The value that a write would store in its operand."""
        given: list[Any] = [*write.args, *write.kwargs.values()]
        old, others = given[0], given[1:]
        form, dtype = functional_form(write.target), old.meta["val"].dtype
        if form is _aten.copy.default:
            value = others[0]
        elif form in (_aten.fill.Scalar, _aten.zero.default):
            value = self._call(_aten.full_like.default, (old, *others) if others else (old, 0), write)
        else:
            value = self._call(form, write.args, write, write.kwargs)
        if value.meta["val"].dtype != dtype:
            value = self._call(_aten.to.dtype, (value, dtype), write)
        shape = old.meta["val"].shape
        if value.meta["val"].shape != shape:
            value = self._call(_aten.expand_as.default, (value, old), write)
        if write.meta.get(WITHOUT_GRADIENT):
            value = self._call(_aten.detach.default, (value,), write)
        return value

    def _store(self) -> None:
        """Writes the last values of buffers and inputs to them."""
        stored = [root for root, writes in self._writes.items() if root.op != "call_function" and writes]
        copies: dict[Node, Node] = {}

        def kept(value: Node) -> Node:
            """A value, or a copy of it if it shares memory with a tensor that is overwritten below."""
            held = value.meta.get("val")
            if value not in copies and isinstance(held, Tensor):
                shares = any(torch._C._is_alias_of(held, root.meta["val"]) for root in stored)
                copies[value] = self._call(_aten.clone.default, (value,), value) if shares else value
            return copies.get(value, value)

        values = {root: kept(self._value(root)) for root in stored}
        self._place.args = map_arg(self._place.args, kept)
        for root, value in values.items():
            self._call(_aten.copy_.default, (root, value), self._writes[root][-1])
