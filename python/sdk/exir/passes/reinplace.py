# SPDX-License-Identifier: BSD-3-Clause
"""Replaces operators by in-place forms if nothing else reads the argument that they overwrite.

The memory planner already places results on operands whose lifetime ends, and on buffers (`_in_place.py`). This pass
shows that in the graph, for kernels with a separate in-place form, such as `index_put_`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dialects.edge._ops import to_edge_op
from sdk.exir.operator.convert import unwrap_op_overload
from sdk.exir.passes.insert_write_back_for_buffers_pass import written_inputs

DEFAULT_INPLACEABLE_OPS: frozenset[Any] = frozenset({exir_ops.edge.aten.index_put.default})
"""Operators that `reinplace_pass` replaces by default."""

_VIEWS = frozenset({torch.ops.aten.view_copy.default})
"""Operators whose result may share memory with their argument after memory planning."""


def reinplace_pass(
    ep: ExportedProgram,
    ops_to_inplace: Iterable[Any] | None = None,
    inplace_overrides: Mapping[Any, Any] | None = None,
) -> ExportedProgram:
    """Replaces calls of operators by their in-place forms if the overwritten value is not read later.

    `ops_to_inplace` are edge operators (default: `DEFAULT_INPLACEABLE_OPS`). The in-place form of `name` is `name_`
    with the same arguments; `inplace_overrides` maps operators to others. Raises ValueError for an operator whose
    in-place form does not exist or does not fit. Changes `ep` and returns it.
    """
    overrides = dict(inplace_overrides or {})
    wanted = {*(DEFAULT_INPLACEABLE_OPS if ops_to_inplace is None else ops_to_inplace), *overrides}
    forms = {op: _checked(op, overrides[op]) if op in overrides else _in_place_form(op) for op in wanted}
    changed = False
    for module in ep.graph_module.modules():
        if isinstance(module, GraphModule):
            is_whole = module is ep.graph_module
            fixed = _inputs(ep) if is_whole else {n for n in module.graph.nodes if n.op == "placeholder"}
            changed |= _reinplace(module, forms, fixed, written_inputs(ep) if is_whole else {})
    if changed:
        ep.graph_module.recompile()
    return ep


def _reinplace(module: GraphModule, forms: dict[Any, Any], fixed: set[Node], written: dict[Node, Node]) -> bool:
    """`fixed` must keep their values, except those in `written`, which get a new value at the end of the graph."""
    order = {node: i for i, node in enumerate(module.graph.nodes)}
    replaced: set[Node] = set()
    for node in reversed(module.graph.nodes):
        form = forms.get(node.target) if node.op == "call_function" else None
        if form is None or not node.args or not isinstance(node.args[0], Node):
            continue
        target = node.args[0]
        sharing = set(_same_memory(target))
        twice = sum(a is target for a in torch.utils._pytree.tree_leaves((node.args, node.kwargs))) > 1
        read_later = any(order[user] > order[node] for shared in sharing for user in shared.users)
        same_tensor = _layout(node) == _layout(target)
        kept = sharing & fixed
        if kept == {target} and _becomes(node, written.get(target), replaced):
            kept = set()
        if not twice and not read_later and same_tensor and not kept:
            node.target = form
            replaced.add(node)
    return bool(replaced)


def _becomes(node: Node, value: Node | None, replaced: set[Node]) -> bool:
    """Whether `value` is the memory that `node` overwrites, perhaps after calls that overwrite its result."""
    made: Any = value
    while made is not node and made in replaced:
        made = made.args[0]
    return made is node


def _same_memory(node: Node) -> Iterator[Node]:
    """The node and all possible views of its memory."""
    root = node
    while _is_view(root):
        root = root.args[0]
    pending = [root]
    while pending:
        current = pending.pop()
        yield current
        pending += [user for user in current.users if _is_view(user)]


def _is_view(node: Node) -> bool:
    return node.op == "call_function" and getattr(node.target, "_op", node.target) in _VIEWS


def _layout(node: Node) -> Any:
    val = node.meta.get("val")
    return (list(val.shape), val.dtype, val.stride()) if isinstance(val, torch.Tensor) else None


def _inputs(ep: ExportedProgram) -> set[Node]:
    """Weights, constants, buffers and the caller's inputs."""
    names = {s.arg.name for s in ep.graph_signature.input_specs if s.kind != InputKind.TOKEN and hasattr(s.arg, "name")}
    return {n for n in ep.graph.nodes if (n.op == "placeholder" and n.name in names) or n.op == "get_attr"}


def _in_place_form(op: Any) -> Any:
    schema = unwrap_op_overload(op)._schema
    namespace, name = schema.name.split("::")
    packet = getattr(getattr(torch.ops, namespace), f"{name}_", None)
    for overload in packet.overloads() if packet is not None else ():
        candidate = getattr(packet, overload)
        if _fits(schema, candidate._schema):
            return to_edge_op(candidate)
    raise ValueError(
        f"{unwrap_op_overload(op)} has no in-place form: there is no overload of {namespace}::{name}_ with the same "
        "arguments. Leave it out of the operators to reinplace, or name its form in inplace_overrides."
    )


def _checked(op: Any, form: Any) -> Any:
    functional, in_place = unwrap_op_overload(op), unwrap_op_overload(form)
    if not _fits(functional._schema, in_place._schema) or not in_place._schema.name.startswith(
        f"{functional._schema.name}_"
    ):
        raise ValueError(
            f"{in_place._schema} is not the in-place form of {functional._schema}: that has the same arguments, "
            f"writes to the first, and is called {functional._schema.name}_."
        )
    return to_edge_op(in_place)


def _fits(functional: torch.FunctionSchema, in_place: torch.FunctionSchema) -> bool:
    ours, theirs = functional.arguments, in_place.arguments
    if len(ours) != len(theirs) or not theirs:
        return False
    writes = theirs[0].alias_info is not None and theirs[0].alias_info.is_write
    return writes and all(str(a.type) == str(b.type) for a, b in zip(ours, theirs, strict=True))
