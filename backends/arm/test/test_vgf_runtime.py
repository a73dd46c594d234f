# SPDX-License-Identifier: BSD-3-Clause
"""The delegate of VGF, on lavapipe with the ML emulation layers: floats against eager, integers against the TOSA
reference model, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from arm_lowering import BOTH, Call, Lowered, assert_close, lower
from test_arm_page import MODEL, run_the_notebook
from test_tosa_integers import COMPOSED, FUNCTIONS, MODULES, quantized
from torch import nn
from torch.export import export
from torch.fx.passes.operator_support import OperatorSupportBase
from vgf_tables import read_parts, write_parts

from bench.models import MODELS
from bench.worker import load_model
from delegate_calls import check_wrong_counts
from interop.operator_calls import FAMILIES, Several
from sdk.backends.arm.quantizer import get_symmetric_quantization_config
from sdk.backends.arm.vgf import VgfCompileSpec, VgfPartitioner, backend
from sdk.exir import to_edge_transform_and_lower
from sdk.export.cli import main
from sdk.extension.pybindings.portable_lib import (
    _get_registered_backend_names,
    _is_available,
    _load_for_executorch_from_buffer,
)
from zoo import CASES

ROOT = Path(__file__).resolve().parents[3]
TOLERANCE = 1e-5  # relative to the largest number: the layers compute functions such as exp in shaders


def _lower(model: nn.Module, inputs: tuple[Any, ...]) -> Lowered:
    return lower(model, inputs, partitioner=VgfPartitioner(VgfCompileSpec(BOTH)))


def _check_floats(model: nn.Module, inputs: tuple[Any, ...], tolerance: float = TOLERANCE) -> Lowered:
    lowered = _lower(model, inputs)
    assert len(lowered.payloads) == 1 and not lowered.left()
    with torch.no_grad():
        assert_close(lowered.run_by_the_runtime(*inputs), model(*inputs), tolerance)
    return lowered


def test_the_backend_is_registered_and_available() -> None:
    """VGF-07"""
    assert "VgfBackend" in _get_registered_backend_names()
    assert _is_available("VgfBackend")


@pytest.mark.sampled
@pytest.mark.parametrize("family", FAMILIES)
def test_operators_in_floats(family: str) -> None:
    """VGF-08: more than 100 calls of operators. Those of a family form one delegate with their inputs and outputs."""
    torch.manual_seed(0)
    model = Several(FAMILIES[family])
    _check_floats(model, model.inputs)


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (2, 1, 5, 7), (2, 3, 3, 3)], ids=str)
def test_inputs_and_outputs_in_channels_last_order(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape).to(memory_format=torch.channels_last)
    _check_floats(Call(lambda x, y: (x.relu() + y, x.sum(1), y * 2)), (x, torch.randn(shape)))
    _check_floats(nn.Conv2d(shape[1], 4, 3, padding=1).to(memory_format=torch.channels_last).eval(), (x,))


def _check_integers(model: nn.Module, inputs: tuple[Any, ...]) -> None:
    """Checks that the program's results equal those of the TOSA file in the reference model bit by bit."""
    converted = quantized(model, inputs, get_symmetric_quantization_config(), BOTH)
    ours, reference = _lower(converted, inputs), lower(converted, inputs, BOTH)
    assert len(ours.payloads) == len(reference.payloads) == 1
    found, expected = ours.run_by_the_runtime(*inputs), reference.run(*inputs)
    assert all(tensor.unique().numel() > 1 for tensor in expected)
    assert all(map(torch.equal, found, expected)) and len(found) == len(expected)


INTEGERS = {
    "weights": list(MODULES.items())[:6],
    "more weights": list(MODULES.items())[6:],
    "functions": list(FUNCTIONS.items())[:10],
    "more functions": list(FUNCTIONS.items())[10:20],
    "moves": list(FUNCTIONS.items())[20:31],
    "comparisons": list(FUNCTIONS.items())[31:],
    "softmax and norms": list(COMPOSED.items())[:5],
    "two operands": list(COMPOSED.items())[5:],
}


@pytest.mark.sampled
@pytest.mark.parametrize("family", INTEGERS)
def test_operators_in_integers(family: str) -> None:
    """VGF-08: 80 calls of quantised operators give the results of the reference model."""
    torch.manual_seed(0)
    calls = [(value[0], (value[1],) if name in MODULES else value[1]) for name, value in INTEGERS[family]]
    model = Several(calls)  # type: ignore[arg-type]
    _check_integers(model, model.inputs)


@pytest.mark.parametrize("name", ["mobilenet", "resnet", "vit"])
def test_models_in_floats(name: str) -> None:
    """VGF-08"""
    method = CASES[name]().methods["forward"]
    _check_floats(method.module, method.calls[0])


