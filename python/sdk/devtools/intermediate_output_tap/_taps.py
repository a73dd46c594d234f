# SPDX-License-Identifier: BSD-3-Clause
"""Turns values of a program into outputs before it is lowered, and replaces the marks afterwards."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from sdk.devtools.intermediate_output_tap import custom_ops_lib as _register  # noqa: F401, defines the operator
from sdk.devtools.intermediate_output_tap._reducers import STATS, StatReducer, get_reducer
from sdk.devtools.intermediate_output_tap._selectors import NodeSelector, modules_of, select_all_call_function
from sdk.devtools.intermediate_output_tap._spec import TapSpec
from sdk.exir import EdgeProgramManager

TapRule = tuple[NodeSelector, "str | StatReducer"]
"""A selector of values to tap, and the reducer to apply to them."""

_TAP = torch.ops.executorch_devtools.tap.Tensor


def is_tap_node(n: Node) -> bool:
    """Whether a node of a program in ATen or edge dialect marks a tapped value."""
    return n.op == "call_function" and (n.target is _TAP or getattr(n.target, "_op", None) is _TAP)


def find_tap_nodes(gm: GraphModule) -> list[Node]:
    """The nodes that mark tapped values."""
    return [node for node in gm.graph.nodes if is_tap_node(node)]


def tap_intermediate_outputs_(
    ep: ExportedProgram,
    rules: Sequence[TapRule] | TapRule | None = None,
    *,
    max_taps: int | None = None,
    error_on_empty: bool = True,
) -> tuple[ExportedProgram, list[TapSpec]]:
    """Changes a program so that it also returns the tensors that rules select, each by the first rule that does.

    By default all are tapped, with STATS; `max_taps` is the largest number of taps. Raises ValueError where there are
    no rules, and where none selects a tensor unless `error_on_empty` is false (then a warning).
    """
    if rules is None:
        listed: list[TapRule] = [(select_all_call_function(), STATS)]
    elif len(rules) == 2 and callable(rules[0]):
        listed = [cast("TapRule", rules)]
    else:
        listed = list(cast("Sequence[TapRule]", rules))
    if not listed:
        raise ValueError("expected at least one rule, found none")
    known = [(selector, get_reducer(reducer)) for selector, reducer in listed]
    taps: list[Node] = []
    specs: list[TapSpec] = []
    first = sum(spec.kind == OutputKind.USER_OUTPUT for spec in ep.graph_signature.output_specs)
    for node in list(ep.graph.nodes):
        if max_taps is not None and len(taps) >= max_taps:
            break
        if node.op != "call_function" or is_tap_node(node) or not isinstance(node.meta.get("val"), torch.Tensor):
            continue
        reducer = next((reducer for selector, reducer in known if selector(node)), None)
        if reducer is not None:
            taps.append(_tap(node, reducer))
            specs.append(_spec(node, reducer, first + len(specs)))
    if taps:
        _return_also(ep, taps)
        return ep, specs
    text = "no rule selects a tensor of the program"
    if error_on_empty:
        raise ValueError(f"{text}: check the rules, or pass error_on_empty=False")
    warnings.warn(text, UserWarning, stacklevel=2)
    return ep, []


def _tap(node: Node, reducer: StatReducer) -> Node:
    with node.graph.inserting_after(node):
        tap = node.graph.call_function(_TAP, (node, reducer.name))
    tap.meta.update(
        {key: node.meta[key] for key in ("from_node", "stack_trace", "nn_module_stack") if key in node.meta}
    )
    value = node.meta["val"]
    with value.fake_mode:
        tap.meta["val"] = reducer.eager(value).clone()
    return tap


def _spec(node: Node, reducer: StatReducer, index: int) -> TapSpec:
    path, name = next(reversed(modules_of(node).values()), (None, None))
    trace = node.meta.get("stack_trace")
    return TapSpec(node.name, str(node.target), index, reducer.name, reducer.fields, trace, path, name)


def _return_also(ep: ExportedProgram, taps: list[Node]) -> None:
    output = ep.graph.output_node()
    output.args = ((*output.args[0], *taps),)
    output.meta.pop("val", None)
    ep.graph_signature.output_specs += [
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(tap.name), None) for tap in taps
    ]
    (call,) = (entry.signature for entry in ep.module_call_graph if entry.fqn == "")
    assert call is not None
    before = pytree.tree_unflatten([0] * call.out_spec.num_leaves, call.out_spec)
    call.out_spec = pytree.tree_structure((*(before if isinstance(before, tuple) else (before,)), *([0] * len(taps))))
    # Leaves out names, because they change when the program is traced again.
    call.outputs += [TensorArgument("") for _ in taps]
    ep.graph_module.recompile()


def strip_taps_(edge_manager: EdgeProgramManager) -> None:
    """Replaces the marks in all methods by the operators of their reducers. Call it between `to_backend` (or
    `to_edge_transform_and_lower`) and `to_executorch`."""
    for name in edge_manager.methods:
        program = edge_manager.exported_program(name)
        if taps := find_tap_nodes(program.graph_module):
            _strip(program, taps)


def _strip(program: ExportedProgram, taps: list[Node]) -> None:
    graph = program.graph
    for tap in taps:
        source, name = tap.args
        with graph.inserting_before(tap):
            tap.replace_all_uses_with(get_reducer(str(name)).emit(graph, source))
        graph.erase_node(tap)
    program.graph_module.recompile()
    output = graph.output_node()
    output.meta.pop("val", None)
    for spec, node in zip(program.graph_signature.output_specs, output.args[0], strict=True):
        if isinstance(spec.arg, TensorArgument):
            spec.arg = TensorArgument(node.name)
