# SPDX-License-Identifier: BSD-3-Clause
"""Compares the results of the runtime with those of eager mode for the same inputs, layer by layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.utils import _pytree as pytree

from sdk.devtools.inspector._events import Event, EventBlock
from sdk.devtools.inspector._graph_matching import (
    copy_for_handles,
    get_aot_debug_handle_to_op_name_mapping,
    propagate_back_debug_handle,
)
from sdk.devtools.inspector._intermediate_output_capturer import (
    DebugHandle,
    IntermediateOutputCapturer,
    handle_of,
)
from sdk.devtools.inspector._matching import Sources
from sdk.exir.record import ETRecord


@dataclass(frozen=True)
class Layer:
    """A value that the runtime and eager mode have both computed.

    `handle` is the debug handle of its operator, `runtime_handle` has those of what the runtime ran at once.
    """

    handle: DebugHandle
    expected: Any
    runtime_handle: DebugHandle
    found: Any
    event: Event


@dataclass(frozen=True)
class Reference:
    """Results of eager mode: values and names of operators by debug handle, in the order of the graph."""

    outputs: dict[DebugHandle, Any]
    names: dict[DebugHandle, list[str]]


def run_reference(
    record: ETRecord, sources: Sources, graph: str | None = None, accept_unmatched: bool = False
) -> Reference:
    """Runs the model in eager mode, as far as an ETRecord has it, on the record's inputs.

    The graph that was exported is preferred to the edge program: it is the model without any decomposition. It is the
    one of `forward`; other methods have their edge program only.

    Args:
        record: The ETRecord.
        sources: The method that ran.
        graph: `exported_program` or `edge_dialect_program` to choose; a name of an added program for that one.
        accept_unmatched: Use the exported graph even if not every edge node comes from it.

    Raises:
        ValueError: The record has no such program, or no inputs.
    """
    program = _reference_program(record, sources, graph, accept_unmatched)
    module = program.module(check_guards=False)
    flat = pytree.tree_leaves(_inputs(record, program))
    wanted = [node for node in module.graph.nodes if node.op == "placeholder"]
    if len(flat) != len(wanted):
        raise ValueError(f"the ETRecord has {len(flat)} inputs, method {sources.method!r} takes {len(wanted)}")
    # Copy buffers, so that the program does not write to the record's.
    buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
    try:
        outputs = IntermediateOutputCapturer(module).run_and_capture(*_copies(flat))
    finally:
        with torch.no_grad():
            for name, buffer in module.named_buffers():
                buffer.copy_(buffers[name])
    return Reference(outputs, get_aot_debug_handle_to_op_name_mapping(module))


def _reference_program(
    record: ETRecord, sources: Sources, graph: str | None, accept_unmatched: bool
) -> ExportedProgram:
    edge = sources.program
    if graph not in (None, "exported_program", "edge_dialect_program"):
        added = (record.graph_map or {}).get(str(graph))
        if added is None:
            known = ["exported_program", "edge_dialect_program", *sorted(record.graph_map or {})]
            raise ValueError(f"the ETRecord has no program {graph!r}; expected {', '.join(map(repr, known))}")
        return added
    if edge is None:
        raise ValueError(f"the ETRecord has no edge program of method {sources.method!r}")
    exported = record.exported_program
    if graph != "edge_dialect_program" and exported is not None and sources.method == "forward":
        twin = copy_for_handles(exported)
        if propagate_back_debug_handle(twin, record.export_graph_id or 0, edge, accept_unmatched):
            return twin
    if graph == "exported_program":
        raise ValueError(
            f"the ETRecord has no exported program that the edge program of {sources.method!r} was made of; pass "
            "reference_graph='edge_dialect_program'"
        )
    return edge


def _inputs(record: ETRecord, program: ExportedProgram) -> Any:
    if record._representative_inputs is not None:
        return record._representative_inputs
    examples = program.example_inputs
    if examples is None and record.exported_program is not None:
        examples = record.exported_program.example_inputs
    if examples is None:
        raise ValueError(
            "the ETRecord has no inputs to run the model on: call update_representative_inputs() with those that the "
            "program ran on, and save it again"
        )
    return examples


def _copies(values: Iterable[Any]) -> list[Any]:
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in values]


def layers(block: EventBlock, reference: Reference, sources: Sources) -> list[Layer]:
    """The values of a block that eager mode computed too, in the order of the graph.

    Of several instructions that carry out one operator, the last one is taken. The results of a delegate are those of
    its operators that others read; what a backend recorded of the operators inside is taken too.
    """
    position = {handle: index for index, handle in enumerate(reference.outputs)}
    single = {handle[0]: handle for handle in reference.outputs if len(handle) == 1}
    found: dict[DebugHandle, Layer] = {}
    for event in block.events:
        handles = event.handles
        if not handles or not event.debug_data:
            continue
        if len(handles) == 1 and len(event.debug_data) == 1:
            pairs: Mapping[int, Any] = {handles[0]: event.debug_data[0]}
        else:
            pairs = _results(handles, event.debug_data, sources, reference)
        for handle, value in pairs.items():
            known = single.get(handle)
            if known is None:
                continue
            pair = _comparable(reference.outputs[known], value)
            if pair is not None:
                found[known] = Layer(known, pair[0], handles, pair[1], event)
    return sorted(found.values(), key=lambda layer: position[layer.handle])


def _results(handles: Sequence[int], values: Sequence[Any], sources: Sources, reference: Reference) -> dict[int, Any]:
    """Which operators of a delegate computed its results: those that others read, in the order of the graph."""
    candidates = _read_outside(handles, sources)
    results: dict[int, Any] = {}
    if len(candidates) == len(values):
        return dict(zip(candidates, values, strict=True))
    # A delegate may return less, where a result is a part of another one: by shape, the last ones first.
    pending = [handle for handle in (candidates or handles) if (handle,) in reference.outputs]
    for value in reversed(values):
        fitting = [h for h in pending if _comparable(reference.outputs[(h,)], value) is not None]
        if fitting:
            results[fitting[-1]] = value
            pending.remove(fitting[-1])
    return dict(reversed(list(results.items())))


def _read_outside(handles: Sequence[int], sources: Sources) -> list[int]:
    """The handles of those nodes whose results nodes with other handles read, or that are outputs."""
    members = set(handles)
    found: dict[int, None] = {}
    if sources.program is not None:
        for node in sources.program.graph.nodes:
            own = handle_of(node)
            if own is not None and members.intersection(own) and any(not _is_in(user, members) for user in node.users):
                found[own[0]] = None
    return list(found)


def _is_in(node: Node, members: set[int]) -> bool:
    handle = handle_of(node)
    if handle is not None:
        return bool(members.intersection(handle))
    # An element of a result belongs to where it is read.
    return node.op == "call_function" and bool(node.users) and all(_is_in(user, members) for user in node.users)


def _comparable(expected: Any, found: Any) -> tuple[Any, Any] | None:
    """The parts of an expected value and of a found one that are to be compared; None if there are none.

    Operators of the edge dialect may have more results than the one that they were made of: the first ones are its. A
    view that needs no instruction has another shape, with the elements in the same order.
    """
    if isinstance(found, torch.Tensor):
        options = [o for o in _list(expected) if isinstance(o, torch.Tensor) and o.numel() == found.numel()]
        options.sort(key=lambda option: option.shape != found.shape)  # stable: the first of the same shape
        return (options[0], found) if options else None
    if isinstance(found, (list, tuple)):
        wanted = _list(expected)
        pairs = [_comparable(e, f) for e, f in zip(wanted, found, strict=False)]
        if not pairs or len(wanted) > len(found) or any(pair is None for pair in pairs):
            return None
        parts = [pair for pair in pairs if pair is not None]
        if len(parts) == 1:
            return parts[0]
        return [e for e, _ in parts], [f for _, f in parts]
    is_number = isinstance(found, (bool, int, float)) and isinstance(expected, (bool, int, float))
    return (expected, found) if is_number else None


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
