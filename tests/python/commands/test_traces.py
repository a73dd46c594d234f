# SPDX-License-Identifier: BSD-3-Clause
"""An ETDump as a trace for Perfetto and chrome://tracing, as a Markdown table and as a frame."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dumps
import pytest
from calls import Files, Result
from damage import damaged
from hypothesis import given, settings

from declared import default
from sdk.command import CommandError
from sdk.devtools import Inspector
from sdk.devtools.etdump.serialize import read_etdump
from sdk.devtools.inspector import TimeScale
from sdk.devtools.inspector.time_table import markdown, method_time, time_rows
from sdk.devtools.inspector.trace_events import trace_events
from sdk.inspect import _facts, _records

Call = Callable[..., Result]
MS = dumps.MS

# The fields of the trace event format, "Complete Events" and "Metadata Events": name, types, and whether it must be.
_COMPLETE: dict[str, tuple[tuple[type, ...], bool]] = {
    "name": ((str,), True),
    "cat": ((str,), False),
    "ph": ((str,), True),
    "ts": ((int, float), True),
    "dur": ((int, float), True),
    "tdur": ((int, float), False),
    "tts": ((int, float), False),
    "pid": ((int,), True),
    "tid": ((int,), True),
    "args": ((dict,), False),
    "cname": ((str,), False),
}
_METADATA = {
    "process_name": {"name": str},
    "process_labels": {"labels": str},
    "process_sort_index": {"sort_index": int},
    "thread_name": {"name": str},
    "thread_sort_index": {"sort_index": int},
}


def check_format(trace: Any) -> list[dict[str, Any]]:
    """Checks what the description of the trace event format says; returns the complete events."""
    trace = json.loads(json.dumps(trace, allow_nan=False))
    assert set(trace) <= {"traceEvents", "displayTimeUnit", "otherData", "systemTraceEvents", "stackFrames", "samples"}
    assert trace["displayTimeUnit"] in ("ms", "ns")
    complete = []
    for event in trace["traceEvents"]:
        if event["ph"] == "M":
            assert {key: type(value) for key, value in event["args"].items()} == _METADATA[event["name"]]
            continue
        assert event["ph"] == "X"
        assert set(event) <= set(_COMPLETE)
        for name, (types, required) in _COMPLETE.items():
            assert not required or name in event
            assert name not in event or isinstance(event[name], types)
        assert event["ts"] >= 0
        assert event["dur"] >= 0
        complete.append(event)
    named = {event["tid"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert {event["tid"] for event in complete} <= named
    # Events of a thread lie inside each other or apart.
    for one in complete:
        for other in complete:
            if one["tid"] == other["tid"] and one["ts"] < other["ts"] < one["ts"] + one["dur"] - 1e-6:
                assert other["ts"] + other["dur"] <= one["ts"] + one["dur"] + 1e-6
    return complete


def tracks(trace: Any) -> dict[int, str]:
    return {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}


def test_events_have_their_times_in_microseconds() -> None:
    trace = trace_events(read_etdump(dumps.three_runs()))
    complete = check_format(trace)
    loads = [event for event in complete if event["name"] == "Program::load_method"]
    assert [(event["ts"], event["dur"]) for event in loads] == [(0.0, 1000.0)]
    calls = [event for event in complete if event["name"] == "OPERATOR_CALL"]
    assert [event["dur"] for event in calls] == [1000.0, 2000.0, 3000.0]
    assert [event["ts"] for event in calls] == pytest.approx([10_000 * k - 0.005 for k in (1, 2, 3)])
    assert tracks(trace) == {1: "runtime", 2: "delegate"}
    delegated = [event for event in complete if event["cat"] == "delegated operator"]
    assert {event["tid"] for event in delegated} == {2}
    assert [event["name"] for event in delegated[:2]] == ["7", "gemm"]


def test_events_that_overlap_get_tracks_of_their_own() -> None:
    """Two operators of a delegate overlap, because it may run them on two threads."""
    data = dumps.dump(
        dumps.run(
            dumps.profile(None, 0, 10, 0, "a"),
            dumps.profile(None, 5, 15, 0, "b"),
            dumps.profile(None, 10, 20, 0, "c"),
            dumps.profile("DELEGATE_CALL", 0, 20, 0),
        )
    )
    trace = trace_events(read_etdump(data))
    where = {event["name"]: event["tid"] for event in check_format(trace)}
    assert where["a"] == where["c"] != where["b"]
    assert sorted(tracks(trace).values()) == ["delegate", "delegate", "runtime"]


def test_other_clocks() -> None:
    dump = read_etdump(dumps.dump(dumps.run(dumps.profile("Method::execute", 100, 350))))
    (event,) = check_format(trace_events(dump, source_time_scale=TimeScale.MS))
    assert event["dur"] == 250_000.0
    cycles = trace_events(dump, source_time_scale=TimeScale.CYCLES)
    assert check_format(cycles)[0]["dur"] == 250.0
    assert cycles["otherData"]["unit_of_ticks"] == "cycles"


def test_a_clock_that_goes_back_is_an_error() -> None:
    dump = read_etdump(dumps.dump(dumps.run(dumps.profile("Method::execute", 100, 50))))
    with pytest.raises(ValueError, match="begins at 100 and ends at 50"):
        trace_events(dump)


def test_nodes_and_source_lines_from_an_etrecord(sdk: Call, files: Files, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    arguments = ["--etdump", files["net.etdp"], "--etrecord", files["net.etrecord"], "--trace", out]
    assert sdk("inspect", *arguments).status == 0
    trace = json.loads(out.read_text())
    complete = check_format(trace)
    assert set(tracks(trace).values()) == {"runtime", f"delegate {default().id}"}
    model = Path(__file__).with_name("conftest.py").read_text().splitlines()
    for operator, call in (("aten.convolution.default", "self.conv(x)"), ("aten.cumsum.default", "cumsum(1)")):
        found = [event for event in complete if operator in event["args"].get("operators", ())]
        assert found
        lines = {int(source.rsplit(":", 1)[1]) for event in found for source in event["args"]["sources"]}
        assert any(call in model[line - 1] for line in lines)
    assert any("conv" in event["args"].get("modules", ()) for event in complete)


def test_rows_of_the_table_sum_up_to_the_method() -> None:
    """The times of `three_runs`, by hand: 7 ms in all, 2 ms each for the operator (its mean) and the delegate."""
    inspector = Inspector(etdump_data=dumps.three_runs())
    block = next(block for block in inspector.event_blocks if block.name == "Execute")
    assert method_time(block) == pytest.approx(7)
    rows = {(row.name, row.where): row.mean for row in time_rows(block)}
    assert rows == pytest.approx(
        {
            ("OPERATOR_CALL", ""): 2.0,
            ("7", "delegate"): 0.5,
            ("gemm", "delegate"): 1.0,
            ("the rest of the delegate", "delegate"): 0.5,
            ("runtime", ""): 3.0,
        }
    )
    table = markdown(block, top=2)
    assert "| 3 others |  |  | 2.0000 | 28.6% |  |" in table
    assert "| total, mean of 3 runs |  |  | 7.0000 | 100.0% |  |" in table


def test_the_table_of_a_program(sdk: Call, files: Files) -> None:
    arguments = ["--etdump", files["net.etdp"], "--etrecord", files["net.etrecord"], "--markdown"]
    lines = sdk("inspect", *arguments).out.splitlines()
    assert lines[:2] == [
        "| operator | backend | calls | time (ms) | share | source |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    shares = [float(line.split("|")[5].strip(" %")) for line in lines[2:]]
    assert shares[-1] == 100.0
    assert sum(shares[:-1]) == pytest.approx(100, abs=0.05 * len(shares))
    assert any(f"aten.convolution.default | {default().id}" in line and "conftest.py:" in line for line in lines)
    assert len(sdk("inspect", *arguments, "--top", 1).out.splitlines()) == 5


def test_cells_cannot_change_the_table() -> None:
    data = dumps.dump(dumps.run(dumps.profile("a | b <script>\n", 0, MS, 0), dumps.profile("Method::execute", 0, MS)))
    table = Inspector(etdump_data=data).markdown()
    assert "a \\| b &lt;script&gt;" in table
    assert len(table.splitlines()) == 4


def test_the_frame_as_csv(sdk: Call, files: Files, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    out = tmp_path / "events.csv"
    assert sdk("inspect", "--etdump", files["net.etdp"], "--csv", out).status == 0
    frame = pandas.read_csv(out)
    expected = Inspector(etdump_path=str(files["net.etdp"])).to_dataframe()
    assert list(frame.columns) == list(expected.columns)
    assert list(frame["event_name"]) == list(expected["event_name"])
    assert frame["p50 (ms)"].tolist() == pytest.approx(expected["p50 (ms)"].tolist())


@settings(max_examples=200, deadline=None)
@given(data=damaged(dumps.three_runs()))
def test_a_damaged_etdump_is_a_trace_or_a_typed_error(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        path = Path(file.name)
        try:
            inspector = _facts.read(path, "etdump", _records.inspector_of)
            inspector.markdown()
            check_format(_facts.read(path, "etdump", lambda _: inspector.trace_events()))
        except CommandError as error:
            assert str(error)
