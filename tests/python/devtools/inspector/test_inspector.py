# SPDX-License-Identifier: BSD-3-Clause
"""The Inspector on ETDumps that are made without a runtime: its results are arithmetic."""

from __future__ import annotations

import io
import math
import struct
import subprocess
import sys
from pathlib import Path

import dumps
import pytest
import torch
from dumps import MS

import forked
from sdk.devtools import Inspector
from sdk.devtools.etdump.schema_flatcc import ScalarType
from sdk.devtools.inspector import Event, EventBlock, PerfData, TimeScale, compare_results
from sdk.devtools.inspector._inspector_utils import RESERVED_FRAMEWORK_EVENT_NAMES

NAMES = [
    "Program::load_method",
    "native_call_add.out",
    "OPERATOR_CALL",
    "7",
    "gemm",
    "DELEGATE_CALL",
    "Method::execute",
]


def by_name(inspector: Inspector) -> dict[str, Event]:
    return {event.name: event for block in inspector.event_blocks for event in block.events}


def test_names_of_the_framework_are_reserved() -> None:
    """INS-07: the names of events that the runtime logs for itself, and not for an operator or a delegate."""
    blocks = Inspector(etdump_data=dumps.three_runs()).event_blocks
    logged = {event.name for block in blocks for event in block.events if "::" in event.name}
    assert logged == set(RESERVED_FRAMEWORK_EVENT_NAMES) - {"Method::init"}  # which the dump leaves out


def test_ins_07_blocks_and_events() -> None:
    """INS-07, INS-10, DBG-15, DT-11: without an ETRecord, equal runs form one block, with a time for each run."""
    inspector = Inspector(etdump_data=dumps.three_runs())
    default, execute = inspector.event_blocks
    assert isinstance(execute, EventBlock) and (default.name, execute.name) == ("Default", "Execute")
    names = [event.name for event in execute.events]
    assert names[-2:] == ["DELEGATE_CALL", "Method::execute"]
    assert names[:-2] == ["native_call_add.out", "OPERATOR_CALL", "7", "gemm"]
    events = by_name(inspector)
    data = events["OPERATOR_CALL"].perf_data
    assert isinstance(data, PerfData) and data.raw == [1, 2, 3]
    # Percentiles are interpolated: of three sorted values, the 10th percentile is at index 0.2.
    assert [data.p10, data.p50, data.p90, data.avg, data.min, data.max] == pytest.approx([1.2, 2, 2.8, 2, 1, 3])
    assert events["gemm"].start_time == [15 * MS, 25 * MS, 35 * MS]
    assert events["7"].is_delegated_op and events["7"].delegate_debug_identifier == 7
    assert not events["DELEGATE_CALL"].is_delegated_op
    assert events["7"].raw_delegate_debug_metadatas == [b"conv 1", b"conv 2", b"conv 3"]


def test_ins_04_the_total_of_a_module_in_a_delegate() -> None:
    """INS-04: a delegate takes 2 ms. Its two operators take 0.5 and 1 ms and belong to different modules."""
    inspector = Inspector(etdump_data=dumps.three_runs())
    events = by_name(inspector)
    conv, head = {"L__self___conv": ("conv", "Conv2d")}, {"L__self___head": ("head", "Linear")}
    events["7"].module_hierarchy = {"aten_convolution_default": conv}
    events["gemm"].module_hierarchy = {"aten_addmm_default": head}
    events["DELEGATE_CALL"].module_hierarchy = {"aten_convolution_default": conv, "aten_addmm_default": head}
    events["native_call_add.out"].module_hierarchy = events["OPERATOR_CALL"].module_hierarchy = {"aten_add": head}
    assert inspector.find_total_for_module("conv") == 0.5
    assert inspector.find_total_for_module("head") == 1 + (0.5 + 1.5 + 2.5) / 3
    assert inspector.find_total_for_module("L__self__") == 0.5 + 1 + 1.5
    # If the delegate logs no times of operators, the time of the delegate call is used.
    for name in ("7", "gemm"):
        events[name].perf_data = None
    assert inspector.find_total_for_module("conv") == 2


def test_ins_09_table(capsys: pytest.CaptureFixture[str]) -> None:
    """INS-02, INS-03, INS-09: the printed table has 13 columns, with the start times of all runs in the last one."""
    inspector = Inspector(etdump_data=dumps.three_runs())
    inspector.print_data_tabular()
    lines = capsys.readouterr().out.splitlines()
    header = [cell.strip() for cell in lines[1].strip("│").split("│")]
    times = [f"{name} (ms)" for name in ("p10", "p50", "p90", "avg", "min", "max")]
    assert header == ["", "event_block_name", "event_name", *times, *header[9:]] and len(header) == 13
    assert header[9:] == ["op_types", "is_delegated_op", "delegate_backend_name", "start_time"]
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines[3:-1:2]]
    assert [row[2] for row in rows] == [name for name in NAMES if name != "OPERATOR_CALL"]
    assert rows[2] == ["2", "Execute", "7", *["0.5"] * 6, "[]", "True", "", "[14000000, 24000000, 34000000]"]
    assert len({len(line) for line in lines}) == 1, "the box is closed"
    frame = inspector.to_dataframe()
    assert list(frame["event_name"]) == NAMES
    assert frame["raw"][2] == [1.0, 2.0, 3.0] and frame["avg (ms)"].dtype == float
    assert "avg" in inspector.to_dataframe(include_units=False).columns


