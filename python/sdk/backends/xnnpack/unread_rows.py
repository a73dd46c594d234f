# SPDX-License-Identifier: BSD-3-Clause
"""Avoids computing rows that are not read: those of an encoder's last block if only the class token is read, or the
logits of all tokens but the last one."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.export import ExportedProgram
from torch.fx import Graph, Node
from torch.fx.node import map_aggregate
from torch.utils._pytree import tree_map_only

from sdk.backends.graph.names import argument, name_of
from sdk.backends.xnnpack.operators.operator import is_static
from sdk.backends.xnnpack.operators.recurrent import fused_cell
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.sym_util import are_same_sizes

_SLICE = exir_ops.edge.aten.slice_copy.Tensor
_PARTS = frozenset({"aten.slice_copy.Tensor", "aten.select_copy.int"})
_EXPAND = "aten.expand_copy.default"
_MOVES = frozenset({"aten.view_copy.default", "aten.unsqueeze_copy.default", "aten.squeeze_copy.dims"})
"""Calls that change only the shape, not the order of the elements."""
_COPIES = frozenset({"aten.clone.default", "aten.alias_copy.default", "dim_order_ops._clone_dim_order.default"})


@dataclass(frozen=True)
class _Rule:
    """How a slice of a result along one dimension becomes slices of the operands. `dims` maps positions of arguments to
    the dimension to slice. Other arguments do not change."""

    dims: dict[int, int]
    computes: bool = True
    """Whether computing fewer elements saves time. Calls that only move elements save nothing by themselves;
    elementwise calls may be fused by XNNPACK with the call before them."""


def skip_unread_rows(program: ExportedProgram) -> None:
    """Moves slices and selections before the calls whose results they read, if these calls compute the sliced dimension
    elementwise and have no other readers. Edits the graph of `program`.

    Applies to linear layers, norms, softmax, attention (its queries) and the operators between them, on tensors with
    static sizes. Does not apply to quantised tensors, because a slice would separate a call from its dequantize.
    """
    # In graph order, because a slice may read another slice.
    pending = dict.fromkeys(node for node in reversed(program.graph.nodes) if name_of(node) in _PARTS)
    worth: set[tuple[Node, int]] = set()
    while pending:
        _move(program.graph, pending.popitem()[0], pending, worth)
    program.graph_module.recompile()


def _move(graph: Graph, node: Node, pending: dict[Node, None], worth: set[tuple[Node, int]]) -> None:
    """Moves a slice before the call whose result it reads, if that saves time. Adds the new slices to `pending` and
    removes nodes without readers. `worth` is the cache of `_is_worth_it`."""
    operand: Any = node.args[0]
    shape = operand.meta["val"].shape
    dim = argument(node, 1) % len(shape)
    part = _part_of(node, shape[dim])
    if part is None or len(part) in (0, shape[dim]) or not _is_worth_it(operand, dim, worth):
        return
    rule = _rule_of(operand, dim)
    assert rule is not None
    call = operand.args[0] if name_of(operand) == "getitem" else operand
    wanted = {position: (call.args[position], of) for position, of in rule.dims.items()}
    slices = {key: _slice(graph, *key, part, node) for key in wanted.values()}
    args = [slices[wanted[i]] if i in wanted else value for i, value in enumerate(call.args)]
    if name_of(call) in ("aten.view_copy.default", _EXPAND):
        args[1] = [len(part) if i == dim else size for i, size in enumerate(shape)]
    with graph.inserting_before(node):
        made = _call(graph, call.target, tuple(args), call, call.kwargs)
        if call is not operand:
            made = _call(graph, operand.target, (made, operand.args[1]), operand)
        if name_of(node) == "aten.select_copy.int":
            made = _call(graph, node.target, (made, dim, 0), node)
    node.replace_all_uses_with(made)
    for unread in dict.fromkeys((node, operand, call)):
        if not unread.users:
            graph.erase_node(unread)
            pending.pop(unread, None)
    pending.update(dict.fromkeys(slices.values()))


def _part_of(node: Node, size: Any) -> range | None:
    """The indices that a call selects, if they are contiguous and their number is static; else None."""
    if not is_static((size,)):
        return None
    if name_of(node) == "aten.select_copy.int":
        index = argument(node, 2)
        return range(index % size, index % size + 1) if isinstance(index, int) else None
    start, end, step = (argument(node, i) for i in (2, 3, 4))
    if step not in (None, 1) or not all(isinstance(bound, int | None) for bound in (start, end)):
        return None
    return range(size)[start:end]


def _is_worth_it(node: Node, dim: int, worth: set[tuple[Node, int]]) -> bool:
    """Whether slicing the result of `node` along `dim` before it is computed saves time, in this call or in one before
    it. Successful paths are added to `worth`, so that long chains are traversed only once."""
    paths: list[Any] = [(node, dim, None)]  # each with the path that leads to it
    while paths:
        path = paths.pop()
        call, dim, _ = path
        rule = _rule_of(call, dim)
        if rule is None:
            continue
        if rule.computes or (call, dim) in worth:
            while path is not None:
                worth.add(path[:2])
                path = path[2]
            return True
        operands = dict.fromkeys((call.args[position], of) for position, of in rule.dims.items())
        paths += [(*operand, path) for operand in operands]
    return False


def _slice(graph: Graph, node: Node, dim: int, part: range, reader: Node) -> Node:
    args = (node, dim, part.start, part.stop)
    behind = next(n for n in graph.nodes if n.op != "placeholder").prev if node.op == "placeholder" else node
    for user in node.users:
        if user.target is _SLICE and user.args == args and not user.kwargs:
            behind.append(user)
            return user
    with graph.inserting_after(behind):
        return _call(graph, _SLICE, args, reader)


def _call(graph: Graph, target: Any, args: tuple[Any, ...], like: Node, kwargs: Any = None) -> Node:
    made = graph.call_function(target, args, dict(kwargs or {}))
    made.meta = {key: value for key, value in like.meta.items() if key not in ("val", "tensor_meta", "spec")}
    values = map_aggregate((made.args, made.kwargs), lambda a: a.meta["val"] if isinstance(a, Node) else a)
    with detect_fake_mode(values) or nullcontext(), torch.no_grad():
        # The sliced result is contiguous, so the new result must be, too.
        result = target(*values[0], **values[1])
        made.meta["val"] = tree_map_only(torch.Tensor, lambda x: x.clone(memory_format=torch.contiguous_format), result)
    return made


def _rule_of(node: Node, dim: int) -> _Rule | None:
    """The rule for a call; None if it has several readers, or does not compute the dimension elementwise."""
    call = node.args[0] if name_of(node) == "getitem" else node
    # An expand may have several readers, because each can repeat the tensor itself; attention does so anyway.
    is_read_once = name_of(call) == _EXPAND or len(call.users) == len(node.users) == 1
    if call.op != "call_function" or not is_read_once:
        return None
    operands = [argument for argument in call.args if isinstance(argument, Node)]
    values = [n.meta.get("val") for n in (node, *operands)]
    if not all(isinstance(value, torch.Tensor) and is_static(value.shape) for value in values):
        return None
    if set(operands) != set(call.all_input_nodes):  # some are in lists or keyword arguments
        return None
    rule = _dims_read(node, call, dim, _shape(node))
    if rule is None or any("dequantize" in name_of(call.args[position]) for position in rule.dims):
        return None
    return rule


def _dims_read(node: Node, call: Node, dim: int, shape: tuple[int, ...]) -> _Rule | None:
    name, rank = name_of(call), len(shape)
    if node is not call:
        normalized = argument(call, 1) if name == "aten.native_layer_norm.default" and node.args[1] == 0 else None
        return _Rule({0: dim}) if normalized is not None and dim < rank - len(normalized) else None
    if name in _COPIES:
        return _Rule({0: dim}, computes=False)
    if name in _MOVES:
        return _dim_of_view(call, shape, dim)
    if name == "aten.permute_copy.default":
        return _Rule({0: argument(call, 1)[dim] % rank}, computes=False)
    if name == _EXPAND:
        return _Rule(_places_of_operands(call, dim, rank))
    if name == "aten.select_copy.int":
        return _Rule({0: dim + (dim >= argument(call, 1) % (rank + 1))}, computes=False)
    if name == "aten.linear.default":
        return _Rule({0: dim}) if dim < rank - 1 else None
    if name == "aten.addmm.default":
        return _Rule({1: dim}) if dim == 0 and len(_shape(call.args[0])) == 1 else None
    if name in ("aten.mm.default", "aten.bmm.default"):
        return _Rule({0: dim}) if dim == rank - 2 else None
    if name in ("aten._softmax.default", "aten.softmax.int"):
        return _Rule({0: dim}) if dim != argument(call, 1) % rank else None
    if name == "aten.scaled_dot_product_attention.default":
        return _queries(call, dim, rank)
    if torch.Tag.pointwise in getattr(getattr(call.target, "_op", None), "tags", ()):
        dims = _places_of_operands(call, dim, rank)
        # A recurrent cell becomes one step only if no slice is inside it.
        return _Rule(dims, computes=False) if dims and fused_cell(call) is None else None
    return None


def _dim_of_view(call: Node, shape: tuple[int, ...], dim: int) -> _Rule | None:
    source = _shape(call.args[0])
    squeezed = argument(call, 1) if name_of(call) == "aten.squeeze_copy.dims" else ()
    for i, size in enumerate(source):
        if are_same_sizes((size, math.prod(source[i + 1 :])), (shape[dim], math.prod(shape[dim + 1 :]))):
            # After slicing, the dimension may have size 1, and squeeze would remove it.
            return None if i in (d % len(source) for d in squeezed) else _Rule({0: i}, computes=False)
    return None


def _queries(call: Node, dim: int, rank: int) -> _Rule | None:
    # with dropout or a causal mask, a row's result depends on its index
    if dim != rank - 2 or argument(call, 4) or argument(call, 5):
        return None
    mask = argument(call, 3)
    if mask is None or len(_shape(mask)) < 2 or _shape(mask)[-2] == 1:
        return _Rule({0: dim})
    return _Rule({0: dim, 3: len(_shape(mask)) - 2})


def _places_of_operands(call: Node, dim: int, rank: int) -> dict[int, int]:
    """For each operand that is not broadcast along `dim`, the dimension that corresponds to it."""
    dims = {}
    for position, operand in enumerate(call.args):
        if isinstance(operand, Node):
            place = dim - rank + len(_shape(operand))  # shapes are aligned at their ends
            if place >= 0 and _shape(operand)[place] != 1:
                dims[position] = place
    return dims


def _shape(node: Any) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)
