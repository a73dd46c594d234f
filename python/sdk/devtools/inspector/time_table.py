# SPDX-License-Identifier: BSD-3-Clause
"""The time of a method by operator, as a Markdown table for a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sdk.command.lines import markdown_table
from sdk.devtools.inspector._events import Event, EventBlock
from sdk.devtools.inspector._matching import DELEGATE_CALL, OPERATOR_CALL
from sdk.devtools.source_lines import source_line

_METHOD = "Method::execute"


@dataclass
class TimeRow:
    """The calls of one operator that run in the same backend, or on kernels of the runtime.

    Attributes:
        name: The operator, as the edge dialect names it; without an ETRecord, the runtime's name of the event.
        where: The backend; "" for a kernel of the runtime.
        calls: Events of a run that are counted.
        mean: The time in one run, the mean over the runs, in the block's target time scale.
        sources: The lines of the model that call it.
    """

    name: str
    where: str
    calls: int = 0
    mean: float = 0.0
    sources: list[str] = field(default_factory=list)


def time_rows(block: EventBlock) -> list[TimeRow]:
    """The time of the block, the slowest row first. No time is counted twice: the rows sum up to the method's time.

    A delegate that logs its operators has a row for each, and a row for the rest of its time. The row `runtime` has the
    time outside of instructions.
    """
    rows: dict[tuple[str, str], TimeRow] = {}
    total = method_time(block)
    counted = 0.0
    for event, mean in leaves(block):
        where = (event.delegate_backend_name or "delegate") if event.is_delegated_op or _is_call(event) else ""
        name = ", ".join(dict.fromkeys(event.op_types)) if event.op_types and not _is_call(event) else event.name
        if _is_call(event):
            name = "the rest of the delegate" if mean < _time(event) else "the delegate"
        row = rows.setdefault((name, where), TimeRow(name, where))
        row.calls += 1
        row.mean += mean
        counted += mean
        lines = (source_line(trace) for trace in event.stack_traces.values()) if not _is_call(event) else ()
        row.sources += [line for line in lines if line and line not in row.sources]
    if total > counted:
        rows["runtime", ""] = TimeRow("runtime", "", 1, total - counted)
    return sorted(rows.values(), key=lambda row: -row.mean)


def method_time(block: EventBlock) -> float:
    """The mean time of a run."""
    return sum(_time(event) for event in block.events if event.name == _METHOD)


def markdown(block: EventBlock, top: int = 20) -> str:
    """A table of the `top` slowest rows, the sum of the others, and the total."""
    rows = time_rows(block)
    total = method_time(block) or sum(row.mean for row in rows) or 1.0
    unit = block.target_time_scale.value
    shown = [
        (row.name, row.where, str(row.calls), f"{row.mean:.4f}", f"{row.mean / total:.1%}", ", ".join(row.sources[:3]))
        for row in rows[:top]
    ]
    if others := rows[top:]:
        rest = sum(row.mean for row in others)
        shown.append((f"{len(others)} others", "", "", f"{rest:.4f}", f"{rest / total:.1%}", ""))
    runs = max((len(event.perf_data.raw) for event in block.events if event.perf_data is not None), default=1)
    shown.append((f"total, mean of {runs} runs", "", "", f"{total:.4f}", "100.0%", ""))
    head = ("operator", "backend", "calls", f"time ({unit})", "share", "source")
    return markdown_table(head, shown, right=(2, 3, 4))


def _is_call(event: Event) -> bool:
    return event.name == DELEGATE_CALL and not event.is_delegated_op


def _time(event: Event) -> float:
    return 0.0 if event.perf_data is None else event.perf_data.avg


def leaves(block: EventBlock) -> Iterator[tuple[Event, float]]:
    """The events of instructions, each with its time minus the time of the events inside it."""
    inside: dict[int, float] = {}
    timed = [
        e for e in block.events if e.perf_data is not None and e._instruction_id is not None and e._instruction_id >= 0
    ]
    for event in timed:
        if event.is_delegated_op and event._instruction_id is not None:
            inside[event._instruction_id] = inside.get(event._instruction_id, 0.0) + _time(event)
    has_operator_call = {e._instruction_id for e in timed if e.name == OPERATOR_CALL}
    for event in timed:
        instruction = event._instruction_id
        assert instruction is not None
        if event.is_delegated_op:
            yield event, _time(event)
        elif _is_call(event):
            yield event, max(_time(event) - inside.get(instruction, 0.0), 0.0)
        elif event.name == OPERATOR_CALL or instruction not in has_operator_call:
            yield event, _time(event)  # the kernel's own event lies in it
