# SPDX-License-Identifier: BSD-3-Clause
"""Leaves out what nobody reads: of the last block of an encoder whose class token alone is read, of the logits of all
tokens but the last one."""

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

from sdk.backends.xnnpack.operators.operator import argument, is_static
from sdk.exir.dialects._ops import ops as exir_ops

_SLICE = exir_ops.edge.aten.slice_copy.Tensor
_PARTS = frozenset({"aten.slice_copy.Tensor", "aten.select_copy.int"})
_MOVES = frozenset({"aten.view_copy.default", "aten.unsqueeze_copy.default", "aten.squeeze_copy.dims"})
"""Calls whose results have their operand's elements in the same order, under another shape."""
_COPIES = frozenset({"aten.clone.default", "aten.alias_copy.default", "dim_order_ops._clone_dim_order.default"})


@dataclass(frozen=True)
class _Range:
    """A part of a dimension, of static size."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class _Rule:
    """What a call has to read for some places of a dimension of its result: by the positions of its arguments, the
    dimensions of these to take the same places of. Other arguments are read as they are."""

    dims: dict[int, int]
    computes: bool = True
    """Whether it is worth doing for fewer places: what only moves elements, or does one operation with each, is not by
    itself, and may be a part of what XNNPACK computes at once with the call before it."""


def skip_unread_rows(program: ExportedProgram) -> None:
    """Moves slices and selections in front of calls that compute each place of the sliced dimension by itself, if
    nothing else reads their results. Edits the graph of `program`.

    Linear layers, norms, softmax, attention (its queries), and what lies between them, on tensors of static sizes; not
    on quantised ones, whose integers begin and end at certain calls.
    """
    # Those in front of which there is more to move for certain are marked, so that long chains are walked once.
    pending = {node: False for node in program.graph.nodes if _name(node) in _PARTS}
    while pending:
        _move(program.graph, *pending.popitem(), pending)
    program.graph_module.recompile()


def _move(graph: Graph, node: Node, is_worth_it: bool, pending: dict[Node, bool]) -> None:
    """Moves a call that takes a part of a dimension in front of the one whose result it reads, if that helps. Adds what
    takes the parts now to `pending`, and removes what is gone."""
    operand: Any = node.args[0]
    shape = operand.meta["val"].shape
    dim = argument(node, 1) % len(shape)
    part = _part_of(node, shape[dim])
    if part is None or part.size in (0, shape[dim]) or not (is_worth_it or _is_worth_it(operand, dim)):
        return
    rule = _rule_of(operand, dim)
    assert rule is not None
    call = operand.args[0] if _name(operand) == "getitem" else operand
    wanted = {position: (call.args[position], of) for position, of in rule.dims.items()}
    slices = {key: _slice(graph, *key, part, node) for key in wanted.values()}
    args = [slices[wanted[i]] if i in wanted else value for i, value in enumerate(call.args)]
    if _name(call) == "aten.view_copy.default":
        args[1] = [part.size if i == dim else size for i, size in enumerate(shape)]
    with graph.inserting_before(node):
        made = _call(graph, call.target, tuple(args), call, call.kwargs)
        if call is not operand:
            made = _call(graph, operand.target, (made, operand.args[1]), operand)
        if _name(node) == "aten.select_copy.int":
            made = _call(graph, node.target, (made, dim, 0), node)
    node.replace_all_uses_with(made)
    for unread in dict.fromkeys((node, operand, call)):
        graph.erase_node(unread)
        pending.pop(unread, None)
    pending.update(dict.fromkeys(slices.values(), not rule.computes and len(slices) == 1))


def _part_of(node: Node, size: Any) -> _Range | None:
    if not is_static((size,)):
        return None
    if _name(node) == "aten.select_copy.int":
        index = argument(node, 2)
        return _Range(index % size, index % size + 1) if isinstance(index, int) else None
    start, end, step = (argument(node, i) for i in (2, 3, 4))
    if step not in (None, 1) or not all(isinstance(bound, int | None) for bound in (start, end)):
        return None
    places = range(size)[start:end]
    return _Range(places.start, places.stop)


def _is_worth_it(node: Node, dim: int) -> bool:
    """Whether the only reader of a call wants a part of this dimension, and less is computed for that."""
    pending = [(node, dim)]
    while pending:
        call, dim = pending.pop()
        rule = _rule_of(call, dim)
        if rule is None:
            continue
        if rule.computes:
            return True
        pending += [(call.args[position], of) for position, of in rule.dims.items()]
    return False


def _slice(graph: Graph, node: Node, dim: int, part: _Range, reader: Node) -> Node:
    args = (node, dim, part.start, part.end)
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
    mode: Any = detect_fake_mode(values)
    with mode or nullcontext(), torch.no_grad():
        made.meta["val"] = target(*values[0], **values[1])
    return made


def _rule_of(node: Node, dim: int) -> _Rule | None:
    """None for calls whose result is read by several, or not computed place by place."""
    call = node.args[0] if _name(node) == "getitem" else node
    if call.op != "call_function" or len(node.users) != 1 or len(call.users) != 1:
        return None
    operands = [argument for argument in call.args if isinstance(argument, Node)]
    values = [n.meta.get("val") for n in (node, *operands)]
    if not all(isinstance(value, torch.Tensor) and is_static(value.shape) for value in values):
        return None
    if set(operands) != set(call.all_input_nodes):  # in lists, or among the keyword arguments
        return None
    rule = _dims_read(node, call, dim, _shape(node))
    if rule is None or any("dequantize" in _name(call.args[position]) for position in rule.dims):
        return None
    return rule


def _dims_read(node: Node, call: Node, dim: int, shape: tuple[int, ...]) -> _Rule | None:
    name, rank = _name(call), len(shape)
    if node is not call:
        normalized = argument(call, 1) if name == "aten.native_layer_norm.default" and node.args[1] == 0 else None
        return _Rule({0: dim}) if normalized is not None and dim < rank - len(normalized) else None
    if name in _COPIES:
        return _Rule({0: dim}, computes=False)
    if name in _MOVES:
        return _dim_of_view(call, shape, dim)
    if name == "aten.permute_copy.default":
        return _Rule({0: argument(call, 1)[dim] % rank}, computes=False)
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
        return _places_of_operands(call, dim, rank)
    return None


def _dim_of_view(call: Node, shape: tuple[int, ...], dim: int) -> _Rule | None:
    source = _shape(call.args[0])
    squeezed = argument(call, 1) if _name(call) == "aten.squeeze_copy.dims" else ()
    for i, size in enumerate(source):
        if size == shape[dim] and math.prod(source[i + 1 :]) == math.prod(shape[dim + 1 :]):
            # What is left of it may be of size 1.
            return None if i in (d % len(source) for d in squeezed) else _Rule({0: i}, computes=False)
    return None


def _queries(call: Node, dim: int, rank: int) -> _Rule | None:
    if dim != rank - 2 or argument(call, 4) or argument(call, 5):  # dropout; rows of a triangle know their number
        return None
    mask = argument(call, 3)
    if mask is None or len(_shape(mask)) < 2 or _shape(mask)[-2] == 1:
        return _Rule({0: dim})
    return _Rule({0: dim, 3: len(_shape(mask)) - 2})


def _places_of_operands(call: Node, dim: int, rank: int) -> _Rule | None:
    dims = {}
    for position, operand in enumerate(call.args):
        if isinstance(operand, Node):
            place = dim - rank + len(_shape(operand))  # shapes are aligned at their ends
            if place >= 0 and _shape(operand)[place] != 1:
                dims[position] = place
    return _Rule(dims, computes=False) if dims else None


def _shape(node: Any) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)


def _name(node: Any) -> str:
    return getattr(node.target, "__name__", "") if isinstance(node, Node) else ""
