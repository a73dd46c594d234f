# SPDX-License-Identifier: BSD-3-Clause
"""The original's tests of operators, with this package's lowering and the interpreter instead of a device."""

from __future__ import annotations

import importlib.util
import sys
import types
import unittest
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from interop.originals import make_oracle
from npu_models import written
from sdk.backends.samsung.partition.enn_partitioner import EnnPartitioner
from sdk.backends.samsung.quantizer import EnnQuantizer
from sdk.backends.samsung.serialization import compile_options
from sdk.backends.samsung.utils.export_utils import get_edge_compile_config, get_enn_pass_list
from sdk.backends.samsung.verify import ReferenceProgram
from sdk.compat import IMPLEMENTED
from sdk.exir import to_edge_transform_and_lower

pytestmark = [pytest.mark.oracle, pytest.mark.network]

EDGE = "executorch_exir_dialects_edge__ops_"
DIFFERENT = {"TestToCopy.test_fp32_to_copy"}
"""Here, a conversion alone is not delegated: a kernel computes it."""

DELEGATE = "torch.ops.higher_order.executorch_call_delegate"


class Tester:
    """The functions of `SamsungTester` that the original's tests call. `folder` is for programs."""

    folder: Path

    def __init__(self, module: torch.nn.Module, example_inputs: tuple[Any, ...], compile_specs: Any = None) -> None:
        self.module, self.inputs, self.specs = module.eval(), example_inputs, compile_specs
        self.lowered = self.module

    def export(self) -> Tester:
        self.program = export(self.lowered, self.inputs)
        self.graph = self.program.graph
        return self

    def quantize(self) -> Tester:
        prepared = prepare_pt2e(export(self.module, self.inputs).module(), EnnQuantizer())
        prepared(*self.inputs)
        self.lowered = convert_pt2e(prepared)
        return self

    def to_edge_transform_and_lower(self) -> Tester:
        self.manager = to_edge_transform_and_lower(
            self.program,
            get_enn_pass_list(),
            partitioner=[EnnPartitioner(self.specs)],
            compile_config=get_edge_compile_config(),
        )
        self.graph = self.manager.exported_program().graph
        return self

    def names(self) -> list[str]:
        return [str(node.target) for node in self.graph.nodes if node.op == "call_function"]

    def check_count(self, expected: dict[str, int]) -> Tester:
        for name, count in expected.items():
            if name == DELEGATE:
                assert sum("executorch_call_delegate" in each for each in self.names()) == count
            else:
                assert self.names().count(name.removeprefix("torch.ops.")) == count, (name, self.names())
        return self

    def check(self, expected: Sequence[str]) -> Tester:
        assert all(name.removeprefix("torch.ops.") in self.names() for name in expected)
        return self

    def check_not(self, refused: Sequence[str]) -> Tester:
        left = {EDGE + name.replace(".", "_") for name in self.names()}
        assert not left.intersection(refused)
        return self

    def to_executorch(self) -> Tester:
        self.file = written(self.manager, self.folder)
        return self

    def run_method_and_compare_outputs(
        self, inputs: tuple[Any, ...] | None = None, atol: float = 1e-3, rtol: float = 1e-3, **others: Any
    ) -> Tester:
        inputs = inputs or self.inputs
        outputs = ReferenceProgram(self.file).run_method("forward", inputs)
        expected = self.module(*inputs)
        for found, wanted in zip(outputs, [expected] if isinstance(expected, torch.Tensor) else expected, strict=True):
            torch.testing.assert_close(found, wanted, atol=atol, rtol=rtol)
        return self


@pytest.fixture
def originals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """The paths of the test files of the release that this SDK implements. This file replaces their imports."""
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "1")
    monkeypatch.setattr(Tester, "folder", tmp_path, raising=False)
    samsung = "executorch.backends.samsung"
    for name in ("executorch", "executorch.backends", samsung, f"{samsung}.serialization", f"{samsung}.test"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, f"{samsung}.serialization.compile_options", compile_options)
    tester = types.ModuleType(f"{samsung}.test.tester")
    vars(tester)["SamsungTester"] = Tester
    monkeypatch.setitem(sys.modules, tester.__name__, tester)
    place = "lib/python*/site-packages/executorch/backends/samsung/test/ops/test_*.py"
    return sorted(Path(make_oracle(release=IMPLEMENTED)).parents[1].glob(place))


def cases(file: Path) -> Iterator[unittest.TestCase]:
    """The tests in a file."""
    spec = importlib.util.spec_from_file_location(f"original_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for suite in unittest.defaultTestLoader.loadTestsFromModule(module):
        yield from suite  # type: ignore[misc]


def test_the_originals_tests_of_operators(originals: list[Path]) -> None:
    """EXY-02, EXY-07: all tests of the original pass, except those in `DIFFERENT`."""
    torch.manual_seed(0)
    count = 0
    failures: dict[str, str] = {}
    for file in originals:
        for case in cases(file):
            result = unittest.TestResult()
            case.run(result)
            count += 1
            for _, text in (*result.failures, *result.errors):
                failures[".".join(case.id().split(".")[-2:])] = text
    print(f"{count} tests, {len(failures)} failures")
    assert failures.keys() == DIFFERENT, "\n".join(failures.values())
    assert count > 50
