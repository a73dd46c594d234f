# SPDX-License-Identifier: BSD-3-Clause
"""Compares the results of the runtime with those of eager mode for the same inputs, layer by layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from sdk.devtools.inspector._distance import l1
from sdk.devtools.inspector._events import Event, EventBlock
from sdk.devtools.inspector._graph_matching import (
    copy_for_handles,
    get_aot_debug_handle_to_op_name_mapping,
    propagate_back_debug_handle,
)
from sdk.devtools.inspector._inputs import flat_inputs
from sdk.devtools.inspector._intermediate_output_capturer import (
    DebugHandle,
    IntermediateOutputCapturer,
    Kind,
    handle_of,
)
from sdk.devtools.inspector._matching import KERNEL_EVENT, OPERATOR_CALL, Sources, programs_of
from sdk.exir.record import ETRecord

Operator: TypeAlias = tuple[DebugHandle, Kind]
"""An operator of a graph: its debug handle, and its `Kind`, because a quantize or dequantize node may have the same
handle."""


@dataclass(frozen=True)
class Layer:
    """A value that the runtime and eager mode have both computed.

    `handle` is the debug handle of its operator; `runtime_handle` has the handles of all operators that the runtime ran
    in one step.
    """

    handle: DebugHandle
    expected: Any
    runtime_handle: DebugHandle
    found: Any
    event: Event


@dataclass(frozen=True)
class Reference:
    """The values of eager mode: results and names of operators by debug handle, in the order of the graph `module`, and
    the flat list of inputs. `by_kind` has the results separately for operators that share a handle."""

    outputs: dict[DebugHandle, Any]
    by_kind: dict[Operator, Any]
    names: dict[DebugHandle, list[str]]
    module: GraphModule
    inputs: list[Any]


def run_reference(
    record: ETRecord,
    sources: Sources,
    inputs: Sequence[Any],
    graph: str | None = None,
    accept_unmatched: bool = False,
) -> Reference:
    """Runs the model of an ETRecord in eager mode.

    The exported graph is preferred to the edge program, because it is the model without any decomposition. An ETRecord
    has it for `forward` only; other methods run as their edge program.

    Args:
        record: The ETRecord.
        sources: The method that ran.
        inputs: The inputs that it ran on, flat.
        graph: `exported_program` or `edge_dialect_program` to choose; a name of an added program for that one.
        accept_unmatched: Use the exported graph even if not every edge node comes from it.

    Raises:
        ValueError: The record has no such program, or it takes another number of inputs.
    """
    program = _reference_program(record, sources, graph, accept_unmatched)
    module = program.module(check_guards=False)
    wanted = [node for node in module.graph.nodes if node.op == "placeholder"]
    if len(inputs) != len(wanted):
        raise ValueError(f"method {sources.method!r} takes {len(wanted)} inputs, found {len(inputs)}")
    with kept_buffers(module):
        capturer = IntermediateOutputCapturer(module)
        outputs = capturer.run_and_capture(*copies(inputs))
    return Reference(outputs, capturer.by_kind, get_aot_debug_handle_to_op_name_mapping(module), module, list(inputs))


@contextmanager
def kept_buffers(module: torch.nn.Module) -> Iterator[None]:
    """Restores the values of a module's buffers after a run that changes them."""
    buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
    try:
        yield
    finally:
        with torch.no_grad():
            for name, buffer in module.named_buffers():
                buffer.copy_(buffers[name])


def _reference_program(
    record: ETRecord, sources: Sources, graph: str | None, accept_unmatched: bool
) -> ExportedProgram:
    edge = sources.program
    if graph == "edge_dialect_exported_program":  # the name that ExecuTorch has for it
        graph = "edge_dialect_program"
    if graph not in (None, "exported_program", "edge_dialect_program"):
        added = (record.graph_map or {}).get(graph if "/" in graph else f"{graph}/{sources.method}")
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


def inputs_of(record: ETRecord, method: str) -> list[list[Any]]:
    """The inputs that an ETRecord has for a method, flat: those of `update_representative_inputs()` or of a bundled
    case, and then the example inputs of the export. Raises ValueError where it has none."""
    programs = programs_of(record)
    if method not in programs:
        raise ValueError(f"the ETRecord has no edge program of method {method!r}")
    examples = programs[method].example_inputs
    if examples is None and record.exported_program is not None and method == "forward":
        examples = record.exported_program.example_inputs
    found = [inputs for inputs in (record._representative_inputs, examples) if inputs is not None]
    if not found:
        raise ValueError(
            "the ETRecord has no inputs to run the model on: call update_representative_inputs() with those that the "
            "program ran on, and save it again"
        )
    return [flat_inputs(programs[method], inputs, "the ETRecord's inputs") for inputs in found]


def copies(values: Iterable[Any]) -> list[Any]:
    """The values, with copies of the tensors."""
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in values]


