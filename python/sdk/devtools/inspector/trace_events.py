# SPDX-License-Identifier: BSD-3-Clause
"""An ETDump in the trace event format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing open.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. A trace has complete events
(`"ph": "X"`, with `ts` and `dur` in microseconds) and metadata events (`"ph": "M"`), which name the tracks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sdk.devtools.etdump.schema_flatcc import ETDumpFlatCC, ProfileEvent
from sdk.devtools.etrecord import ETRecord
from sdk.devtools.inspector._matching import DELEGATE_CALL, OPERATOR_CALL, Sources
from sdk.devtools.inspector._signatures import delegate_ids, instruction_of
from sdk.devtools.inspector._time_scale import TimeScale, calculate_time_scale_factor
from sdk.devtools.source_lines import source_line

_PROCESS = 1
_RUNTIME = "runtime"


@dataclass
class _Lane:
    """A track, whose events must be nested or disjoint; `open` has the ends of the events around the next one."""

    name: str
    tid: int
    open: list[int] = field(default_factory=list)

    def takes(self, start: int, end: int) -> bool:
        while self.open and self.open[-1] <= start:
            self.open.pop()
        return not self.open or end <= self.open[-1]


def trace_events(
    etdump: ETDumpFlatCC,
    etrecord: ETRecord | None = None,
    source_time_scale: TimeScale = TimeScale.NS,
    method_name: str | None = None,
) -> dict[str, Any]:
    """The events of all runs as one trace: a JSON object with `traceEvents`.

    The runtime has a track, and each backend has one for the events that its delegates log. Events that overlap are put
    on several tracks. With an ETRecord, the arguments of an event name the operators, their modules and source lines.

    Args:
        etdump: What `read_etdump` returned.
        etrecord: The ETRecord of the program that ran.
        source_time_scale: The unit of the device's ticks. Cycles have no length in seconds; one cycle is shown as a
        microsecond.
        method_name: The method of the ETRecord that ran; by default the one whose instructions match the events.

    Raises:
        ValueError: An event ends before it begins, or the ETRecord is of another program.
    """
    sources = None if etrecord is None else Sources.of(etrecord, etdump.run_data, method_name)
    found = [
        (index, run.name, run.bundled_input_index, event.profile_event)
        for index, run in enumerate(etdump.run_data)
        for event in run.events or ()
        if event.profile_event is not None
    ]
    for _, _, _, event in found:
        if event.end_time < event.start_time:
            raise ValueError(
                f"the event {event.name!r} begins at {event.start_time} and ends at {event.end_time}: the ETDump is "
                "damaged, or the device's clock went back; record it again"
            )
    first = min((event.start_time for *_, event in found), default=0)
    cycles = source_time_scale == TimeScale.CYCLES
    per_microsecond = 1.0 if cycles else calculate_time_scale_factor(source_time_scale, TimeScale.US)
    # Outer events come first: of events with the same start, the longer one; of equal events, the one recorded later,
    # because an event is written at its end.
    order = sorted(range(len(found)), key=lambda i: (found[i][3].start_time, -found[i][3].end_time, -i))
    lanes: list[_Lane] = []
    events = []
    for run, block, case, event in (found[i] for i in order):
        lane = _lane(lanes, _track(event, sources), event)
        lane.open.append(event.end_time)
        events.append(
            {
                "name": _name(event, sources),
                "cat": _category(event),
                "ph": "X",
                "ts": (event.start_time - first) / per_microsecond,
                "dur": (event.end_time - event.start_time) / per_microsecond,
                "pid": _PROCESS,
                "tid": lane.tid,
                "args": {"run": run, "block": block, **_arguments(event, case, sources)},
            }
        )
    return {
        "traceEvents": [*_metadata(lanes), *events],
        "displayTimeUnit": "ns",
        "otherData": {"first_tick": first, "unit_of_ticks": source_time_scale.value},
    }


def _lane(lanes: list[_Lane], track: str, event: ProfileEvent) -> _Lane:
    """A lane of the track in which the event fits."""
    same = [lane for lane in lanes if lane.name == track]
    for lane in same:
        if lane.takes(event.start_time, event.end_time):
            return lane
    lanes.append(_Lane(track, len(lanes) + 1))
    return lanes[-1]


def _metadata(lanes: Iterable[_Lane]) -> Iterator[dict[str, Any]]:
    def named(kind: str, tid: int, **arguments: Any) -> dict[str, Any]:
        return {"name": kind, "ph": "M", "pid": _PROCESS, "tid": tid, "args": arguments}

    yield named("process_name", 0, name="program")
    for lane in lanes:
        yield named("thread_name", lane.tid, name=lane.name)
        yield named("thread_sort_index", lane.tid, sort_index=lane.tid if lane.name != _RUNTIME else 0)


def _identifier(event: ProfileEvent) -> int | str | None:
    number, text = delegate_ids(event)
    return number if number is not None else text


def _track(event: ProfileEvent, sources: Sources | None) -> str:
    if _identifier(event) is None:
        return _RUNTIME
    delegate = None if sources is None else sources.delegate(instruction_of(event))
    return "delegate" if delegate is None else f"delegate {delegate.get('name') or ''}".strip()


def _category(event: ProfileEvent) -> str:
    if _identifier(event) is not None:
        return "delegated operator"
    if event.name == DELEGATE_CALL:
        return "delegate"
    return "kernel" if instruction_of(event) >= 0 else "method"


def _name(event: ProfileEvent, sources: Sources | None) -> str:
    """Returns the operator of an event that belongs to a single node, else the runtime's name or the delegate's
    identifier."""
    identifier = _identifier(event)
    if sources is not None and (identifier is not None or event.name == OPERATOR_CALL):
        nodes = sources.nodes(sources.handles(instruction_of(event), identifier))
        if len(nodes) == 1:
            return nodes[0].op_type
    return event.name or ("" if identifier is None else str(identifier))


def _arguments(event: ProfileEvent, case: int, sources: Sources | None) -> dict[str, Any]:
    instruction, identifier = instruction_of(event), _identifier(event)
    found: dict[str, Any] = {"event": event.name or ""}
    if case is not None and case >= 0:
        found["case"] = case
    if instruction < 0:
        return found
    found["instruction"] = instruction
    if identifier is not None:
        found["delegate_debug_id"] = identifier
    if sources is not None:
        nodes = sources.nodes(sources.handles(instruction, identifier))
        found["nodes"] = [node.name for node in nodes]
        found["operators"] = list(dict.fromkeys(node.op_type for node in nodes))
        found["sources"] = list(dict.fromkeys(filter(None, (source_line(n.stack_trace, True) for n in nodes))))
        found["modules"] = list(dict.fromkeys(_module(node.modules) for node in nodes if node.modules))
    return found


def _module(modules: dict[str, Any]) -> str:
    """The path of the innermost module."""
    last = list(modules.values())[-1]
    return str(last[0] if isinstance(last, (list, tuple)) and last else last)
