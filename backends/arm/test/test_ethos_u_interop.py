# SPDX-License-Identifier: BSD-3-Clause
"""Programs for an Ethos-U that the original lowered: the model of the NPU gives the results of the TOSA reference
model for the original's TOSA files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from ethos_u_cases import OPERATORS, Model
from ethos_u_model import run_stream, values
from torch.export import export, save

from interop.originals import InOriginal
from sdk.backends.arm.ethosu import EthosUCompileSpec
from sdk.backends.arm.ethosu.stream import VelaStream
from sdk.backends.arm.tosa import reference
from sdk.backends.arm.tosa.schema import IDENTIFIER, TOSA_FILE
from sdk.exir._serialize._flatbuffer import read_root
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.runtime import Runtime

SCRIPT = Path(__file__).with_name("original_ethos_u.py")
SPEC = EthosUCompileSpec("ethos-u55-128")
SAMPLE = ("convolution", "depthwise", "linear", "avg_pool", "add_broadcast", "softmax")


@dataclass
class Original:
    """A program of the original, with the TOSA files of its delegates."""

    program: bytes
    graphs: list[bytes]

    @property
    def streams(self) -> list[VelaStream]:
        file = deserialize_pte_binary(self.program).program
        (plan,) = file.execution_plan
        assert {each.id for each in plan.delegates} == {"EthosUBackend"}
        payloads = (file.backend_delegate_data[each.processed.index].data for each in plan.delegates)
        return [VelaStream.from_bytes(bytes(payload)) for payload in payloads]


Lower = Callable[[dict[str, Model]], Iterator[Original]]


@pytest.fixture
def originals(in_original: InOriginal, tmp_path: Path) -> Lower:
    """Lowers models in the original's environment, which also quantises them."""

    def lower(models: dict[str, Model]) -> Iterator[Original]:
        for name, (model, inputs) in models.items():
            save(export(model.eval(), inputs), tmp_path / f"{name}.pt2")
            torch.save(inputs, tmp_path / f"{name}.inputs.pt")
        in_original(SCRIPT, "ethos-u55-128", tmp_path, *models)
        for name in models:
            graphs = [path.read_bytes() for path in sorted((tmp_path / name).iterdir())]
            yield Original((tmp_path / f"{name}.pte").read_bytes(), graphs)

    return lower


def _made(factories: dict[str, Callable[[], Model]], names: tuple[str, ...] | None = None) -> dict[str, Model]:
    torch.manual_seed(0)
    return {name: make() for name, make in factories.items() if names is None or name in names}


def _assert_computed(original: Original, inputs: tuple[torch.Tensor, ...]) -> None:
    """The delegates give the bits of the TOSA reference model, and the program runs."""
    assert original.graphs and len(original.graphs) == len(original.streams)
    for graph, stream in zip(original.graphs, original.streams, strict=True):
        kinds = {1: torch.int8, 2: torch.int16, 4: torch.int32}
        calls = [[values(edge.shape, kinds[edge.element_size], seed) for edge in stream.inputs] for seed in range(3)]
        shapes = _shapes(graph)
        shaped = [[array.reshape(shape) for array, shape in zip(each, shapes, strict=True)] for each in calls]
        for arrays, expected in zip(calls, reference.run_each(graph, shaped), strict=True):
            for found, wanted in zip(run_stream(stream, arrays).outputs, map(np.asarray, expected), strict=True):
                np.testing.assert_array_equal(np.frombuffer(found, wanted.dtype), wanted.flatten())
    method = Runtime.get().load_program(original.program).load_method("forward")
    assert all(torch.isfinite(torch.as_tensor(each)).all() for each in method.execute(inputs))


def _shapes(graph: bytes) -> list[tuple[int, ...]]:
    """The shapes of the inputs of a TOSA file."""
    block = read_root(TOSA_FILE, graph, IDENTIFIER).regions[0].blocks[0]
    shapes = {tensor.name: tuple(tensor.shape) for tensor in block.tensors}
    return [shapes[name] for name in block.inputs]


@pytest.mark.sampled
def test_operators_that_the_original_lowered(originals: Lower) -> None:
    """ETU-01, ETU-06"""
    models = _made(OPERATORS, SAMPLE)
    for (name, (_, inputs)), original in zip(models.items(), originals(models), strict=True):
        print(name)
        _assert_computed(original, inputs)
