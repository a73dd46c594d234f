# SPDX-License-Identifier: BSD-3-Clause
"""Groups the runs of an ETDump into blocks of events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sdk.devtools.etdump.schema_flatcc import RunData
from sdk.devtools.inspector._events import (
    DelegateMetadataParser,
    DelegateTimeScaleConverter,
    Event,
    EventBlock,
    PerfData,
)
from sdk.devtools.inspector._matching import DELEGATE_CALL, Sources
from sdk.devtools.inspector._signatures import EventSignature, InstructionEvent, is_output
from sdk.devtools.inspector._time_scale import TimeScale, calculate_time_scale_factor
from sdk.devtools.inspector._values import DebugBuffer, InferenceOutput, is_inference_output_equal


@dataclass(frozen=True)
class Reading:
    """Options for reading the numbers of an ETDump."""

    source_time_scale: TimeScale = TimeScale.NS
    target_time_scale: TimeScale = TimeScale.MS
    buffer: DebugBuffer = field(default_factory=lambda: DebugBuffer(None))
    delegate_metadata_parser: DelegateMetadataParser | None = None
    delegate_time_scale_converter: DelegateTimeScaleConverter | None = None


@dataclass
class _Run:
    """One run: its number, its events by signature, and the outputs of the method."""

    number: int
    data: RunData
    events: dict[EventSignature, InstructionEvent]
    outputs: list[InferenceOutput]


def blocks_of(runs: Iterable[RunData], reading: Reading) -> list[EventBlock]:
    """Returns a block for each kind of run, in the order in which the kinds first occur.

    Runs are of one kind where the signatures of their events, the digests of their inputs and their recorded outputs
    are the same.
    """
    kinds: dict[Any, list[list[_Run]]] = {}
    groups: list[list[_Run]] = []
    for number, data in enumerate(runs):
        run = _read_run(number, data, reading.buffer)
        same = kinds.setdefault((data.name, data.bundled_input_index, data.inputs_digest, frozenset(run.events)), [])
        group = next((group for group in same if _has_same_outputs(group[0], run)), None)
        if group is None:
            group = []
            same.append(group)
            groups.append(group)
        group.append(run)
    return [_block(group, reading) for group in groups]


def resolve(block: EventBlock, sources: Sources) -> None:
    """Adds the ETRecord's information to the events of a block."""
    for event in block.events:
        instruction = event._instruction_id
        if instruction is None or instruction < 0:
            continue
        identifier = event.delegate_debug_identifier
        event.debug_handles = sources.handles(instruction, identifier)
        event.num_outputs = sources.num_outputs(instruction)
        delegate = sources.delegate(instruction)
        if delegate is not None and (identifier is not None or event.name == DELEGATE_CALL):
            event.delegate_backend_name = delegate.get("name", "")
        if identifier is None and len(event.debug_data) > event.num_outputs:
            # The runtime records all arguments of a delegate; its results are the last ones.
            event.debug_data = event.debug_data[-event.num_outputs :]
        if identifier is not None and sources.knows_values(instruction):
            recorded = sources.recorded(instruction, identifier)
            event._recorded_handles = () if recorded is None else (recorded.handle,)
            if recorded is not None:
                event._recorded_operator = recorded.operator
                event.debug_data = [recorded.in_the_order_of_the_node(value) for value in event.debug_data]
        for source in sources.nodes(event.debug_handles):
            event.op_types.append(source.op_type)
            event.stack_traces[source.name] = source.stack_trace
            event.module_hierarchy[source.name] = source.modules


def _read_run(number: int, data: RunData, buffer: DebugBuffer) -> _Run:
    events = data.events or []
    grouped = InstructionEvent.gen_from_events(events)
    found = [pair for group in grouped for pair in EventSignature.gen_from_instruction_event(group)]
    ordered = dict(found)
    outputs = [
        buffer.value(event.debug_event.debug_entry)
        for event in events
        if event.debug_event is not None and event.debug_event.debug_entry is not None and is_output(event.debug_event)
    ]
    return _Run(number, data, ordered, outputs)


def _has_same_outputs(one: _Run, other: _Run) -> bool:
    return len(one.outputs) == len(other.outputs) and all(
        type(a) is type(b) and is_inference_output_equal(a, b) for a, b in zip(one.outputs, other.outputs, strict=True)
    )


def _block(runs: list[_Run], reading: Reading) -> EventBlock:
    first = runs[0]
    index = first.data.bundled_input_index
    return EventBlock(
        name=first.data.name or "",
        events=[_event(signature, [run.events[signature] for run in runs], reading) for signature in first.events],
        source_time_scale=reading.source_time_scale,
        target_time_scale=reading.target_time_scale,
        bundled_input_index=None if index is None or index < 0 else index,
        run_output=first.outputs,
        _inputs_digest=first.data.inputs_digest,
        _first_run=first.number,
    )


def _event(signature: EventSignature, runs: list[InstructionEvent], reading: Reading) -> Event:
    profile, debug = signature.profile_event_signature, signature.debug_event_signature
    origin = profile or debug
    identifier: int | str | None = None
    name = ""
    if origin is not None:
        identifier = origin.delegate_id if origin.delegate_id is not None else origin.delegate_id_str
        name = origin.name or ("" if identifier is None else str(identifier))
    event = Event(
        name=name,
        delegate_debug_identifier=identifier,
        is_delegated_op=identifier is not None,
        _instruction_id=signature.instruction_id,
        _delegate_metadata_parser=reading.delegate_metadata_parser,
        _delegate_time_scale_converter=reading.delegate_time_scale_converter,
    )
    if profile is not None:
        event.perf_data = PerfData([_time(run, event, reading) for run in runs])
        event._start_time = [run.profile_events[0].start_time for run in runs if run.profile_events]
        logged = [measured.delegate_debug_metadata for run in runs for measured in run.profile_events or ()]
        event._delegate_debug_metadatas = [data for data in logged if data]
    entries = [recorded.debug_entry for recorded in runs[0].debug_events or () if recorded.debug_entry is not None]
    event.debug_data = [reading.buffer.value(entry) for entry in entries]
    return event


def _time(run: InstructionEvent, event: Event, reading: Reading) -> float:
    """The time of an event in a run; of an instruction that a loop repeats, the sum."""
    convert = reading.delegate_time_scale_converter
    total = 0.0
    for measured in run.profile_events or ():
        if event.is_delegated_op and convert is not None:
            total += convert(event.name, measured.end_time) - convert(event.name, measured.start_time)
        else:
            scale = calculate_time_scale_factor(reading.source_time_scale, reading.target_time_scale)
            total += (measured.end_time - measured.start_time) / scale
    return total
