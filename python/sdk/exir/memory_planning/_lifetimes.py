# SPDX-License-Identifier: BSD-3-Clause
"""Finds the storage of a graph's tensors, and its lifetime: the first and the last node that need it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.export.exported_program import ConstantArgument
from torch.export.graph_signature import ExportGraphSignature, InputKind, OutputKind
from torch.fx import GraphModule, Node

from sdk.exir import memory
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.tensor import TensorSpec

_CONTROL_FLOW = ("cond", "map_impl", "scan", "while_loop")


def storage_spec(spec: TensorSpec) -> TensorSpec:
    """The spec that owns the memory: the base of a view or of the result of an operator that works in place."""
    while True:
        base = getattr(spec, "base", None) or spec.inplace_base
        if base is None or base is spec:
            return spec
        spec = base


def place_in_storage(spec: TensorSpec) -> tuple[TensorSpec, int]:
    """The spec that owns the memory, and the offset of a spec in it, in bytes."""
    offset = 0
    while True:
        view_of = getattr(spec, "base", None)
        base = view_of or spec.inplace_base
        if base is None or base is spec:
            return spec, offset
        offset += 0 if view_of is not None else spec.inplace_offset or 0
        spec = base


def filter_nodes(inputs: Iterable[Any]) -> Iterator[Node]:
    """The nodes among possibly nested arguments."""
    for item in inputs:
        if isinstance(item, Node):
            yield item
        elif isinstance(item, (list, tuple)):
            yield from filter_nodes(item)
        elif isinstance(item, dict):
            yield from filter_nodes(item.values())


def _flat_specs(value: Any) -> Iterator[TensorSpec]:
    if isinstance(value, TensorSpec):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat_specs(item)


def get_node_tensor_specs(node: Node) -> list[TensorSpec]:
    """The specs of the tensors that a node produces; for an output node, those of its arguments."""
    if node.op == "output":
        return [spec for arg in filter_nodes(node.args) for spec in get_node_tensor_specs(arg)]
    return list(_flat_specs(node.meta.get("spec")))


def _is_out_var_node(node: Node) -> bool:
    """Whether the node is an operator that writes its results to arguments which are `memory.alloc` nodes."""
    return node.op == "call_function" and any(
        arg.target is memory.alloc for arg in filter_nodes(node.kwargs.values()) if arg.op == "call_function"
    )


def _is_inplace_node(node: Node) -> bool:
    """Whether the node is an operator that writes to its first argument and returns it, such as `copy_`."""
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or not schema.arguments or not node.args:
        return False
    return (
        schema.name.split("::")[-1].endswith("_")
        and _is_written(schema.arguments[0])
        and isinstance(node.args[0], Node)
    )


def _is_written(argument: torch._C.Argument) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _do_user_inputs_exist(graph_signature: ExportGraphSignature | None) -> bool:
    """Whether the program has an input that is not a constant."""
    if graph_signature is None:
        return False
    return any(
        spec.kind == InputKind.USER_INPUT and not isinstance(spec.arg, ConstantArgument)
        for spec in graph_signature.input_specs
    )


def _mutated_placeholders(graph_signature: ExportGraphSignature | None) -> set[str]:
    """Names of the placeholders that the program writes to: their memory outlives a call."""
    if graph_signature is None:
        return set()
    written = {
        spec.target
        for spec in graph_signature.output_specs
        if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)
    }
    return {
        spec.arg.name
        for spec in graph_signature.input_specs
        if hasattr(spec.arg, "name")
        and (spec.target if spec.kind != InputKind.USER_INPUT else spec.arg.name) in written
    }


def _is_mutable_buffer(node: Node, graph_signature: ExportGraphSignature | None = None) -> bool:
    return (
        node.op == "placeholder"
        and _is_buffer(node, graph_signature)
        and node.name in _mutated_placeholders(graph_signature)
    )


def _is_buffer(node: Node, graph_signature: ExportGraphSignature | None) -> bool:
    return graph_signature is not None and node.name in graph_signature.inputs_to_buffers


def control_flow_branches(graph_module: GraphModule, node: Node) -> list[GraphModule]:
    """The graphs that a control flow node runs; none for any other node."""
    if node.op != "call_function" or getattr(node.target, "__name__", "") not in _CONTROL_FLOW:
        return []
    if not isinstance(node.target, torch._ops.HigherOrderOperator):
        return []
    return [
        getattr(graph_module, str(arg.target))
        for arg in node.args
        if isinstance(arg, Node)
        and arg.op == "get_attr"
        and isinstance(getattr(graph_module, str(arg.target)), GraphModule)
    ]


def collect_specs_from_nodes(
    nodes: Iterable[Node],
    graph_signature: ExportGraphSignature | None = None,
    ignore_graph_input: bool = False,
    ignore_graph_output: bool = False,
    ignore_mutable_buffers: bool = False,
    ignore_const: bool = True,
    ignore_out_var_node: bool = True,
    dedup: bool = True,
    do_assertion: bool = True,
    ignore_dynamic_unbound_tensor: bool = True,
) -> Iterator[TensorSpec]:
    """The specs of tensors that need their own memory, in graph order. Each `ignore_...` leaves a group out.

    `ignore_out_var_node` takes a result from its `memory.alloc` node instead of from the operator, whose spec it
    shares.
    """
    nodes = list(nodes)
    buffers = graph_signature.inputs_to_buffers if graph_signature is not None else {}
    state = _mutated_placeholders(graph_signature) & buffers.keys()
    unwanted: set[TensorSpec] = set()
    for node in nodes:
        if node.op == "placeholder":
            if ignore_mutable_buffers if node.name in state else ignore_graph_input:
                unwanted.update(get_node_tensor_specs(node))
        elif node.op == "output" and ignore_graph_output:
            unwanted.update(spec for spec in get_node_tensor_specs(node) if storage_spec(spec) is spec)
    if not ignore_mutable_buffers:
        # A method may return its state, which then keeps its memory.
        unwanted -= {s for n in nodes if n.op == "placeholder" and n.name in state for s in get_node_tensor_specs(n)}

    seen: set[TensorSpec] = set()
    for node in nodes:
        if node.op in ("output", "get_attr") or (ignore_out_var_node and _is_out_var_node(node)):
            continue
        specs = get_node_tensor_specs(node)
        if do_assertion and not specs and isinstance(node.meta.get("val"), torch.Tensor):
            raise ExportError(
                ExportErrorType.MISSING_PROPERTY, f"node {node.name} is a tensor without a spec; run SpecPropPass first"
            )
        for spec in specs:
            if storage_spec(spec) is not spec or spec in unwanted:
                continue
            if (ignore_const and spec.const) or (ignore_dynamic_unbound_tensor and spec.is_dynamic_unbound_tensor):
                continue
            if dedup and spec in seen:
                continue
            seen.add(spec)
            yield spec


def update_all_tensors_lifetime(
    graph_module: GraphModule, graph_signature: ExportGraphSignature | None = None
) -> set[TensorSpec]:
    """Sets `lifetime` to the first and last index of a node that makes or uses the storage; returns all specs seen.

    State that the program changes lives from before the first node to after the last one, in every call.
    """
    nodes = list(graph_module.graph.nodes)
    end = len(nodes) - 1
    mutated = _mutated_placeholders(graph_signature)
    lifetimes: dict[TensorSpec, list[int]] = {}

    def use(spec: TensorSpec, index: int) -> None:
        lifetime = lifetimes.setdefault(storage_spec(spec), [index, index])
        lifetime[0] = min(lifetime[0], index)
        lifetime[1] = max(lifetime[1], index)

    for index, node in enumerate(nodes):
        if _is_inplace_node(node) and node.args[0].meta.get("spec") is not None:
            node.meta["spec"] = node.args[0].meta["spec"]
        if node.op != "output":
            for spec in get_node_tensor_specs(node):
                use(spec, 0 if node.op == "placeholder" else index)
                if node.op == "placeholder" and node.name in mutated:
                    use(spec, end)
        for arg in filter_nodes([*node.args, *node.kwargs.values()]):
            for spec in get_node_tensor_specs(arg):
                use(spec, index)
    # After a branch, its results may be its operands or live in its memory: see `_plan_branches`.
    for node in reversed(nodes):
        if control_flow_branches(graph_module, node):
            last = max((lifetimes[storage_spec(spec)][1] for spec in get_node_tensor_specs(node)), default=0)
            for spec in aliased_operands(graph_module, node):
                use(spec, last)
    for spec, lifetime in lifetimes.items():
        spec.lifetime = lifetime
    return set(lifetimes)


def aliased_operands(graph_module: GraphModule, node: Node) -> list[TensorSpec]:
    """Operands of a control flow node whose memory a branch returns as (part of) its result."""
    if node.target.__name__ != "cond":
        return []  # A loop has copied its results into separate memory.
    aliased = []
    for branch in control_flow_branches(graph_module, node):
        placeholders = [n for n in branch.graph.nodes if n.op == "placeholder"]
        results = {storage_spec(spec) for spec in get_node_tensor_specs(branch.graph.output_node())}
        for placeholder, operand in zip(placeholders, filter_nodes([node.args[3]]), strict=False):
            if any(storage_spec(spec) in results for spec in get_node_tensor_specs(placeholder)):
                aliased += get_node_tensor_specs(operand)
    return aliased
