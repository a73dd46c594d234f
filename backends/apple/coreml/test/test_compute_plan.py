# SPDX-License-Identifier: BSD-3-Clause
"""The report of `MLComputePlan` on a model, with a stand-in for it, which reads the package and gives each operation
the processor that a test chooses. Core ML itself is not called."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from coremltools.models import utils
from coremltools.models.compute_device import MLCPUComputeDevice, MLGPUComputeDevice, MLNeuralEngineComputeDevice
from coremltools.models.compute_plan import MLComputePlan
from lowering import FP16, ct, lower

from sdk.backends.apple.coreml.compute_plan import PlannedOperation, analyze, analyze_one
from sdk.backends.apple.coreml.extract import extract

SCRIPT = Path(__file__).resolve().parents[4] / "examples/apple/coreml/scripts/coreml_compute_plan.py"
CHOSEN: dict[str, type] = {"linear": MLNeuralEngineComputeDevice, "relu": MLGPUComputeDevice}
"""The processor of an operation; the CPU for others."""


class _Plan:
    """Replaces MLComputePlan."""

    asked: list[Any]

    def __init__(self, package: Path) -> None:
        program = ct.models.MLModel(str(package), skip_model_load=True).get_spec().mlProgram
        functions = {name: SimpleNamespace(block=_block(each)) for name, each in program.functions.items()}
        self.model_structure = SimpleNamespace(program=SimpleNamespace(functions=functions))

    def get_compute_device_usage_for_mlprogram_operation(self, operation: Any) -> Any:
        if operation.operator_name == "const":
            return None
        kind = CHOSEN.get(operation.operator_name, MLCPUComputeDevice)
        devices = [each.__new__(each) for each in dict.fromkeys((kind, MLCPUComputeDevice))]
        return SimpleNamespace(preferred_compute_device=devices[0], supported_compute_devices=devices)

    def get_estimated_cost_for_mlprogram_operation(self, operation: Any) -> Any:
        return SimpleNamespace(weight=0.25) if operation.operator_name in CHOSEN else None


def _block(function: Any) -> Any:
    (block,) = function.block_specializations.values()
    return _operations(block)


def _operations(block: Any) -> Any:
    return SimpleNamespace(
        operations=[
            SimpleNamespace(operator_name=each.type, blocks=[_operations(inner) for inner in each.blocks])
            for each in block.operations
        ]
    )


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Returns the list of requests to the stand-in: the processors that it may choose."""
    asked: list[Any] = []

    def load(path: str, compute_units: Any) -> _Plan:
        asked.append(compute_units)
        return _Plan(Path(path))

    monkeypatch.setattr(utils, "compile_model", lambda package, destination: package)
    monkeypatch.setattr(MLComputePlan, "load_from_path", load)
    return asked


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with two delegates: one has one layer, the other has two."""
    layers = [torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3)]
    options = {"skip_ops_for_coreml_delegation": ["aten.tanh.default"]}
    lowered = lower(torch.nn.Sequential(*layers), (torch.randn(2, 4),), FP16, **options)
    file = tmp_path_factory.mktemp("plan") / "model.pte"
    file.write_bytes(lowered.manager.to_executorch().buffer)
    return file


def _command(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    assert isinstance(end.value.code, int)
    return end.value.code


def test_operations_and_their_processors(
    program: Path, mac: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each delegate has a plan, which lists no constants."""
    plans = analyze(program, "all")
    assert list(plans) == ["forward_0", "forward_1"]
    assert mac == [ct.ComputeUnit.ALL] * 2
    second = [each for each in plans["forward_1"] if each.operation != "cast"]
    linear = PlannedOperation("main", "linear", "ANE", ("ANE", "CPU"), 0.25)
    assert second == [linear, PlannedOperation("main", "relu", "GPU", ("GPU", "CPU"), 0.25), linear]
    casts = [each for each in plans["forward_1"] if each.operation == "cast"]
    assert {(each.device, each.supported, each.cost) for each in casts} <= {("CPU", ("CPU",), None)}
    assert _command(monkeypatch, "--model_path", program, "--show_non_ane", "--compute_units", "cpu_and_gpu") == 0
    assert mac[2:] == [ct.ComputeUnit.CPU_AND_GPU] * 2
    printed = capsys.readouterr().out
    total = len(plans["forward_1"])
    assert f"forward_1: {total} operations\n  ANE: 2 ({200 / total:.1f} %), 66.7 % of the estimated cost" in printed
    assert "  outside of the Neural Engine:\n" in printed and "    relu x1\n" in printed


def test_each_function_of_a_package(mac: list[Any], tmp_path: Path) -> None:
    """coremltools plans one function, so each function is planned as a separate model."""
    descriptor = utils.MultiFunctionDescriptor()
    for name, layers in (("short", 1), ("long", 2)):
        model = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(layers)))
        lowered = lower(model, (torch.randn(2, 4),), FP16, ct.target.iOS18)
        extract(lowered.manager.to_executorch().buffer, tmp_path / name)
        descriptor.add_function(str(tmp_path / name / "forward_0/model.mlpackage"), "main", name)
    descriptor.default_function_name = "short"
    utils.save_multifunction(descriptor, str(tmp_path / "both.mlpackage"))
    functions = [each.function for each in analyze_one(tmp_path / "both.mlpackage") if each.operation == "linear"]
    assert functions == ["long", "long", "short"]


def test_a_system_without_it(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a system without compute plans, the error says what to do. A file without a model is an error, too."""
    if sys.platform == "darwin":
        pytest.skip("this system may have MLComputePlan")
    assert _command(monkeypatch, "--model_path", program) == 1
    error = capsys.readouterr().err
    assert "MLComputePlan needs macOS 14.4" in error and "sdk inspect" in error
    (tmp_path / "model.txt").write_text("")
    (tmp_path / "bad.pte").write_text("no program")
    for name, words in (("model.txt", "is not a .pte"), ("none.pte", "there is no file"), ("bad.pte", "error: ")):
        assert _command(monkeypatch, "--model_path", tmp_path / name) == 1
        assert words in capsys.readouterr().err
    with pytest.raises(ValueError, match="compute_units is 'gpu'; expected one of all, cpu_and_ne"):
        analyze_one(program, "gpu")
