# SPDX-License-Identifier: BSD-3-Clause
"""size_analysis_tool: the bytes of weights and delegates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch.export import export

from sdk.devtools.size_analysis_tool import size_analysis_tool
from sdk.devtools.size_analysis_tool.size_analysis_tool import generate_model_size_information
from sdk.exir import to_edge, to_edge_transform_and_lower
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo

X = (torch.ones(2, 4),)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.register_buffer("table", torch.ones(3, dtype=torch.int64))

    def forward(self, x):
        y = torch.relu(self.linear(x)) - self.table
        return torch.cond(y.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (y,))


def test_sizes_of_weights() -> None:
    manager = to_edge(export(Model(), X)).to_executorch()
    found = generate_model_size_information(manager.exported_program(), flatbuffer=manager.buffer)
    sizes = {(one["dtype"], one["numel"]): one["num_bytes"] for one in found["tensor_data"]}
    assert {("float32", 12): 48, ("float32", 3): 12, ("int64", 3): 24}.items() <= sizes.items()
    numbers = [one["num_bytes"] for one in found["tensor_data"]]
    assert numbers == sorted(numbers, reverse=True)
    overview = found["overview"]
    assert overview["total_tensor_data_size"] == sum(numbers) and overview["total_delegate_blob_data_size"] == 0
    assert overview["model_size"] == len(manager.buffer) == sum(numbers) + overview["serialization_metadata_size"]
    (weight,) = [one for one in found["tensor_data"] if one["numel"] == 12]
    assert sorted(weight["shape"]) == [3, 4] and weight["element_size"] == 4


def test_sizes_of_delegates() -> None:
    class Sums(torch.nn.Module):
        def forward(self, x):
            y = torch.sin(x + x * 2)
            return torch.cond(y.sum() > 0, lambda a: a + 1, lambda a: a * 2, (y,))

    program = to_edge_transform_and_lower(export(Sums(), X), partitioner=[AddMulPartitionerDemo()]).exported_program()
    found = generate_model_size_information(program, {"BackendWithCompilerDemo": lambda data: {"start": data[:1]}})
    blobs = found["delegate_blob_data"]
    assert len(blobs) == 3 and {one["backend_id"] for one in blobs} == {"BackendWithCompilerDemo"}
    assert found["overview"]["total_delegate_blob_data_size"] == sum(one["num_bytes"] for one in blobs) > 0
    assert all(len(one["start"]) == 1 for one in blobs)
    assert "model_size" not in found["overview"]


def test_sizes_of_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manager = to_edge(export(Model(), X), generate_etrecord=True)
    record = manager.to_executorch().get_etrecord()
    record.graph_map = {"edge/forward": manager.exported_program()}
    record.save(tmp_path / "etrecord.bin")
    output = tmp_path / "sizes.json"
    assert size_analysis_tool.main([f"--etrecord_path={tmp_path / 'etrecord.bin'}", f"--output_path={output}"]) == 0
    (found,) = json.loads(output.read_text())
    assert found["overview"]["total_tensor_data_size"] >= 48 + 12 + 24
    assert size_analysis_tool.main(["--etrecord_path", str(tmp_path / "none")]) == 1
    assert "none" in capsys.readouterr().err