def test_tsv_has_the_rows_of_the_table() -> None:
    file = io.StringIO()
    Inspector(etdump_data=dumps.three_runs()).save_data_to_tsv(file)
    rows = [line.split("\t") for line in file.getvalue().splitlines()]
    assert {len(row) for row in rows} == {13}
    assert rows[0][2] == "event_name" and rows[-1][2] == "Method::execute" and float(rows[-1][3]) == 7


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (TimeScale.NS, TimeScale.MS, [1.0, 2.0, 3.0]),
        (TimeScale.US, TimeScale.S, [1.0, 2.0, 3.0]),
        (TimeScale.MS, TimeScale.NS, [1e12, 2e12, 3e12]),
        (TimeScale.CYCLES, TimeScale.CYCLES, [1e6, 2e6, 3e6]),
    ],
)
def test_ins_14_time_scales(source: TimeScale, target: TimeScale, expected: list[float]) -> None:
    """INS-14: a device's ticks are of any unit, also cycles."""
    inspector = Inspector(etdump_data=dumps.three_runs(), source_time_scale=source, target_time_scale=target)
    data = by_name(inspector)["OPERATOR_CALL"].perf_data
    assert data is not None and data.raw == pytest.approx(expected)
    assert f"avg ({target.value})" in inspector.to_dataframe().columns


def test_ins_03_delegates_with_a_clock_of_their_own() -> None:
    """INS-03: times of a delegate's events go through the converter, with the event's name; others do not."""
    inspector = Inspector(
        etdump_data=dumps.three_runs(),
        delegate_time_scale_converter=lambda name, time: time / (2 if name == "gemm" else 1),
    )
    events = by_name(inspector)
    assert events["gemm"].perf_data == PerfData([MS / 2] * 3)
    assert events["DELEGATE_CALL"].perf_data == PerfData([2.0] * 3)


def test_dbg_14_metadata_parser() -> None:
    """DBG-14: the parser gets the bytes of all runs; a dict becomes columns, a list one column."""
    seen: list[list[bytes]] = []

    def parse(metadata: list[bytes]) -> dict[str, object]:
        seen.append(metadata)
        return {"kernel": [data.decode() for data in metadata]}

    inspector = Inspector(etdump_data=dumps.three_runs(), delegate_metadata_parser=parse)
    assert by_name(inspector)["7"].delegate_debug_metadatas == {"kernel": ["conv 1", "conv 2", "conv 3"]}
    frame = inspector.to_dataframe(include_delegate_debug_data=True)
    assert frame["kernel"][3] == ["conv 1", "conv 2", "conv 3"]
    assert all(type(data) is bytes for metadata in seen for data in metadata)
    listed = Inspector(etdump_data=dumps.three_runs(), delegate_metadata_parser=lambda m: [str(len(d)) for d in m])
    assert listed.to_dataframe(include_delegate_debug_data=True)["delegate_debug_metadata"][3] == ["6"] * 3


def test_a_loop_adds_up() -> None:
    """An instruction that a run executes three times has one event, with the sum of the times."""
    once = [dumps.profile("OPERATOR_CALL", 0, MS, 0)]
    inspector = Inspector(etdump_data=dumps.dump(dumps.run(*once * 3), dumps.run(*once * 2)))
    assert by_name(inspector)["OPERATOR_CALL"].perf_data == PerfData([3.0, 2.0])


def buffer_file(tmp_path: Path, *tensors: torch.Tensor) -> tuple[Path, list[int]]:
    data, places = bytearray(), []
    for tensor in tensors:
        data += bytes(-len(data) % 64)
        places.append(len(data))
        data += bytes(tensor.contiguous().view(torch.uint8).numpy()) if tensor.numel() else b""
    path = tmp_path / "debug.bin"
    path.write_bytes(data)
    return path, places


