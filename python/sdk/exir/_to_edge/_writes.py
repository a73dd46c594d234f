# SPDX-License-Identifier: BSD-3-Clause
"""In-place operators in a functional graph: each write gives a new value to its target, and to the tensor that the
target is a view of.

A write through a view needs a scatter into the tensor that owns the memory. If there is no such operator, or if another
view sees the write, `NeedsRetracingError` asks for a trace of the whole program instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch.fx import Node
from torch.utils import _pytree as pytree

from sdk.exir._to_edge._emitter import ConstantSink, EdgeEmitter, EdgeOptions, value_of
from sdk.exir._to_edge._recorder import DecompositionRecorder, NeedsRetracingError
from sdk.exir.operator.aten_rules import aten, decomposition_of, functional_form, mutated_arguments
from sdk.exir.operator.custom_mutation import bound_arguments, is_custom_mutation, mutated_names
from sdk.exir.operator.decompositions_scatter import fill_diagonal
from sdk.exir.sym_util import are_same_sizes

_RESHAPES = (aten.view.default, aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims)


class WriteLowering(EdgeEmitter):
    """The values of the old graph's nodes during lowering, and the effect of writes on them."""

    def __init__(self, fake_mode: FakeTensorMode, options: EdgeOptions, constants: ConstantSink) -> None:
        super().__init__(fake_mode, options, constants)
        self._env: dict[Node, Any] = {}  # old node -> new node, or a number, or a tuple of these
        self._same: dict[Node, Node] = {}  # old node -> the old node whose value it is
        self._views: dict[Node, Node] = {}  # view -> the node that owns its memory
        self._parents: dict[Node, tuple[Node, torch._ops.OpOverload, tuple]] = {}  # view -> of what, and how
        self._written: dict[str, Node] = {}
        self._order: dict[Node, float] = {}
        self._recorder = DecompositionRecorder(
            self._record, self._alias, options.preserved, self._keeps_inner, options.candidates
        )

    def _origin(self, node: Node) -> Node:
        while node in self._same:
            node = self._same[node]
        return node

    def _aliases(self, node: Node) -> list[Node]:
        return [node, *(n for n in self._same if self._origin(n) is node)]

    def _map(self, value: Any) -> Any:
        """Arguments of an old node with the new nodes in place of the old ones."""
        return torch.fx.node.map_aggregate(value, lambda a: self._env[self._origin(a)] if isinstance(a, Node) else a)

    def _write(self, node: Node, op: torch._ops.OpOverload) -> Any:
        """Replaces an in-place operator: later nodes read its new value instead of its target, and new values of the
        target's bases."""
        if is_custom_mutation(op):
            return self._write_custom(node, op)
        if list(mutated_arguments(op)) != [0]:
            raise NeedsRetracingError(f"{op} writes to several arguments")
        target = self._origin(node.args[0])
        value = self._store(node, target, lambda: self._new_value(node, op, target))
        self._same[node] = target
        return value

    def _write_custom(self, node: Node, op: torch._ops.OpOverload) -> Any:
        """Replaces a custom operator that writes to arguments and returns something else.

        As in PyTorch's own functionalisation, the call becomes one of `auto_functionalized_v2`, which returns the
        results and then the new values.
        """
        arguments = bound_arguments(op, node.args, node.kwargs)
        written = {name: arguments.pop(name) for name in mutated_names(op)}
        targets = {name: self._origin(target) for name, target in written.items() if target is not None}
        if len(set(targets.values())) != len(targets):
            raise NeedsRetracingError(f"{op} writes to one tensor twice")
        kwargs = dict(self._map(arguments))
        places = {name: list(targets).index(name) if name in targets else None for name in written}
        kwargs.update({f"_{name}_base_index": place for name, place in places.items()})
        kwargs["_all_bases"] = [self._env[target] for target in targets.values()]
        new = self._graph.call_function(torch.ops.higher_order.auto_functionalized_v2, (op,), kwargs)
        results = node.meta["val"] if len(op._schema.returns) > 1 else (node.meta.get("val"),)
        new.meta = {**self._meta, "val": (*results, *(value_of(base) for base in kwargs["_all_bases"]))}
        for place, target in enumerate(targets.values(), len(results)):
            self._store(node, target, partial(self._getitem, new, place))
        returned = tuple(self._getitem(new, i) for i in range(len(op._schema.returns)))
        return returned if len(returned) > 1 else returned[0] if returned else None

    def _store(self, node: Node, target: Node, compute: Callable[[], Any]) -> Any:
        """Sets the value of `target` for the nodes after `node` to that of `compute`. If `target` is a view, also sets
        its elements in the tensor that it is a view of."""
        chain = self._chain(target)
        base, position = self._views.get(target, target), self._order[node]
        for other in [view for view, root in self._views.items() if root is base and view not in chain]:
            if self._is_used_after(other, position):
                raise NeedsRetracingError(f"{node.name} writes to memory that {other.name} shares")
        value = compute()
        # A view needs no scatter into a base that nothing reads afterwards.
        bases = [*chain[1:], base] if chain[-1] is not base else chain[1:]
        observed = any(parent.op == "placeholder" or self._is_used_after(parent, position) for parent in bases)
        self._env[target], before = value, self._env[target]
        if observed and value is not before:
            if chain[-1] is not base:
                raise NeedsRetracingError(f"{node.name} writes through a view that has no inverse")
            for view, parent in pairwise(chain):
                self._env[parent] = self._scatter(view, parent)
        if base.op == "placeholder" and value is not before:
            self._written[base.name] = self._env[base]
        return value

    def _is_used_after(self, node: Node, position: float) -> bool:
        return any(self._order.get(user, 0) > position for same in self._aliases(node) for user in same.users)

    def _new_value(self, node: Node, op: torch._ops.OpOverload, target: Node) -> Any:
        """Returns the value that an in-place operator writes to its target."""
        old = value_of(self._env[target])
        args, kwargs = self._map(node.args), self._map(node.kwargs)
        if op is aten.copy_.default:
            return self._value_of_copy(args[1], old)
        if op is aten.fill_diagonal_.default and all(isinstance(size, int) for size in old.shape):
            return self._decomposed(op, fill_diagonal, args, kwargs)
        functional = functional_form(op)
        if functional is None:
            raise NeedsRetracingError(f"{op} has no functional form")
        if self._keeps(node, functional):
            value = self._emit(functional, args, kwargs, self._evaluate(functional, args, kwargs))
        else:
            value = self._apply(functional, args, kwargs)
        return value if value_of(value).dtype == old.dtype else self._cast(value, old.dtype)

    def _keeps(self, node: Node, functional: torch._ops.OpOverload) -> bool:
        """Whether the in-place call `node`, as a call of its form `functional`, is kept instead of decomposed."""
        if self._options.keep is None:
            return False
        target, node.target = node.target, functional
        try:
            return self._options.keep(node)
        finally:
            node.target = target

    def _apply(self, op: torch._ops.OpOverload, args: tuple, kwargs: dict | None = None) -> Any:
        """Adds a call, decomposed if need be."""
        kwargs = kwargs or {}
        decomposition = decomposition_of(op, self._options.preserved)
        if decomposition is None:
            return self._emit(op, args, kwargs, self._evaluate(op, args, kwargs))
        return self._decomposed(op, decomposition, args, kwargs)

    def _decomposed(self, op: torch._ops.OpOverload, decomposition: Callable, args: tuple, kwargs: dict) -> Any:
        fake_args, fake_kwargs = self._to_values((args, kwargs))
        with self._fake_mode:
            result = self._recorder.run(op, decomposition, fake_args, fake_kwargs)
        nodes = pytree.tree_map(self._to_node, result)
        self._tensor_nodes.clear()
        return nodes

    def _chain(self, node: Node) -> list[Node]:
        """A view, the tensor that it is a view of, and so on to the tensor that owns the memory."""
        chain = [node]
        while chain[-1] in self._parents:
            chain.append(self._origin(self._parents[chain[-1]][0]))
        return chain

    def _scatter(self, view: Node, parent: Node) -> Any:
        """The value of `parent` after its view `view` has been written to."""
        _, op, args = self._parents[view]
        value, old = self._env[view], self._env[parent]
        if op is aten.slice.Tensor:
            return self._apply(aten.slice_scatter.default, (old, value, *args))
        if op is aten.select.int:
            return self._apply(aten.select_scatter.default, (old, value, *args))
        if op is aten.unsqueeze.default:
            return self._apply(aten.squeeze.dims, (value, [args[0]]))
        if op in (aten.transpose.int, aten.t.default):
            return self._apply(op, (value, *args))
        if op is aten.permute.default:
            places = [dim % len(args[0]) for dim in args[0]]
            return self._apply(op, (value, sorted(range(len(places)), key=places.__getitem__)))
        if op is aten.diagonal.default:
            return self._apply(aten.diagonal_scatter.default, (old, value, *args))
        if op in _RESHAPES:
            return self._apply(aten.view.default, (value, self._to_node_list(value_of(old).shape)))
        raise NeedsRetracingError(f"{view.name} is written to, and there is no inverse of {op}")

    def _value_of_copy(self, source: Any, old: torch.Tensor) -> Any:
        value = source
        if isinstance(source, (int, float, bool)):
            fake = self._evaluate(aten.full_like.default, (old, source), {})
            return self._emit(aten.full.default, (self._to_node_list(old.shape), source), {"dtype": old.dtype}, fake)
        if value_of(value).dtype != old.dtype:
            value = self._cast(value, old.dtype)
        if not are_same_sizes(value_of(value).shape, old.shape):
            args = (value, self._to_node_list(old.shape))
            value = self._emit(aten.expand.default, args, {}, self._evaluate(aten.expand_copy.default, args, {}))
        return value

    def _to_node_list(self, shape: torch.Size) -> list[Any]:
        """The sizes of a shape, with nodes for symbolic sizes."""
        return [self._to_node(size) for size in shape]
