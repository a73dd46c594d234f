# SPDX-License-Identifier: BSD-3-Clause
"""The Inspectors of both show the same for one ETDump and ETRecord: INS-08, INS-09, ETR-01, DT-04."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from interop.originals import InOriginal, in_both_releases
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.devtools import Inspector
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime

pytestmark = [pytest.mark.network, pytest.mark.oracle, in_both_releases]

TABLE = """
import json, sys
from executorch.devtools import Inspector
etdump, etrecord, buffer, out = sys.argv[1:]
inspector = Inspector(etdump_path=etdump, etrecord=etrecord, debug_buffer_path=buffer)
frame = inspector.to_dataframe()
kept = ["event_block_name", "event_name", "raw", "p10 (ms)", "p90 (ms)", "avg (ms)", "op_types", "is_delegated_op",
        "delegate_backend_name", "delegate_debug_identifier", "start_time"]
rows = [dict(zip(kept, row)) for row in frame[kept].values.tolist()]
json.dump({"columns": frame.columns.tolist(), "rows": rows}, open(out, "w"))
"""

EXPORT = """
import sys, torch
from executorch.exir import to_edge
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)
    def forward(self, x):
        return torch.softmax(self.norm(self.first(x)).relu(), -1)
torch.manual_seed(0)
exported = torch.export.export(Net().eval(), (torch.linspace(-1, 1, 16).reshape(2, 8),))
program = to_edge(exported, generate_etrecord=True).to_executorch()
open(sys.argv[1] + "/m.pte", "wb").write(program.buffer)
record = program.get_etrecord()
record.update_representative_inputs([torch.linspace(-1, 1, 16).reshape(2, 8)])
record.save(sys.argv[1] + "/m.etrecord")
"""


class Net(nn.Module):
    """A convolution and a linear layer in a delegate; a scan and a norm outside."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 8, 3), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.conv(x).relu().mean((2, 3))).cumsum(1).tan()


def record_runs(folder: Path, inputs: tuple[torch.Tensor, ...]) -> Inspector:
    program = Runtime.get().load_program(folder / "m.pte", enable_etdump=True, debug_buffer_size=1 << 20)
    method = program.load_method("forward")
    for _ in range(3):
        method.execute(inputs)
    program.write_etdump_result_to_file(str(folder / "m.etdp"), str(folder / "m.bin"))
    return Inspector(
        str(folder / "m.etdp"), etrecord=str(folder / "m.etrecord"), debug_buffer_path=str(folder / "m.bin")
    )


def near(value: Any) -> Any:
    """The original converts times since the machine started to milliseconds before it subtracts them, which rounds
    them: after a day, to 1e-8."""
    return pytest.approx(value, rel=1e-6, abs=1e-8)


def compare(in_original: InOriginal, folder: Path, inspector: Inspector) -> None:
    """Checks that both show the same rows."""
    files = [folder / name for name in ("m.etdp", "m.etrecord", "m.bin", "table.json")]
    in_original("-c", TABLE, *files)
    theirs = json.loads(files[-1].read_text())
    frame = inspector.to_dataframe()
    assert theirs["columns"] == list(frame.columns)
    assert len(theirs["rows"]) == len(frame)
    whole = ("Method::execute", "Program::load_method")
    for row, ours in zip(theirs["rows"], frame.to_dict("records"), strict=True):
        for name, value in row.items():
            if name == "op_types" and row["event_name"] in whole:
                assert ours[name] == [], "a whole method is not an operator"
            elif value is None or value != value:  # pandas writes None as NaN in some columns
                assert ours[name] is None or ours[name] != ours[name], (name, row)
            elif isinstance(value, float):
                assert ours[name] == near(value)
            else:
                assert ours[name] == (near(value) if name == "raw" else value), (name, row)


def test_our_pair_in_both(in_original: InOriginal, tmp_path: Path) -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 16, 16),)
    lowered = to_edge_transform_and_lower(
        torch.export.export(Net().eval(), inputs), partitioner=[XnnpackPartitioner()], generate_etrecord=True
    )
    program = lowered.to_executorch()
    program.save(str(tmp_path / "m.pte"))
    record = program.get_etrecord()
    record.update_representative_inputs(list(inputs))
    record.save(tmp_path / "m.etrecord")
    compare(in_original, tmp_path, record_runs(tmp_path, inputs))


def test_the_originals_record_in_both(in_original: InOriginal, tmp_path: Path) -> None:
    """The original's program runs on our runtime, as the original's wheel records no events."""
    in_original("-c", EXPORT, tmp_path)
    compare(in_original, tmp_path, record_runs(tmp_path, (torch.linspace(-1, 1, 16).reshape(2, 8),)))