def test_mdb_03_recorded_tensors(tmp_path: Path) -> None:
    """MDB-03, MDB-06, DT-05: without an ETRecord, results of instructions and outputs come from the debug buffer."""
    half, table = torch.tensor([0.5, -2], dtype=torch.float16), torch.arange(6, dtype=torch.int64).reshape(2, 3)
    path, (first, second) = buffer_file(tmp_path, half, table)
    content = dumps.dump(
        dumps.run(
            dumps.profile("OPERATOR_CALL", 0, 1, 0),
            dumps.recorded(first, (2,), 0, dtype=ScalarType.HALF),
            dumps.recorded(second, (3, 2), 1, dtype=ScalarType.LONG, strides=(1, 3)),
            dumps.recorded(second, (2, 3), output=True, dtype=ScalarType.LONG),
            dumps.profile("Method::execute", 0, 1),
        )
    )
    for argument in ("debug_buffer_path", "buffer_path"):
        inspector = Inspector(etdump_data=content, **{argument: str(path)})
        (block,) = inspector.event_blocks
        assert block.run_output is not None and torch.equal(block.run_output[0], table)
        operator, only_recorded, _ = block.events
        assert torch.equal(operator.debug_data[0], half)
        assert torch.equal(only_recorded.debug_data[0], table.T) and only_recorded.perf_data is None
    inspector.print_data_tabular(io.StringIO())  # also an event without times
    assert Inspector(etdump_data=content).event_blocks[0].events[0].debug_data == [None], "nothing is made up"


def test_runs_with_other_outputs_are_other_blocks(tmp_path: Path) -> None:
    path, places = buffer_file(tmp_path, *(torch.tensor([1.0, value]) for value in (2, math.nan, math.nan)))
    runs = [dumps.run(dumps.recorded(place, output=True), dumps.profile("Method::execute", 0, 1)) for place in places]
    blocks = Inspector(etdump_data=dumps.dump(*runs), debug_buffer_path=str(path)).event_blocks
    assert [len(block.events[0].perf_data.raw) for block in blocks if block.events[0].perf_data] == [1, 2]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (dumps.recorded(4), r"has 8 bytes, the ETDump has a tensor of 8 bytes at byte 4: the buffer is cut off or of"),
        (dumps.recorded(-8), "at byte -8"),
        (dumps.recorded(0, (-1,)), "the file is damaged"),
        (dumps.recorded(0, (2, 2), strides=(0, 1)), "the file is damaged"),
        (dumps.recorded(0, (2**40, 2**40)), "the file is damaged"),
        (dumps.recorded(0, dtype=ScalarType.QUINT4x2), "a tensor of dtype"),
    ],
)
def test_a_buffer_of_another_dump(event: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "debug.bin"
    path.write_bytes(struct.pack("<2f", 1, 2))
    with pytest.raises(ValueError, match=message):
        Inspector(etdump_data=dumps.dump(dumps.run(event)), debug_buffer_path=str(path))


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="exactly one of etdump_path or etdump_data"):
        Inspector()
    with pytest.raises(RuntimeError, match="both the source and target time scale"):
        Inspector(etdump_data=dumps.three_runs(), source_time_scale=TimeScale.CYCLES)
    (tmp_path / "x.etdp").write_bytes(b"no dump at all")
    with pytest.raises(ValueError, match=r"x.etdp' cannot be read as an ETDump: expected the identifier"):
        Inspector(etdump_path=str(tmp_path / "x.etdp"))
    inspector = Inspector(etdump_data=dumps.three_runs())
    assert inspector.get_exported_program() is None and inspector.get_op_list("Execute") == {}
    with pytest.raises(ValueError, match="pass etrecord="):
        inspector.calculate_numeric_gap("L1")


def test_ins_08_command(tmp_path: Path) -> None:
    """INS-08, ETD-01: the command prints the table of print_data_tabular, or one line on what is wrong."""
    path = tmp_path / "x.etdp"
    path.write_bytes(dumps.three_runs())
    command = ["-m", "sdk.devtools.inspector.inspector_cli", "--etdump_path", str(path)]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    expected = io.StringIO()
    Inspector(etdump_path=str(path)).print_data_tabular(expected)
    assert done.returncode == 0 and done.stdout == expected.getvalue()
    tsv = tmp_path / "x.tsv"
    assert forked.run(*command, "--tsv_path", tsv).returncode == 0
    assert tsv.read_text().count("\n") == 7
    path.write_bytes(path.read_bytes()[:50])
    done = forked.run(*command)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1 and "cut off" in done.stderr


def test_mdb_04_compare_results() -> None:
    """MDB-04: a dict of metrics, with the values of their formulas."""
    reference, output = torch.tensor([1.0, 2, 3]), torch.tensor([1.0, 2.5, 3])
    results = compare_results([reference, reference], [output, reference])
    assert set(results) == {"snr", "mse", "cosine_similarity"}
    assert results["mse"] == pytest.approx([0.25 / 3, 0])
    assert results["snr"] == pytest.approx([10 * math.log10(14 / 0.25), math.inf])
    assert results["cosine_similarity"] == pytest.approx([15 / math.sqrt(14 * 16.25), 1])
    assert list(compare_results([1], [2.0], metrics=["mse"]).items()) == [("mse", [1.0])]
    with pytest.raises(ValueError, match="expected 2 outputs, as the reference has, found 1"):
        compare_results([reference, reference], [output])
    with pytest.raises(ValueError, match="no metric 'psnr'"):
        compare_results([reference], [output], metrics=["psnr"])
