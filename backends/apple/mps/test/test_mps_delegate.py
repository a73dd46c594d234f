# SPDX-License-Identifier: BSD-3-Clause
"""The delegate in C++ over the stand-in of MPSGraph, which computes on the CPU: compiled with clang and GNUstep, with
AddressSanitizer and UndefinedBehaviorSanitizer. Nothing here runs on a GPU."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest
import torch
from mps_cases import Call, all_calls, floats
from mps_lowering import LIMITS, QuantizedLinear, difference, lower, lower_call, reference
from mps_programs import expected_of, tensors_of

from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.mps_data_type import torch_dtype
from sdk.backends.apple.mps.serialization.mps_graph_serialize import read_mps_graph
from sdk.devtools import BundledProgram
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from sdk.exir.lowered_backend_module import get_lowered_submodules

ROOT = Path(__file__).resolve().parents[4]
BUILD = ROOT / "build" / "mps"
CALLS = {name: list(calls) for name, calls in groupby(all_calls(), key=lambda call: call.target)}


class Delegate:
    """Payloads that one process of the runner opens and runs."""

    def __init__(self, folder: Path) -> None:
        self.runner = BUILD / "backends" / "apple" / "mps" / "test" / "mps_run_payloads"
        if not self.runner.exists():
            pytest.skip("backends/apple/mps/test/check_runtime, which builds the delegate, was not run here")
        self.folder, self.stderr = folder, ""
        self._lines: list[str] = []
        self._graphs: list[MPSGraph | None] = []

    def add(self, payload: bytes, inputs: Sequence[torch.Tensor] = (), graph: bool = True) -> None:
        """Adds a payload, with the inputs of one call, or of several calls in sequence."""
        number = len(self._lines)
        file = self.folder / f"{number}.payload"
        file.write_bytes(payload)
        files = []
        for position, tensor in enumerate(inputs):
            files.append(self.folder / f"{number}.input{position}")
            files[-1].write_bytes(tensor.contiguous().numpy().tobytes())
        self._lines.append(" ".join(map(str, (file, self.folder / str(number), *files))))
        self._graphs.append(read_mps_graph(payload)[0] if graph else None)

    def run(self, **environment: str) -> list[str]:
        """Opens and runs all payloads in one process. Returns the error of each."""
        script = self.folder / "script"
        script.write_text("".join(line + "\n" for line in self._lines))
        done = subprocess.run(
            [self.runner, script],
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0", **environment},
            capture_output=True,
            text=True,
        )
        self.stderr = done.stderr
        assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
        return done.stdout.splitlines()

    def outputs(self, number: int, call: int = 0) -> list[torch.Tensor]:
        """Returns the outputs of a call of a payload."""
        graph = self._graphs[number]
        assert graph is not None
        found = []
        for position, each in enumerate(graph.output_ids):
            value = graph.mps_values[each]
            data = bytearray((self.folder / f"{number}.{call}.{position}").read_bytes())
            dtype = torch_dtype(value.datatype)
            assert dtype is not None
            found.append(torch.frombuffer(data, dtype=dtype).reshape(value.dims))
        return found


@pytest.fixture
def delegate(tmp_path: Path) -> Delegate:
    return Delegate(tmp_path)


@pytest.mark.sampled
@pytest.mark.parametrize("use_fp16", [False, True], ids=["fp32", "fp16"])
@pytest.mark.parametrize("part", range(5))
def test_every_operator(part: int, use_fp16: bool, delegate: Delegate) -> None:
    """The graph that the delegate builds from each operator's payload gives eager's results."""
    calls = [call for name in sorted(CALLS)[part::5] for call in CALLS[name]]
    for call in calls:
        delegate.add(lower_call(call, use_fp16), tensors_of(call))
    errors = delegate.run()
    assert len(errors) == len(calls)
    for number, (call, error) in enumerate(zip(calls, errors, strict=True)):
        assert error == "Ok", f"{call.target}: {delegate.stderr[-2000:]}"
        assert difference(delegate.outputs(number), expected_of(call, use_fp16)) <= LIMITS[use_fp16], call


class _Perceptron(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(12, 33),
            torch.nn.GELU(),
            torch.nn.LayerNorm(33),
            torch.nn.Linear(33, 5),
            torch.nn.Softmax(-1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class _Convolutional(torch.nn.Module):
    """Every kind of convolution and pooling of a small network for images."""

    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, stride=2, padding=1),
            torch.nn.BatchNorm2d(8),
            torch.nn.ReLU6(),
            torch.nn.Conv2d(8, 8, 3, padding=1, groups=8),
            torch.nn.MaxPool2d(3, 2, 1),
            torch.nn.Conv2d(8, 12, 1, groups=2),
            torch.nn.AvgPool2d(2),
        )
        self.head = torch.nn.Linear(12 * 2 * 2, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.head(self.features(x).flatten(1)), -1)


MODELS: dict[str, tuple[type[torch.nn.Module], tuple[int, ...]]] = {
    "perceptron": (_Perceptron, (4, 12)),
    "convolutional": (_Convolutional, (2, 3, 16, 16)),
}


def _payload(manager: object) -> bytes:
    ((_, module, _),) = get_lowered_submodules(manager.exported_program().graph_module)  # type: ignore[attr-defined]
    return bytes(module.processed_bytes)


@pytest.mark.parametrize("use_fp16", [False, True], ids=["fp32", "fp16"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model(name: str, use_fp16: bool, delegate: Delegate) -> None:
    """Two calls of one payload give eager's results in the delegate and in the interpreter."""
    torch.manual_seed(0)
    make, shape = MODELS[name]
    model, inputs = make().eval(), [floats(*shape, seed=seed) for seed in (1, 2)]
    manager = lower(model, (inputs[0],), use_fp16)
    delegate.add(_payload(manager), inputs)
    assert delegate.run() == ["Ok"], delegate.stderr
    program = reference(manager, delegate.folder)
    for call, x in enumerate(inputs):
        with torch.no_grad():
            assert difference(delegate.outputs(0, call), model(x)) <= LIMITS[use_fp16]
        assert difference(delegate.outputs(0, call), program.run_method("forward", (x,))) <= LIMITS[use_fp16]


