# SPDX-License-Identifier: BSD-3-Clause
"""The page on ETRecord: its snippets, with the model, the recipe and the partitioner that it omits."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch

import sdk.export
from sdk.devtools import generate_etrecord, parse_etrecord
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo as MyPartitioner
from sdk.exir.program import to_edge, to_edge_transform_and_lower
from sdk.export import ExportRecipe

model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()).eval()
example_inputs = (torch.randn(2, 3),)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def check(path: str) -> None:
    program = parse_etrecord(path).edge_dialect_program
    torch.testing.assert_close(program.module()(*example_inputs), model(*example_inputs))


def test_the_high_level_export() -> None:
    """EXP-16, ETR-02, ETR-03"""
    session = sdk.export(
        model=model, example_inputs=[example_inputs], export_recipe=ExportRecipe(), generate_etrecord=True
    )
    etrecord = session.get_etrecord()
    etrecord.save("model_debug.etrecord")
    check("model_debug.etrecord")


def test_to_edge() -> None:
    """ETR-03, ETR-04: the page calls to_backend() without a partitioner."""
    exported_program = torch.export.export(model, example_inputs)
    edge_manager = to_edge(exported_program, generate_etrecord=True)
    edge_manager = edge_manager.to_backend(MyPartitioner())
    et_manager = edge_manager.to_executorch()
    etrecord = et_manager.get_etrecord()
    etrecord.save("edge_debug.etrecord")
    check("edge_debug.etrecord")


def test_to_edge_transform_and_lower() -> None:
    """ETR-03"""
    exported_program = torch.export.export(model, example_inputs)
    edge_manager = to_edge_transform_and_lower(exported_program, partitioner=[MyPartitioner()], generate_etrecord=True)
    et_manager = edge_manager.to_executorch()
    etrecord = et_manager.get_etrecord()
    etrecord.save("debug.etrecord")
    check("debug.etrecord")


def test_the_function() -> None:
    """ETR-05, ETR-06"""
    aten_dialect = torch.export.export(model, example_inputs, strict=True)
    edge_program = to_edge(aten_dialect)
    edge_program_copy = copy.deepcopy(edge_program)
    executorch_program = edge_program_copy.to_executorch()
    generate_etrecord("debug.etrecord", edge_program, executorch_program)
    check("debug.etrecord")
