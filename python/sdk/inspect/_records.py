# SPDX-License-Identifier: BSD-3-Clause
"""Facts of an ETDump and of an ETRecord."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from torch.export import ExportedProgram

from sdk.devtools.etrecord import ETRecord, parse_etrecord
from sdk.devtools.inspector import Inspector, TimeScale
from sdk.devtools.inspector._matching import graphs_of, op_type, programs_of
from sdk.devtools.source_lines import source_line

Facts = dict[str, Any]


def dump(path: Path, etrecord: ETRecord | None = None, scale: TimeScale = TimeScale.NS) -> Facts:
    """Facts of an ETDump: its events with their times, in blocks of equal runs. Raises ValueError and RuntimeError."""
    return dump_facts(inspector_of(path, etrecord, scale))


def inspector_of(path: Path, etrecord: ETRecord | None = None, scale: TimeScale = TimeScale.NS) -> Inspector:
    """The Inspector of an ETDump, in milliseconds, or in cycles if the device counts cycles."""
    target = TimeScale.CYCLES if scale == TimeScale.CYCLES else TimeScale.MS
    return Inspector(etdump_path=str(path), etrecord=etrecord, source_time_scale=scale, target_time_scale=target)


def dump_facts(inspector: Inspector) -> Facts:
    """The facts of an Inspector, as `sdk inspect --json` prints them."""
    blocks = []
    for block in inspector.event_blocks:
        events = []
        for event in block.events:
            time = event.perf_data
            events.append(
                {
                    "name": event.name,
                    "delegated": bool(event.is_delegated_op),
                    "backend": event.delegate_backend_name,
                    "operators": list(event.op_types),
                    "sources": list(
                        dict.fromkeys(filter(None, (source_line(t, True) for t in event.stack_traces.values())))
                    ),
                    "time": None
                    if time is None
                    else {"p10": time.p10, "p50": time.p50, "p90": time.p90, "mean": time.avg, "min": time.min},
                    "recorded_values": len(event.debug_data),
                }
            )
        runs = max((len(event.perf_data.raw) for event in block.events if event.perf_data is not None), default=1)
        blocks.append({"name": block.name, "case": block.bundled_input_index, "runs": runs, "events": events})
    unit = inspector.event_blocks[0].target_time_scale.value if inspector.event_blocks else TimeScale.MS.value
    return {"version": 0, "unit": unit, "blocks": blocks}


def record(path: Path) -> Facts:
    """Facts of an ETRecord. Raises RuntimeError if it is damaged."""
    read = parse_etrecord(path)
    with ZipFile(path) as file:
        sections = [{"name": i.filename, "offset": i.header_offset, "bytes": i.file_size} for i in file.infolist()]
    programs = {"exported_program": read.exported_program}
    programs.update({f"edge_dialect_program/{method}": program for method, program in programs_of(read).items()})
    programs.update(read.graph_map or {})
    handles, delegates = read._debug_handle_map or {}, read._delegate_map or {}
    return {
        "sections": sections,
        "programs": [_program(name, program) for name, program in programs.items() if program is not None],
        "methods": [
            {
                "name": method,
                "instructions_with_debug_handles": len(handles.get(method) or {}),
                "delegates": len(delegates.get(method) or {}),
            }
            for method in handles
        ],
        "has_representative_inputs": read._representative_inputs is not None,
        "has_reference_outputs": read._reference_outputs is not None,
    }


def _program(name: str, program: ExportedProgram) -> Facts:
    operators = Counter(
        op_type(node)
        for graph_module in graphs_of(program.graph_module)
        for node in graph_module.graph.nodes
        if node.op == "call_function"
    )
    return {
        "name": name,
        "nodes": sum(len(graph_module.graph.nodes) for graph_module in graphs_of(program.graph_module)),
        "operators": [{"name": name, "calls": calls} for name, calls in operators.most_common()],
    }
