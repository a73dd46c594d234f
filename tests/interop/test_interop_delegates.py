# SPDX-License-Identifier: BSD-3-Clause
"""The original reads our delegated programs: it calls the same backends with the same options and payloads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch.export import export

from interop.originals import in_both_releases
from sdk.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from sdk.exir.backend.canonical_partitioners.all_node_partitioner import AllNodePartitioner
from sdk.exir.backend.test.backend_with_named_data_map import BackendWithNDMPartitioner
from sdk.exir.backend.test.op_partitioner_demo import AddAttributePartitionerDemo, AddMulPartitionerDemo
from sdk.exir.lowered_backend_module import get_lowered_backend_modules

pytestmark = [pytest.mark.oracle, pytest.mark.network, in_both_releases]


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.mm(x, x) + x
        return torch.sin(torch.cond(x.sum() > 0, lambda y: self.linear(y) + y, lambda y: torch.mm(y, y) * y, [y]))


PARTITIONERS = {
    "some": AddMulPartitionerDemo(),
    "weights": AddAttributePartitionerDemo(),
    "data": BackendWithNDMPartitioner(),
    "all": AllNodePartitioner("ExecutorBackend", []),
}


@pytest.mark.parametrize("inline", [False, True])
def test_delegates_are_read(oracle, tmp_path: Path, inline: bool) -> None:
    """DEL-22, ETPM-14"""
    program = export(Model().eval(), (torch.ones(3, 3),))
    expected = {}
    for name, partitioner in PARTITIONERS.items():
        edge = to_edge_transform_and_lower(program, partitioner=[partitioner])
        config = ExecutorchBackendConfig(extract_delegate_segments=not inline)
        (tmp_path / f"{name}.pte").write_bytes(edge.to_executorch(config).buffer)
        expected[name] = sorted(
            (m.backend_id, m.processed_bytes.hex(), [[s.key, s.value.hex()] for s in m.compile_specs])
            for m in get_lowered_backend_modules(edge.exported_program().graph_module)
        )
    oracle("describe", tmp_path, *PARTITIONERS)
    for name, modules in expected.items():
        error = tmp_path / f"{name}.error.txt"
        assert not error.exists(), error.read_text()
        found = json.loads((tmp_path / f"{name}.delegates.json").read_text())["forward"]
        assert sorted((d["id"], d["payload"], d["specs"]) for d in found["delegates"]) == modules
        assert found["calls"] == len(modules)
