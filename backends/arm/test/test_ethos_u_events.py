# SPDX-License-Identifier: BSD-3-Clause
"""The commands of a program for an Ethos-U are events, and the Inspector attributes Vela's cycles to the layers."""

from __future__ import annotations

import csv
import io
import re
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch
from ethos_u_model import quantized, run_stream, values
from torch import nn
from torch.export import export

from sdk.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from sdk.backends.arm.ethosu.debug_database import read_commands
from sdk.backends.arm.ethosu.stream import VelaStream
from sdk.devtools import Inspector
from sdk.devtools.inspector import TimeScale
from sdk.exir import to_edge_transform_and_lower
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

SPEC = EthosUCompileSpec("ethos-u55-128")


class Net(nn.Module):
    """A small CNN. The names of its layers are those of the modules."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)
        self.second = nn.Conv2d(8, 8, 3, groups=8)
        self.pool = nn.MaxPool2d(2)
        self.last = nn.Linear(8 * 6 * 6, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        x = self.pool(self.second(x))
        return self.last(x.flatten(1))


LAYERS = {
    "aten.convolution.default": {"convolution", "depthwise"},
    "aten.max_pool2d_with_indices.default": {"pool"},
    "aten.max_pool2d.default": {"pool"},
    "aten.addmm.default": {"convolution"},
    "aten.linear.default": {"convolution"},
}


def _events(spec: EthosUCompileSpec, folder: Path, runs: int = 1) -> tuple[list[Any], Any]:
    """The events of the delegate in the Inspector, and the program's manager."""
    torch.manual_seed(0)
    model, image = Net(), torch.randn(1, 3, 16, 16)
    program = export(quantized(model, (image,), spec), (image,))
    edge = to_edge_transform_and_lower(program, partitioner=[EthosUPartitioner(spec)], generate_etrecord=True)
    manager = edge.to_executorch()
    loaded = _load_for_executorch_from_buffer(manager.buffer, enable_etdump=True)
    for _ in range(runs):
        loaded.forward([image])
    loaded.write_etdump_result_to_file(str(folder / "run.etdp"))
    manager.get_etrecord().save(str(folder / "record.bin"))
    inspector = Inspector(str(folder / "run.etdp"), etrecord=str(folder / "record.bin"), target_time_scale=TimeScale.NS)
    return [event for block in inspector.event_blocks for event in block.events if event.is_delegated_op], manager


def _kind(event: Any) -> str:
    return event.raw_delegate_debug_metadatas[0].decode().rstrip("\0")


def _stream(manager: Any) -> VelaStream:
    buffer = manager.buffer
    return VelaStream.from_bytes(buffer[buffer.index(b"vela_bin_stream") :])


@pytest.mark.parametrize("target", ["ethos-u55-32", "ethos-u55-256", "ethos-u65-512"])
def test_velas_cycles_belong_to_the_layers(target: str, tmp_path: Path) -> None:
    """Each layer has the commands that compute it, and the sum of their cycles is Vela's total for the network."""
    spec = EthosUCompileSpec(target).store_cycles().dump_intermediate_artifacts_to(tmp_path)
    events, manager = _events(spec, tmp_path, runs=2)
    stream = _stream(manager)
    inputs = [values(edge.shape, torch.int8, 1) for edge in stream.inputs]
    assert [event.delegate_debug_identifier for event in events] == list(range(len(events)))
    assert len(events) == run_stream(stream, inputs).commands.total()
    found: dict[str, set[str]] = defaultdict(set)
    for event in events:
        (layer,) = [name for name in event.op_types if name in LAYERS] or [None]
        if layer is not None:
            found[layer].add(_kind(event))
        assert event.delegate_backend_name == "EthosUBackend"
    assert set(found) == {next(n for n in names if n in found) for names in (
        ("aten.convolution.default",), ("aten.max_pool2d_with_indices.default", "aten.max_pool2d.default"),
        ("aten.addmm.default", "aten.linear.default"))}  # fmt: skip
    for layer, kinds in found.items():
        assert LAYERS[layer] <= kinds, (layer, kinds)
    assert stream.timing is not None
    for run in range(2):
        time = sum(event.perf_data.raw[run] for event in events)
        assert time * stream.timing.clock / 1e9 == pytest.approx(_total(spec, tmp_path), abs=0.5)