def layers(block: EventBlock, reference: Reference, sources: Sources) -> list[Layer]:
    """The values of a block that eager mode computed too, in the order of the graph, one for each debug handle.

    If several instructions carry out one operator, the last one is taken. A delegate's results are the results of its
    operators that are read outside. Values that a backend recorded of its operators are included. If a result was
    recorded as a float, quantised and dequantised, the last of these is taken.
    """
    position = {handle: index for index, handle in enumerate(reference.outputs)}
    order = (Kind.OTHER, Kind.QUANTIZE, Kind.DEQUANTIZE)
    found: dict[DebugHandle, Layer] = {}
    for (handle, _), layer in sorted(
        results(block, reference, sources).items(), key=lambda item: order.index(item[0][1])
    ):
        found[handle] = layer
    return sorted(found.values(), key=lambda layer: position[layer.handle])


def results(block: EventBlock, reference: Reference, sources: Sources) -> dict[Operator, Layer]:
    """Returns the value for each operator. Quantize and dequantize nodes have the handle of the operator whose result
    they read."""
    single = {handle[0]: handle for handle in reference.outputs if len(handle) == 1}
    # The runtime's part of a kernel's event has the kernel's values, without its name.
    kernels = {event._instruction_id for event in block.events if event.name.startswith(KERNEL_EVENT)}
    found: dict[Operator, Layer] = {}
    for event in block.events:
        handles = event.recorded_handles
        if not handles or not event.debug_data or (event.name == OPERATOR_CALL and event._instruction_id in kernels):
            continue
        if len(handles) == 1 and len(event.debug_data) == 1:
            pairs: Mapping[int, Any] = {handles[0]: event.debug_data[0]}
        else:
            pairs = _results(handles, event.debug_data, sources, reference)
        for handle, value in pairs.items():
            known = single.get(handle)
            kind = None if known is None else _kind(event, value, known, reference)
            if known is None or kind is None:
                continue
            pair = comparable(reference.by_kind[known, kind], value)
            if pair is not None:
                found[known, kind] = Layer(known, pair[0], event.handles, pair[1], event)
    return found


def _kind(event: Event, value: Any, handle: DebugHandle, reference: Reference) -> Kind | None:
    """Decides which of the operators with a handle computed a value. Returns None if eager mode has no such
    operator."""
    name = event.name.removeprefix(KERNEL_EVENT) if event.name.startswith(KERNEL_EVENT) else event._recorded_operator
    if name is not None:
        kind = Kind.of(name)
        return kind if (handle, kind) in reference.by_kind else None
    # Only the dtype of a delegate's results is known.
    is_integer = isinstance(value, torch.Tensor) and not value.is_floating_point()
    for kind in (Kind.QUANTIZE, Kind.OTHER) if is_integer else (Kind.DEQUANTIZE, Kind.OTHER):
        if (handle, kind) in reference.by_kind:
            return kind
    return None


def _results(handles: Sequence[int], values: Sequence[Any], sources: Sources, reference: Reference) -> dict[int, Any]:
    """Returns the operators of a delegate that computed its results: those that nodes outside read, in the order of the
    graph."""
    candidates = _read_outside(handles, sources)
    results: dict[int, Any] = {}
    if len(candidates) == len(values):
        return dict(zip(candidates, values, strict=True))
    # A delegate may return fewer results if one is part of another. They are matched by shape, starting with the last.
    pending = [handle for handle in (candidates or handles) if (handle,) in reference.outputs]
    for value in reversed(values):
        fitting = [h for h in pending if comparable(reference.outputs[(h,)], value) is not None]
        if fitting:
            results[fitting[-1]] = value
            pending.remove(fitting[-1])
    return dict(reversed(list(results.items())))


def _read_outside(handles: Sequence[int], sources: Sources) -> list[int]:
    """The handles of the nodes whose results are outputs or are read by nodes with other handles."""
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
    # An element of a result belongs to the nodes that read it. Programs of an ETRecord have elements that nothing
    # reads.
    return node.op == "call_function" and all(_is_in(user, members) for user in node.users)


def comparable(expected: Any, found: Any) -> tuple[Any, Any] | None:
    """The parts of an expected value and of a found one to compare; None if they have no comparable part.

    An operator of the edge dialect may have more results than its ATen operator, whose results then come first. A view
    that needs no instruction has another shape, with the elements in the same order. From several results of the same
    form, the nearest is taken.
    """
    if isinstance(found, torch.Tensor):
        options = [o for o in _list(expected) if isinstance(o, torch.Tensor) and o.numel() == found.numel()]
        options.sort(key=lambda option: _unlike(option, found))  # stable: the first of the same shape
        # Which of several results of one form it is, such as h or c of an LSTM, is not recorded.
        alike = [option for option in options if _unlike(option, found) == _unlike(options[0], found)]
        return (alike[0] if len(alike) == 1 else min(alike, key=lambda o: l1(o, found)), found) if options else None
    if isinstance(found, (list, tuple)):
        wanted = _list(expected)
        pairs = [comparable(e, f) for e, f in zip(wanted, found, strict=False)]
        if not pairs or len(wanted) > len(found) or any(pair is None for pair in pairs):
            return None
        parts = [pair for pair in pairs if pair is not None]
        if len(parts) == 1:
            return parts[0]
        return [e for e, _ in parts], [f for _, f in parts]
    is_number = isinstance(found, (bool, int, float)) and isinstance(expected, (bool, int, float))
    return (expected, found) if is_number else None


def _unlike(expected: torch.Tensor, found: torch.Tensor) -> tuple[bool, bool]:
    return expected.shape != found.shape, expected.is_floating_point() != found.is_floating_point()


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