def test_the_calls_of_a_convolution(delegate: Delegate) -> None:
    """Each field of a node reaches MPSGraph as the right parameter; the values of all fields differ."""
    x, weight = floats(1, 4, 29, 31), floats(6, 2, 3, 5, seed=1)
    rest = ([2, 3], [1, 4], [2, 1], False, [0, 0], 2)
    depthwise = (floats(6, 1, 3, 5, seed=1), None, [2, 3], [1, 4], [2, 1], False, [0, 0], 6)
    pooling = (x, [3, 4], [2, 3], [1, 2], [2, 1])
    for call in (
        Call("aten.convolution.default", (x, weight, floats(6), *rest)),
        Call("aten.convolution.default", (floats(1, 6, 29, 31), *depthwise)),
        Call("aten.max_pool2d_with_indices.default", pooling),
    ):
        delegate.add(lower_call(call, False), tensors_of(call))
    log = delegate.folder / "calls.log"
    assert delegate.run(MPS_STAND_IN_LOG=str(log)) == ["Ok"] * 3, delegate.stderr
    lines = log.read_text().splitlines()
    numbers = "strides 2x3 dilations 2x1 paddings 4x4x1x1"
    assert f"convolution2D {numbers} groups 2 -> 1x6x14x12" in lines
    assert f"depthwiseConvolution3D {numbers} -> 1x6x14x12" in lines
    window = "kernel 3x4 strides 2x3 dilations 2x1 paddings 2x2x1x1 -> 1x4x14x11"
    assert [line for line in lines if line.startswith("pool")] == [f"pool max {window}", f"pool place {window}"]


def test_int4_weights(delegate: Delegate) -> None:
    """int4 weights reach MPSGraph unchanged, two in a byte."""
    import torch.ao.quantization.fx._decomposed

    model, x = QuantizedLinear(False), floats(5, 64)
    delegate.add(_payload(lower(model, (x,), use_fp16=True)), [x])
    assert delegate.run() == ["Ok"], delegate.stderr
    exact = torch.nn.functional.linear(x, model.weight * model.scales.repeat_interleave(32, 1))
    assert difference(delegate.outputs(0), exact) <= LIMITS[True]


def test_payloads_that_do_not_fit(delegate: Delegate) -> None:
    """Errors name the node, what it expects and what it found."""
    payload = bytearray(lower_call(Call("aten.mm.default", (floats(5, 7), floats(7, 3))), False))
    sizes = (7).to_bytes(4, "little") + (3).to_bytes(4, "little")
    place = payload.index(sizes)
    payload[place : place + 4] = (6).to_bytes(4, "little")
    delegate.add(bytes(payload), [floats(5, 7), floats(6, 3)], graph=False)
    delegate.add(b"MP00" * 3, graph=False)
    assert delegate.run() == ["InvalidProgram", "InvalidProgram"]
    assert "(MPSMatMul): matrices of the shapes [5, 7] and [6, 3] cannot be multiplied" in delegate.stderr
    assert "expected a payload with MP00 at byte 4" in delegate.stderr


def test_what_mpsgraph_raises(delegate: Delegate) -> None:
    """An exception becomes an error with its text, and a system without a GPU is an error."""
    call = Call("aten.relu.default", (floats(3),))
    delegate.add(lower_call(call, False), tensors_of(call))
    assert delegate.run(MPS_STAND_IN_FAILS="1") == ["DelegateInvalidHandle"]
    assert "the graph cannot be compiled" in delegate.stderr
    assert delegate.run(MPS_STAND_IN_NO_GPU="1") == ["NotSupported"]
    assert "there is no GPU" in delegate.stderr