def _total(spec: EthosUCompileSpec, folder: Path) -> int:
    """The cycles of the network, in the summary of a run of Vela without its debug database."""
    (graph,) = folder.glob("partition_*.tosa")
    made = folder / "vela"
    command = [sys.executable, "-m", "ethosu.vela", *spec.compiler_flags, f"--output-dir={made}", str(graph)]
    subprocess.run(command, check=True, capture_output=True)
    (summary,) = made.glob("*_summary_*.csv")
    (row,) = csv.DictReader(io.StringIO(summary.read_text(encoding="utf-8")))
    return int(row["cycles_total"])


def test_the_payload_has_cycles_where_they_are_asked_for(tmp_path: Path) -> None:
    """Without `store_cycles`, the payload has only ExecuTorch's blocks, and the events have the time of the model."""
    events, manager = _events(SPEC, tmp_path)
    assert _stream(manager).timing is None
    assert events and all(event.perf_data.raw[0] >= 0 for event in events)
    again = EthosUCompileSpec.from_compile_specs(SPEC.store_cycles().to_compile_specs())
    assert again.stores_cycles
    assert not EthosUCompileSpec.from_compile_specs(again.store_cycles(False).to_compile_specs()).stores_cycles


def test_the_receipt_has_memory_and_cycles(tmp_path: Path) -> None:
    """ETU-15: the memory that a partition uses, and Vela's cycles."""
    spec = EthosUCompileSpec("ethos-u55-128").dump_intermediate_artifacts_to(tmp_path)
    _, manager = _events(spec, tmp_path)
    (report,) = tmp_path.glob("partition_*.txt")
    (memory,) = re.findall(r"Total SRAM used +([\d.]+ KiB)", report.read_text(encoding="utf-8"))
    (note,) = [each for each in manager.get_receipt().notes if "SRAM" in each]
    assert note.startswith("forward: EthosUBackend says: ethos-u55-128: ") and f"Total SRAM used {memory}" in note
    assert note.endswith(f"{_total(spec, tmp_path)} cycles at 500000000 Hz")


DATABASE = """<table name="queue">
<![CDATA[
"offset","cmdstream_id","optimised_id","scheduled_id"
{queue}
]]>
</table>
<table name="perf">
<![CDATA[
"id","source_id","optimised_id","operator","op_cycles"
{perf}
]]>
</table>
<table name="source">
<![CDATA[
"id","operator","ext_key"
7,"Conv2D",30
8,"Add",31
]]>
</table>
"""
CONVOLUTION, ADD, COPY = 0x002, 0x006, 0x010


def _commands(*words: int) -> bytes:
    return struct.pack(f"<4s{4 + len(words)}I", b"COP1", 1, 0x3007, 0, 2 | len(words) << 16, *words)


def test_commands_have_the_operator_of_their_work() -> None:
    """The queue has the last command of each piece of work. A copy belongs to the work after it; cycles without
    commands are added to the work before them."""
    stream = _commands(COPY, CONVOLUTION, CONVOLUTION, COPY, ADD, 0)
    database = DATABASE.format(queue="8,1,0,50\n16,1,0,60", perf="50,7,0,Conv2D,11\n55,8,0,LUT,3\n60,8,0,Add,5")
    found = [(command.source, command.cycles) for command in read_commands(stream, database)]
    assert found == [(30, 0), (30, 8), (30, 6), (31, 0), (31, 5)] and sum(each for _, each in found) == 11 + 3 + 5


@pytest.mark.parametrize(
    ("stream", "queue", "perf"),
    [
        (b"COP2", "4,1,0,50", "50,7,0,Conv2D,11"),
        (_commands(CONVOLUTION), "", "50,7,0,Conv2D,11"),
        (_commands(CONVOLUTION), "0,1,0,50", "51,7,0,Conv2D,11"),
    ],
)
def test_a_database_of_another_form_is_an_error(stream: bytes, queue: str, perf: str) -> None:
    with pytest.raises((KeyError, ValueError)):
        read_commands(stream, DATABASE.format(queue=queue, perf=perf))