def test_a_perceptron() -> None:
    """VGF-08: calls after the first use their new inputs."""
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 10), nn.Softmax(-1)).eval()
    x = torch.randn(4, 16)
    program = _load_for_executorch_from_buffer(_check_floats(model, (x,)).edge.to_executorch().buffer)
    for _ in range(3):
        x = torch.randn(4, 16)
        assert_close(program.forward((x,)), model(x), TOLERANCE)


@pytest.mark.parametrize("name", ["mobilenet", "resnet", pytest.param("vit", marks=pytest.mark.slow)])
def test_models_in_integers(name: str) -> None:
    """VGF-08: whole models give the results of the reference model."""
    method = CASES[name]().methods["forward"]
    _check_integers(method.module, method.calls[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MobileNetV2", "ResNet18", "ViT-tiny"])
def test_models_of_full_size(name: str) -> None:
    """VGF-08"""
    _check_floats(*load_model(MODELS[name]))


@pytest.mark.slow
def test_minilm() -> None:
    """VGF-08: kernels compute the int64 operators."""
    model, inputs = load_model(MODELS["MiniLM"])
    lowered = _lower(model, inputs)
    assert len(lowered.payloads) == 1
    with torch.no_grad():
        assert_close(lowered.run_by_the_runtime(*inputs), model(*inputs), TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MobileNetV2", "ResNet18"])
def test_integer_models_of_full_size(name: str) -> None:
    """VGF-05, VGF-08: the results equal those of the reference model."""
    _check_integers(*load_model(MODELS[name]))


class _NoSine(OperatorSupportBase):
    def is_node_supported(self, submodules: Any, node: Any) -> bool:
        return "sin" not in str(node.target)


def test_several_delegates_and_methods() -> None:
    """Two methods share one device; one of them has two delegates with a kernel between them."""
    x, y = torch.randn(2, 3), torch.randn(4)
    first, second = Call(lambda x: torch.sin(x * 2 + 1) * x), Call(lambda y: (y * y, y + 1))
    programs = {"first": export(first, (x,)), "second": export(second, (y,))}
    partitioner = [VgfPartitioner(additional_checks=[_NoSine()])]
    edge = to_edge_transform_and_lower(programs, partitioner=dict.fromkeys(programs, partitioner))
    loaded = _load_for_executorch_from_buffer(edge.to_executorch().buffer)
    for _ in range(2):
        x, y = torch.randn(2, 3), torch.randn(4)
        assert_close(loaded.run_method("first", (x,)), first(x), TOLERANCE)
        assert_close(loaded.run_method("second", (y,)), second(y), TOLERANCE)


def test_other_types_and_scalars() -> None:
    """bool, int32 and float16 at the edge of a delegate, and a tensor without dimensions."""
    a, b = torch.randn(2, 5), torch.randn(2, 5)
    whole = torch.arange(10, dtype=torch.int32).reshape(2, 5)
    for function, inputs in (
        (lambda x, y: (x > y, x * y), (a, b)),
        (lambda x, y: x * y + x, (whole, whole.flip(1).contiguous())),
        (lambda x: x * x.sum(), (a,)),
        (lambda x, y: x + y, (a, torch.tensor(1.5))),
    ):
        _check_floats(Call(function), inputs)
    halves = _lower(nn.Linear(5, 3).half(), (a.half(),))
    assert_close(halves.run_by_the_runtime(a.half()), halves.program.module()(a.half()), 1e-3)


def _with(payload: bytes, model: nn.Module, inputs: tuple[Any, ...]) -> bytes:
    """A program whose delegate has another payload."""
    with mock.patch.object(backend, "convert", lambda graph, flags: payload):
        return _lower(model, inputs).edge.to_executorch().buffer


def _error(program: bytes, inputs: tuple[Any, ...], capfd: Any) -> str:
    with pytest.raises(RuntimeError) as error:
        _load_for_executorch_from_buffer(program).forward(inputs)
    return f"{error.value}\n{capfd.readouterr().err}"


def test_arguments_that_do_not_fit_the_payload(capfd: Any) -> None:
    """VGF files whose shapes, dtypes or number of tensors differ from the method's."""
    model, x = Call(lambda x: x * 2), torch.randn(2, 3)
    others = (
        (
            Call(lambda x: x * 2),
            (torch.randn(3, 2),),
            "VGF: input 0 of a delegate has the shape (2, 3), its payload expects (3, 2)",
        ),
        (
            Call(lambda x: x * 2),
            (torch.randn(2, 3).half(),),
            "VGF: input 0 of a delegate has the dtype Float, its payload expects Half",
        ),
        (
            Call(lambda x, y: x + y),
            (x, x.clone()),
            "VGF: the program passes 2 arguments to a delegate whose payload has 2 inputs and 1 outputs",
        ),
        (
            Call(lambda x: x[:1] * 2),
            (x,),
            "VGF: output 0 of a delegate has the shape (2, 3), its payload expects (1, 3)",
        ),
    )
    for other, inputs, text in others:
        (payload,) = _lower(other, inputs).payloads
        assert text in _error(_with(payload, model, (x,)), (x,), capfd)
    check_wrong_counts(_lower(model, (x,)).edge.to_executorch().buffer, (x,))


def test_damaged_payloads_are_errors(capfd: Any) -> None:
    """Each error contains the delegate's reason. The device still works afterwards."""
    model, x = nn.Conv2d(3, 8, 3), torch.randn(1, 3, 9, 9)
    (payload,) = _lower(model, (x,)).payloads
    for damaged, text in (
        (payload[:100], "the payload is not a VGF file"),
        (payload[:-64], "the section of"),
        (b"VGF1" + bytes(300), "the section of modules is"),
    ):
        assert text in _error(_with(damaged, model, (x,)), (x,), capfd)
    parts = read_parts(payload)
    parts.sequence.inputs.append(parts.sequence.inputs[0])
    assert "a resource is two inputs" in _error(_with(write_parts(parts), model, (x,)), (x,), capfd)
    assert_close(_load_for_executorch_from_buffer(_with(payload, model, (x,))).forward((x,)), model(x), TOLERANCE)


AVAILABLE = """
import sys
sys.path[:0] = [{tests!r}]
import runtime_under_test
runtime_under_test.load()
from sdk.extension.pybindings.portable_lib import _is_available
print(_is_available("VgfBackend"))
"""


@pytest.mark.parametrize(
    ("variable", "value", "text"),
    [
        ("VK_INSTANCE_LAYERS", "", "lacks the extension VK_ARM_tensors; use a driver that has them, or their emul"),
        ("VK_ICD_FILENAMES", "/there/is/none.json", "Vulkan"),
    ],
)
def test_without_a_device_it_is_not_available(variable: str, value: str, text: str) -> None:
    """One line says what is missing and what to set."""
    command = [sys.executable, "-c", AVAILABLE.format(tests=str(ROOT / "tests"))]
    done = subprocess.run(command, env={**os.environ, variable: value}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    (line,) = [line for line in done.stderr.splitlines() if "VGF: " in line]
    assert text in line


def test_a_build_needs_headers_and_no_glslc(tmp_path: Path) -> None:
    """VGF-09: no shader is compiled; without Vulkan's headers, the configuration says how to get them."""
    script = tmp_path / "build.cmake"
    script.write_text(f"include({ROOT / 'backends/arm/vgf/CMakeLists.txt'})\n")
    environment = {key: value for key, value in os.environ.items() if key not in ("VULKAN_SDK", "CPATH")}
    command = ["cmake", "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", "-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF"]
    done = subprocess.run([*command, "-P", script], env=environment, capture_output=True, text=True, check=False)
    message = " ".join(done.stderr.split())
    assert done.returncode != 0 and "EXECUTORCH_BUILD_VGF needs the headers of Vulkan" in message, message
    assert "apt-get install libvulkan-dev" in message and "It needs no glslc." in message


def test_the_command_verifies_the_program(tmp_path: Path, capsys: Any) -> None:
    """VGF-08: with `--backend vgf`, the command verifies the program if the runtime has the delegate and a device."""
    (tmp_path / "m.py").write_text(MODEL)
    arguments = [f"{tmp_path / 'm.py'}:model", "--input", "1x3x9x9:float32", "--backend", "vgf"]
    assert main([*arguments, "--output", str(tmp_path / "model.pte")]) == 0
    text = " ".join("".join(capsys.readouterr()).split())
    assert "everything: 1 call to VgfBackend" in text
    assert "the program agrees with PyTorch in 3 calls" in text and "not verified" not in text


def test_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VGF-07, VGF-08: executor_runner, built with EXECUTORCH_BUILD_VGF, runs the tutorial's program with inputs of
    ones: the sigmoid of 2."""
    monkeypatch.chdir(tmp_path)
    run_the_notebook()
    command = [os.environ["SDK_EXECUTOR_RUNNER"], "-model_path", "simple_example.pte"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    printed = said.partition("OutputX 0: tensor(sizes=[1, 1, 1, 1], [")[2].partition("]")[0]
    assert abs(float(printed.rstrip(", ")) - float(torch.sigmoid(torch.tensor(2.0)))) < 0.01
