# SPDX-License-Identifier: BSD-3-Clause
"""Adds core operators to an edge graph, given nodes or, from inside a decomposition, fake tensors.

Here views become copies, numbers where an operator takes a tensor become constants, memory formats become dim orders.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses import FakeTensor, FakeTensorMode
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

import sdk.exir.operator.dim_order_ops  # noqa: F401  (registers the operators)
from sdk.exir._to_edge._data_dependent import bound_sizes, corrected, has_bound
from sdk.exir._to_edge._recorder import NeedsRetracingError
from sdk.exir.dialects.edge._ops import to_edge_op
from sdk.exir.graph.symbols import SYM_TYPES, SymbolTable
from sdk.exir.operator.aten_rules import COPY_TO_VIEW, PROMOTING_OPS, VIEW_TO_COPY, aten
from sdk.exir.tensor import dim_order_of

_SYMBOL_KINDS = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
Number = int | float | bool | complex
_COMPARISONS = {aten.eq.Scalar: aten.eq.Tensor, aten.ne.Scalar: aten.ne.Tensor}

ConstantSink = Callable[[Graph, torch.Tensor], Node]
"""Adds a constant to the program and returns its node."""


@dataclass
class EdgeOptions:
    """Options of lowering: `preserved` operators are not decomposed, nor are calls of `candidates` for which `keep` is
    true; `dim_order` replaces memory formats."""

    preserved: frozenset[torch._ops.OpOverload] = frozenset()
    keep: Callable[[Node], bool] | None = None
    candidates: frozenset[torch._ops.OpOverload] = frozenset()
    dim_order: bool = True


class EdgeEmitter:
    """Builds `graph`. Nodes get the metadata in `_meta`, which belongs to the operator being lowered."""

    def __init__(self, fake_mode: FakeTensorMode, options: EdgeOptions, constants: ConstantSink) -> None:
        self._fake_mode = fake_mode
        self._options = options
        self._constants = constants
        self._graph = Graph()
        self._symbols = SymbolTable(self._graph)
        self._meta: dict[str, Any] = {}
        self._tensor_nodes: dict[int, tuple[torch.Tensor, Any]] = {}

    # --------------------------------------------------------------------------------------------------------

    def _record(self, op: torch._ops.OpOverload, args: tuple, kwargs: dict) -> Any:
        """Called by the recorder with fake tensors; returns the fake result."""
        result = self._evaluate(VIEW_TO_COPY.get(op, op), args, kwargs)
        node_args, node_kwargs = pytree.tree_map(self._to_node, (args, kwargs))
        node = self._emit(op, node_args, node_kwargs, result)
        if isinstance(result, torch.Tensor):
            self._tensor_nodes[id(result)] = (result, node)
        elif isinstance(result, (tuple, list)):
            for i, item in enumerate(result):
                if isinstance(item, torch.Tensor):
                    self._tensor_nodes[id(item)] = (item, (node, i))
        return result

    def _keeps_inner(self, op: torch._ops.OpOverload, args: tuple, kwargs: dict) -> bool:
        """Called by the recorder: whether a call inside a decomposition stays whole. `keep` decides on a temporary node
        of the call, which is removed from the graph afterwards."""
        assert self._options.keep is not None
        node = self._graph.call_function(op, *pytree.tree_map(self._to_node, (args, kwargs)))
        node.meta = {**self._meta, "val": self._evaluate(op, args, kwargs)}
        try:
            # Partitioners compute with constants, which are fake tensors while the recorder's mode is active.
            with _disable_current_modes():
                return self._options.keep(node)
        finally:
            self._graph.erase_node(node)

    def _alias(self, tensor: torch.Tensor) -> torch.Tensor:
        """Called by the recorder: another fake tensor for the node of `tensor`."""
        self._to_node(tensor)  # Create the node of a constant when it is first used.
        with torch.no_grad(), self._fake_mode:
            other = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
        self._tensor_nodes[id(other)] = (other, self._tensor_nodes[id(tensor)][1])
        return other

    def _emit(self, op: torch._ops.OpOverload, args: tuple, kwargs: dict, val: Any) -> Node:
        op = VIEW_TO_COPY.get(op, op)
        if any(isinstance(argument, complex) for argument in args):
            op, args, kwargs = self._with_complex_tensor(op, args, kwargs, val)
        args, kwargs = self._lift_numbers(op, args, kwargs)
        if op in PROMOTING_OPS:
            args = self._promote(args)
        elif op is aten.cat.default:
            args = ([a if value_of(a).dtype == val.dtype else self._cast(a, val.dtype) for a in args[0]], *args[1:])
        elif op is aten.view_copy.default:
            args = (args[0], _with_inferred_size(args[1]))
        if self._options.dim_order:
            op, args, kwargs = self._to_dim_order(op, args, kwargs, val)
        target: Any = op
        if op is not aten.sym_size.int:
            target = to_edge_op(op)
        if op in (aten._local_scalar_dense.default, aten._assert_scalar.default):
            target = op
        if has_bound(op):
            fake_args, fake_kwargs = torch.fx.node.map_aggregate((tuple(args), kwargs), value_of)
            val = corrected(op, fake_args, fake_kwargs, val)
            bound_sizes(op, fake_args, fake_kwargs, val)
        new = self._graph.call_function(target, tuple(args), kwargs)
        new.meta = {**self._meta, "val": val}
        for leaf in pytree.tree_leaves(val):
            self._symbols.add(new, leaf)
        return new

    def _with_complex_tensor(
        self, op: torch._ops.OpOverload, args: tuple, kwargs: dict, val: Any
    ) -> tuple[torch._ops.OpOverload, tuple, dict]:
        """Returns the same call without a complex Scalar, because programs do not have complex Scalars."""
        if op in _COMPARISONS:
            return _COMPARISONS[op], args, kwargs
        if op not in (aten.full.default, aten.scalar_tensor.default):
            return op, args, kwargs
        shape, number = args if op is aten.full.default else ((), *args)
        with unset_fake_temporarily():
            constant = self._constants(self._graph, torch.tensor(number, dtype=val.dtype))
        return aten.expand_copy.default, (constant, list(shape)), {}

    def _lift_numbers(self, op: torch._ops.OpOverload, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Turns numbers where the schema expects a tensor into constants of the dtype that the operation would use."""
        new_args = list(args)
        for i, (argument, parameter) in enumerate(zip(args, op._schema.arguments, strict=False)):
            if isinstance(argument, (int, float, bool, complex)) and _is_tensor_type(parameter.type):
                new_args[i] = self._number(op, argument, args)
            elif isinstance(argument, Node) and _is_tensor_type(parameter.type):
                kind = _SYMBOL_KINDS.get(type(value_of(argument)))
                if kind is not None:
                    options = {"dtype": self._number_dtype(op, kind(1), args)}
                    val = self._evaluate(aten.scalar_tensor.default, (1,), options)
                    new_args[i] = self._emit(aten.scalar_tensor.default, (argument,), options, val)
        return tuple(new_args), kwargs

    def _number(self, op: torch._ops.OpOverload, number: Number, args: tuple) -> Node:
        with unset_fake_temporarily():
            # Python's floats are float64.
            value = torch.tensor(number, dtype=torch.float64 if isinstance(number, float) else None)
            return self._constants(self._graph, value.to(self._number_dtype(op, number, args)))

    def _number_dtype(self, op: torch._ops.OpOverload, number: Number, args: tuple) -> torch.dtype:
        """The dtype of a number among the tensors of a call."""
        tensors = [value_of(a) for a in args if isinstance(a, Node) and isinstance(value_of(a), torch.Tensor)]
        with unset_fake_temporarily():
            if op not in PROMOTING_OPS or not tensors:
                is_double = isinstance(number, float) and any(tensor.dtype == torch.float64 for tensor in tensors)
                return torch.float64 if is_double else torch.tensor(number).dtype
            dtype = torch.result_type(torch.empty((1,), dtype=tensors[0].dtype), number)
            if op is aten.div.Tensor and not (dtype.is_floating_point or dtype.is_complex):
                dtype = torch.get_default_dtype()
            return dtype

    def _promote(self, args: tuple) -> tuple:
        values = [value_of(a) for a in args[:2]]
        if not all(isinstance(v, torch.Tensor) for v in values) or values[0].dtype == values[1].dtype:
            return args
        with unset_fake_temporarily():
            dtype = torch.result_type(*(torch.empty((1,) if v.dim() else (), dtype=v.dtype) for v in values))
        return (
            *(a if v.dtype == dtype else self._cast(a, dtype) for a, v in zip(args[:2], values, strict=True)),
            *args[2:],
        )

    def _cast(self, node: Node, dtype: torch.dtype) -> Node:
        kwargs = {"dtype": dtype}
        return self._emit(
            aten._to_copy.default, (node,), kwargs, self._evaluate(aten._to_copy.default, (node,), kwargs)
        )

    def _to_dim_order(self, op: torch._ops.OpOverload, args: tuple, kwargs: dict, val: Any) -> tuple[Any, tuple, dict]:
        names = {
            aten._to_copy.default: "_to_dim_order_copy",
            aten.clone.default: "_clone_dim_order",
            aten.empty.memory_format: "_empty_dim_order",
            aten.empty_permuted.default: "_empty_dim_order",
        }
        if op not in names:
            return op, args, kwargs
        if op is aten.empty_permuted.default:
            args = args[:1]

        kwargs = {k: v for k, v in kwargs.items() if k != "memory_format"}
        kwargs["dim_order"] = list(_dim_order(val))
        return getattr(torch.ops.dim_order_ops, names[op]).default, args, kwargs

    # ----------------------------------------------------------------------------------------------------------

    def _evaluate(self, op: torch._ops.OpOverload, args: tuple, kwargs: dict) -> Any:
        """The fake result of a call, given nodes or fake tensors."""
        fake_args, fake_kwargs = self._to_values((args, kwargs))
        # C++ functions that take plain sizes, such as those of constant_pad_nd and upsample_bilinear2d.vec, turn
        # symbolic sizes into numbers. PyTorch also registers Python functions for them, which keep symbols.
        is_symbolic = any(map(_is_symbolic, pytree.tree_leaves((fake_args, fake_kwargs))))
        functions = enable_python_dispatcher() if is_symbolic else contextlib.nullcontext()
        with torch.no_grad(), self._fake_mode, functions:
            if op in COPY_TO_VIEW:
                # Sizes are those of the view, which is also defined for sizes that depend on data.
                view = COPY_TO_VIEW[op](*fake_args, **fake_kwargs)
                return pytree.tree_map_only(torch.Tensor, self._contiguous, view)
            return op(*fake_args, **fake_kwargs)

    def _contiguous(self, tensor: torch.Tensor) -> torch.Tensor:
        with self._fake_mode:
            return torch.empty(tensor.shape, dtype=tensor.dtype)

    def _getitem(self, node: Node, index: int) -> Node:
        for user in node.users:
            if user.target is operator.getitem and user.args[1] == index:
                return user
        new = self._graph.call_function(operator.getitem, (node, index))
        new.meta = {**{k: v for k, v in node.meta.items() if k != "val"}, "val": node.meta["val"][index]}
        self._symbols.add(new, new.meta["val"])
        return new

    def _to_values(self, args: Any) -> Any:
        def fake_of(arg: Any) -> Any:
            if not isinstance(arg, Node):
                return arg
            val = arg.meta["val"]
            if isinstance(val, torch.Tensor):
                known = self._tensor_nodes.get(id(val))
                if known is not None and known[1] is not arg:
                    with torch.no_grad(), self._fake_mode:
                        val = torch.empty_strided(val.shape, val.stride(), dtype=val.dtype)
                self._tensor_nodes[id(val)] = (val, arg)
            return val

        return torch.fx.node.map_aggregate(args, fake_of)

    def _to_node(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            known = self._tensor_nodes.get(id(value))
            if known is None:
                return self._unknown_tensor(value)
            return self._getitem(*known[1]) if isinstance(known[1], tuple) else known[1]
        if isinstance(value, SYM_TYPES):
            try:
                return self._symbols.node_for(value)
            except KeyError as error:
                raise NeedsRetracingError(str(error)) from error
        return value

    def _unknown_tensor(self, value: torch.Tensor) -> Node:
        constant = value.constant if isinstance(value, FakeTensor) else value
        if constant is None:
            raise NeedsRetracingError("a decomposition uses a tensor that no operator of the graph made")
        with unset_fake_temporarily():
            node = self._constants(self._graph, constant.clone())
        self._tensor_nodes[id(value)] = (value, node)
        return node


def _with_inferred_size(shape: Any) -> Any:
    """The shape of a view with -1 for its only computed size: no node need compute it, and delegates take the view."""
    computed = [position for position, size in enumerate(shape) if isinstance(size, Node)]
    if len(computed) != 1 or any(size in (0, -1) for size in shape if not isinstance(size, Node)):
        return shape
    return [*shape[: computed[0]], -1, *shape[computed[0] + 1 :]]


def value_of(arg: Any) -> Any:
    return arg.meta.get("val") if isinstance(arg, Node) else arg


def _dim_order(val: torch.Tensor) -> tuple[int, ...]:
    # Sizes that depend on data cannot be compared; the strides alone say the order.
    if not free_unbacked_symbols(val) and val.is_contiguous():
        return tuple(range(val.dim()))
    return dim_order_of(val)


def _is_tensor_type(jit_type: Any) -> bool:
    kind = jit_type.kind()
    return kind == "TensorType" or (kind == "OptionalType" and jit_type.getElementType().kind() == "TensorType")


def _is_symbolic(value: Any) -> bool:
    """Whether it is a symbolic number, or a tensor with symbolic sizes."""
    return isinstance(value, SYM_TYPES) or (isinstance(value, torch.Tensor) and value._has_symbolic_sizes_strides)
