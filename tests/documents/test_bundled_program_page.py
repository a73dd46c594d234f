# SPDX-License-Identifier: BSD-3-Clause
"""The page on bundled programs: its two models and its two errors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import export

from sdk.devtools import BundledProgram
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program,
    serialize_from_bundled_program_to_flatbuffer,
)
from sdk.exir import ExecutorchProgramManager, to_edge, to_edge_transform_and_lower
from sdk.extension.pybindings.portable_lib import (
    _load_bundled_program_from_buffer,
    _load_for_executorch_from_bundled_program,
)


class SampleModel(nn.Module):
    """A model with integers in buffers, and operators that write to given tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", 3 * torch.ones(2, 2, dtype=torch.int32))
        self.register_buffer("b", 2 * torch.ones(2, 2, dtype=torch.int32))

    def forward(self, x: Tensor, q: Tensor) -> Tensor:
        z = x.clone()
        torch.mul(self.a, x, out=z)
        y = x.clone()
        torch.add(z, self.b, out=y)
        torch.add(y, q, out=y)
        return y


class Module(nn.Module):
    """Tensors that are plain attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.a = 3 * torch.ones(2, 2, dtype=torch.float)
        self.b = 2 * torch.ones(2, 2, dtype=torch.float)

    def forward(self, x: Tensor) -> Tensor:
        out_1 = torch.ones(2, 2, dtype=torch.float)
        out_2 = torch.ones(2, 2, dtype=torch.float)
        torch.mul(self.a, x, out=out_1)
        torch.add(out_1, self.b, out=out_2)
        return out_2


@pytest.fixture
def program() -> ExecutorchProgramManager:
    inputs = (torch.ones(2, 2, dtype=torch.float),)
    return to_edge(export(export(Module(), inputs).module(), inputs)).to_executorch()


def suites(model: nn.Module, dtype: torch.dtype, count: int) -> list[MethodTestSuite]:
    calls = [[torch.randint(-5, 5, (2, 2), dtype=dtype) for _ in range(count)] for _ in range(10)]
    cases = [MethodTestCase(inputs=call, expected_outputs=(model.forward(*call),)) for call in calls]
    return [MethodTestSuite(method_name="forward", test_cases=cases)]


def verify(data: bytes) -> None:
    bundle = _load_bundled_program_from_buffer(data)
    module = _load_for_executorch_from_bundled_program(bundle)
    for index in range(10):
        module.verify_result_with_bundled_expected_output(bundle, "forward", index)


def test_bun13_the_emit_example(tmp_path: Path) -> None:
    model = SampleModel()
    inputs = tuple((torch.rand(2, 2) - 0.5).to(dtype=torch.int32) for _ in range(2))
    method_graph = export(export(model, inputs).module(), inputs)
    et_program = to_edge_transform_and_lower(method_graph).to_executorch()
    bundled_program = BundledProgram(et_program, suites(model, torch.int32, 2))
    path = tmp_path / "bundled_program.bpte"
    path.write_bytes(serialize_from_bundled_program_to_flatbuffer(bundled_program))
    regenerated = deserialize_from_flatbuffer_to_bundled_program(path.read_bytes())
    assert regenerated == bundled_program.serialize_to_schema()
    verify(path.read_bytes())


def test_bun14_tensors_that_are_attributes(program: ExecutorchProgramManager) -> None:
    verify(serialize_from_bundled_program_to_flatbuffer(BundledProgram(program, suites(Module(), torch.float, 1))))


def test_bun14_common_errors(program: ExecutorchProgramManager) -> None:
    with pytest.raises(AssertionError, match=r"dtype shall be torch\.float32, but now is torch\.int32"):
        BundledProgram(program, suites(Module(), torch.int, 1))
    method_test_suites = suites(Module(), torch.float, 1)
    method_test_suites[0].method_name = "MISSING_METHOD_NAME"
    with pytest.raises(AssertionError, match=r"but \{'MISSING_METHOD_NAME'\} does not include"):
        BundledProgram(program, method_test_suites)