def _run_program(program: bytes, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    runner = BUILD / "examples" / "apple" / "mps" / "mps_executor_runner"
    if not runner.exists():
        pytest.skip("backends/apple/mps/test/check_runtime, which builds the runner, was not run here")
    file = folder / "program"
    file.write_bytes(program)
    return subprocess.run(
        [runner, "--model_path", file, *options],
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("use_fp16", [False, True], ids=["fp32", "fp16"])
def test_from_a_program_to_its_outputs(use_fp16: bool, tmp_path: Path) -> None:
    """MPS-04: the runner loads a `.pte`, whose outputs are eager's."""
    model, x = _Convolutional().eval(), floats(2, 3, 16, 16)
    (tmp_path / "x").write_bytes(x.numpy().tobytes())
    program = lower(model, (x,), use_fp16).to_executorch().buffer
    done = _run_program(program, tmp_path, "--inputs", str(tmp_path / "x"), "--output_file", str(tmp_path / "y"))
    assert done.returncode == 0, done.stderr
    result = torch.frombuffer(bytearray((tmp_path / "y-0.bin").read_bytes()), dtype=torch.float32).reshape(2, 7)
    with torch.no_grad():
        assert difference([result], model(x)) <= LIMITS[use_fp16]


@pytest.mark.parametrize("use_fp16", [False, True], ids=["fp32", "fp16"])
def test_a_bundled_program(use_fp16: bool, tmp_path: Path) -> None:
    """MPS-04: the runner verifies the program's own test case and prints the result."""
    model, x = _Perceptron().eval(), floats(4, 12)
    manager = lower(model, (x,), use_fp16).to_executorch()
    case = MethodTestSuite("forward", [MethodTestCase([x], [model(x).detach()])])
    bundle = serialize_from_bundled_program_to_flatbuffer(BundledProgram(manager, [case]))
    options = ("--bundleio_atol", "0.005", "--bundleio_rtol=0.005") if use_fp16 else ()
    done = _run_program(bundle, tmp_path, "--bundled_program", *options)
    assert done.returncode == 0, done.stderr
    assert "Model verified successfully." in done.stderr + done.stdout
    exact = _run_program(bundle, tmp_path, "--bundled_program", "--bundleio_atol=0", "--bundleio_rtol=0")
    assert exact.returncode == 1 and "are not those of the first test case" in exact.stderr


def test_the_flow_of_a_profile(tmp_path: Path) -> None:
    """MPS-07: the Inspector reads the delegate's call and the outputs that the runner's `--dump-outputs` writes."""
    from sdk.devtools import Inspector

    model, x = _Perceptron().eval(), floats(4, 12)
    (tmp_path / "x").write_bytes(x.numpy().tobytes())
    files = ["--etdump_path", str(tmp_path / "etdump.etdp"), "--debug_output_path", str(tmp_path / "outputs.bin")]
    done = _run_program(
        lower(model, (x,)).to_executorch().buffer, tmp_path, "--dump-outputs", "--inputs", str(tmp_path / "x"), *files
    )
    assert done.returncode == 0, done.stderr
    inspector = Inspector(etdump_path=str(tmp_path / "etdump.etdp"), debug_buffer_path=str(tmp_path / "outputs.bin"))
    (block,) = [block for block in inspector.event_blocks if block.name == "Execute"]
    assert "DELEGATE_CALL" in [event.name for event in block.events]
    with torch.no_grad():
        assert difference([block.run_output[0]], model(x)) <= LIMITS[False]


def test_the_flow_of_a_profile_from_the_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """MPS-07, ETR-08: the commands of the page in sequence: the example script writes a bundled program and an
    ETRecord, the runner an ETDump, and `inspector_cli` prints the table with the operators of the model."""
    from sdk.devtools.inspector.inspector_cli import main as inspector_cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT))
    options = ["--model_name=add_mul", "--no-use_fp16", "--generate_etrecord", "-b"]
    monkeypatch.setattr(sys, "argv", ["mps_example", *options])
    importlib.import_module("examples.apple.mps.scripts.mps_example").main()
    bundle = (tmp_path / "add_mul_mps_float32_bundled.pte").read_bytes()
    etdump = str(tmp_path / "etdump.etdp")
    done = _run_program(bundle, tmp_path, "--bundled_program", "--dump-outputs", "--etdump_path", etdump)
    assert done.returncode == 0, done.stderr
    assert "Model verified successfully." in done.stderr + done.stdout
    capsys.readouterr()
    assert inspector_cli(["--etdump_path", etdump, "--etrecord_path", str(tmp_path / "etrecord.bin")]) == 0
    table = capsys.readouterr().out
    assert "DELEGATE_CALL" in table and "MPSBackend" in table, table
