# SPDX-License-Identifier: BSD-3-Clause
"""Emitted programs as data: `serde` writes and reads the graph with its memory."""

from __future__ import annotations

import io
import json
import operator
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram, export

from sdk.exir import ExecutorchBackendConfig, memory, to_edge
from sdk.exir.error import ExportError
from sdk.exir.passes import RemoveNoopPass
from sdk.exir.serde.serialize import deserialize, load, save, serialize


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        self.count.add_(1)
        values, places = x.view(4, 2).max(1)
        return self.linear(x).split(1, 1)[1], values, places, self.count + 1


@pytest.fixture(scope="module")
def emitted() -> ExportedProgram:
    torch.manual_seed(0)
    return to_edge(export(Counter(), (torch.randn(2, 4),))).to_executorch().exported_program()


def _calls(program: ExportedProgram) -> list[tuple[str, str, str]]:
    """Yields each call with its arguments. The reader passes some by name, and adds unused elements of a list."""
    found = []
    for node in program.graph.nodes:
        if node.op == "call_function" and (node.users or node.target is not operator.getitem):
            name = "view" if node.target is memory.view else node.name
            arguments = [*node.args, *node.kwargs.values()]
            found.append((name, str(node.target).partition(" at ")[0], str(arguments)))
    return sorted(found)


def test_the_graph_comes_back(emitted: ExportedProgram) -> None:
    for read in (deserialize(serialize(emitted)), _through_file(emitted)):
        assert _calls(read) == _calls(emitted)
        assert read.graph_signature == emitted.graph_signature
        assert read.state_dict.keys() == emitted.state_dict.keys()


def test_it_runs_in_eager_mode() -> None:
    """An emitted program, also one that was read from a file, can be called as a module in eager mode."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    inputs = (torch.randn(5, 4),)
    edge = to_edge(export(model, inputs))
    program = edge.to_executorch().exported_program()
    after_passes = edge.to_executorch(ExecutorchBackendConfig(passes=[RemoveNoopPass()])).exported_program()
    for each in (program, after_passes, deserialize(serialize(program)), _through_file(program)):
        module = each.module()
        assert sorted(module.state_dict()) == sorted(model.state_dict())
        with torch.no_grad():
            torch.testing.assert_close(module(*inputs), model(*inputs))


def _through_file(program: ExportedProgram) -> ExportedProgram:
    file = io.BytesIO()
    save(program, file)
    return load(file)


def test_memory_is_written_as_the_original_writes_it(emitted: ExportedProgram) -> None:
    program = json.loads(serialize(emitted).exported_program)
    assert program["verifiers"] == ["EDGE"]
    nodes = program["graph_module"]["graph"]["nodes"]
    memories = [
        [(i["name"], i["arg"]["as_string"]) for i in n["inputs"]] for n in nodes if n["target"] == "memory.alloc"
    ]
    assert [("alloc_arg", "(4,);5")] in memories  # the places of the largest values
    assert [("alloc_list", "(2, 1);7")] * 3 in memories
    split = next(n for n in nodes if "split" in n["target"])
    assert split["inputs"][-1] == {"name": "out", "arg": {"as_tensor": {"name": _list_of(nodes)}}}


def _list_of(nodes: list[dict[str, Any]]) -> str:
    return next(n["name"] for n in nodes if n["inputs"][0]["name"] == "alloc_list")


@pytest.mark.parametrize("text", ["(4,);99", "4;7", "(-1,);7", "(4,);7; import os", "(4,)"])
def test_a_memory_that_is_not_understood(emitted: ExportedProgram, text: str) -> None:
    artifact = serialize(emitted)
    artifact.exported_program = artifact.exported_program.replace(b'"(4,);5"', json.dumps(text).encode())
    with pytest.raises(ExportError, match="expected sizes and a dtype"):
        deserialize(artifact)
