# SPDX-License-Identifier: BSD-3-Clause
"""Each SDK reads the other's ETRecords: ETR-01, ETR-02."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from interop.originals import InOriginal, in_both_releases
from sdk.devtools import parse_etrecord
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo

pytestmark = [pytest.mark.network, pytest.mark.oracle, in_both_releases]

READ = """
import sys, torch
from executorch.devtools import Inspector, parse_etrecord
from executorch.devtools.inspector._inspector_utils import gen_graphs_from_etrecord
from executorch.exir.backend.test import op_partitioner_demo

record = parse_etrecord(sys.argv[1])
call, expected = torch.load(sys.argv[2])
programs = [record.exported_program, record.edge_dialect_program, *record.graph_map.values()]
assert len(programs) == 3
for program in programs:
    torch.testing.assert_close(program.module()(*call), expected)
names = {n.name: n.meta.get("debug_handle") for n in record.edge_dialect_program.graph.nodes}
mapped = [set(d["delegate_map"]) for d in record._delegate_map["forward"].values()]
first, second = ["aten_mul_tensor", "aten_add_tensor"], ["aten_mul_tensor_1"]
assert mapped == [{str(names[n]) for n in first}, {str(names[n]) for n in second}], mapped
assert gen_graphs_from_etrecord(record)
print("read")
"""

WRITE = """
import sys, torch
from executorch.devtools import generate_etrecord
from executorch.exir import to_edge
from executorch.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo

class Gate(torch.nn.Module):
    def forward(self, x, p):
        return torch.cond(p, lambda a: a.sin(), lambda a: a.cos(), (x * x + 1,)), x.sort()[0]

call = (torch.tensor([0.5, 2.0]), torch.tensor(False))
exported = torch.export.export(Gate(), call)
record = to_edge(exported, generate_etrecord=True).to_backend(AddMulPartitionerDemo()).to_executorch().get_etrecord()
record.add_extra_export_modules({"lowered": to_edge(exported).to_backend(AddMulPartitionerDemo())})
record.save(sys.argv[1])
torch.save((call, Gate()(*call)), sys.argv[2])
"""


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, p: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(self.linear(x)) * x + x
        return torch.cond(p, lambda a: a.sin(), lambda a: a.cos(), (y,)) * x, x.max(dim=1)[0]


def test_etr_01_the_original_reads_ours(in_original: InOriginal, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, call = Model().eval(), (torch.rand(2, 3), torch.tensor(True))
    exported = torch.export.export(model, call)
    edge = to_edge_transform_and_lower(exported, partitioner=[AddMulPartitionerDemo()], generate_etrecord=True)
    record = edge.to_executorch().get_etrecord()
    record.add_extra_export_modules({"lowered": edge})
    record.save(tmp_path / "r")
    torch.save((call, model(*call)), tmp_path / "data")
    assert "read" in in_original("-c", READ, tmp_path / "r", tmp_path / "data")


def test_etr_01_ours_reads_the_originals(in_original: InOriginal, tmp_path: Path) -> None:
    in_original("-c", WRITE, tmp_path / "r", tmp_path / "data")
    record = parse_etrecord(tmp_path / "r")
    call, expected = torch.load(tmp_path / "data")
    for program in (record.exported_program, record.edge_dialect_program, *record.graph_map.values()):
        torch.testing.assert_close(program.module()(*call), expected)
    assert any("debug_handle" in n.meta for n in record.edge_dialect_program.graph.nodes)
    assert [d["name"] for d in record._delegate_map["forward"].values()] == ["BackendWithCompilerDemo"]
