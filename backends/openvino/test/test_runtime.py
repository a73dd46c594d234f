# SPDX-License-Identifier: BSD-3-Clause
"""Loading and running: libraries, options, other releases, threads, wrong and damaged payloads."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from openvino_lowering import assert_close, lower
from torch import nn

from sdk.backends.openvino.partitioner import OpenvinoPartitioner
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.linear = nn.Conv2d(3, 8, 3), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.relu(self.convolution(x)).mean((2, 3)))


@pytest.fixture
def image() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(2, 3, 16, 16)


RUN = """
import sys, torch
from sdk.extension.pybindings import portable_lib
program = portable_lib._load_for_executorch(sys.argv[1])
torch.save(program.forward((torch.load(sys.argv[2]),)), sys.argv[3])
"""


def _run(folder: Path, buffer: bytes, image: torch.Tensor, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in another process, with another environment. A name without a value is unset."""
    (folder / "model.pte").write_bytes(buffer)
    torch.save(image, folder / "input.pt")
    known = {name: value for name, value in {**os.environ, **environment}.items() if value}
    command = [sys.executable, "-c", RUN, *(str(folder / name) for name in ("model.pte", "input.pt", "output.pt"))]
    return subprocess.run(command, env=known, capture_output=True, text=True, timeout=300)


def test_a_missing_library_is_one_line_with_what_to_do(tmp_path: Path, image: torch.Tensor) -> None:
    done = _run(tmp_path, lower(Model(), (image,)).buffer, image, OPENVINO_LIB_PATH="/nowhere/libopenvino_c.so")
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if "OpenVINO cannot be loaded" in line]
    assert "/nowhere/libopenvino_c.so" in line and "pip install openvino" in line and "OPENVINO_LIB_PATH" in line


def test_the_library_may_be_named_by_its_file(tmp_path: Path, image: torch.Tensor) -> None:
    (library,) = Path(os.environ["OPENVINO_LIB_PATH"]).glob("libopenvino_c.so*")
    model = Model()
    done = _run(tmp_path, lower(model, (image,)).buffer, image, OPENVINO_LIB_PATH=str(library))
    assert done.returncode == 0, done.stderr
    assert_close(torch.load(tmp_path / "output.pt"), model(image))


def test_an_openvino_that_was_built_from_source_is_found(tmp_path: Path, image: torch.Tensor) -> None:
    """OVN-02: setupvars.sh of an installed build puts its libraries, with the names that a linker looks for, on the
    linker's path; there is no Python package."""
    libraries = Path(os.environ["OPENVINO_LIB_PATH"])
    (library,) = libraries.glob("libopenvino_c.so*")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libopenvino_c.so").symlink_to(library)
    model = Model()
    buffer = lower(model, (image,)).buffer
    without_package = {"OPENVINO_LIB_PATH": "", "PYTHONPATH": ""}
    done = _run(tmp_path, buffer, image, LD_LIBRARY_PATH=f"{tmp_path / 'lib'}:{libraries}", **without_package)
    assert done.returncode == 0, done.stderr
    assert_close(torch.load(tmp_path / "output.pt"), model(image))
    done = _run(tmp_path, buffer, image, LD_LIBRARY_PATH="", **without_package)
    assert done.returncode == 1 and "OpenVINO cannot be loaded" in done.stderr, done.stderr


def test_executor_runner(tmp_path: Path) -> None:
    """OVN-05: executor_runner, started by the documented command, runs the program with inputs of ones."""
    model = Model()
    (tmp_path / "model.pte").write_bytes(lower(model, (torch.ones(2, 3, 16, 16),)).buffer)
    command = [os.environ["SDK_EXECUTOR_RUNNER"], "--model_path=model.pte", "--num_executions=10"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "Model executed successfully 10 time(s)" in said, said
    printed = said.partition("OutputX 0: tensor(sizes=[2, 5], [")[2].partition("]")[0]
    numbers = [float(number) for number in printed.replace(",", " ").split()]
    with torch.no_grad():
        expected = model(torch.ones(2, 3, 16, 16)).flatten()
    # The runner prints five significant digits.
    assert (torch.tensor(numbers) - expected).abs().max() <= 1e-4 * expected.abs().max()


def test_another_release_compiles_the_ir_and_says_so(tmp_path: Path, image: torch.Tensor) -> None:
    """OpenVINO 2026.4.1 refuses a payload of 2025.4.1 that lacks the IR, and runs one that contains it."""
    other, model = os.environ["SDK_OTHER_OPENVINO"], Model()
    done = _run(tmp_path, lower(model, (image,)).buffer, image, OPENVINO_LIB_PATH=other)
    assert done.returncode == 1
    assert re.search(r"OpenVINO 2026\S+ refuses the payload for CPU \(.*include_ir=True", done.stderr), done.stderr
    with_ir = lower(model, (image,), partitioner=OpenvinoPartitioner(include_ir=True))
    done = _run(tmp_path, with_ir.buffer, image, OPENVINO_LIB_PATH=other)
    assert done.returncode == 0, done.stderr
    assert_close(torch.load(tmp_path / "output.pt"), model(image))
    # The release of the export does not need it.
    assert_close(with_ir.run(image), model(image))


def test_the_ir_is_stored_only_on_request(image: torch.Tensor) -> None:
    model = nn.Linear(512, 512)
    x = torch.randn(1, 512)
    without, with_ir = (
        len(lower(model, (x,), partitioner=OpenvinoPartitioner(include_ir=ir)).buffer) for ir in (False, True)
    )
    assert without < 1.2 * 4 * 512 * 512 and with_ir > 1.8 * without


def test_threads_run_one_program_at_once(image: torch.Tensor) -> None:
    """Several threads load and run programs at the same time."""
    model = Model()
    buffer = lower(model, (image,)).buffer
    problems: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            program = _load_for_executorch_from_buffer(buffer)
            generator = torch.Generator().manual_seed(seed)
            for _ in range(20):
                x = torch.randn(2, 3, 16, 16, generator=generator)
                with torch.no_grad():
                    assert_close(program.forward((x,)), model(x))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[0]


def test_integers_beyond_32_bits_are_an_error(image: torch.Tensor) -> None:
    """OpenVINO would truncate the integers to int32."""

    class Lookup(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(9, 4)

        def forward(self, indices: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.embedding(indices))

    lowered = lower(Lookup(), (torch.tensor([1, 8]),))
    with pytest.raises(RuntimeError, match="more than 32 bits"):
        lowered.run(torch.tensor([1, 1 << 32]))


def _in_delegate(buffer: bytes, payload: bytes, changed: bytes) -> bytes:
    assert buffer.count(payload) == 1 and len(payload) == len(changed)
    return buffer.replace(payload, changed)


@pytest.mark.parametrize("kind", ["zeros", "noise", "beginning", "end"])
def test_a_damaged_payload_is_an_error(kind: str, tmp_path: Path, image: torch.Tensor) -> None:
    """OpenVINO's refusal becomes one error that says what to do, and the process continues."""
    lowered = lower(Model(), (image,))
    payload = lowered.delegates[0].processed_bytes
    half = len(payload) // 2
    changed = {
        "zeros": bytes(len(payload)),
        "noise": torch.randint(0, 256, (len(payload),), dtype=torch.uint8).numpy().tobytes(),
        "beginning": bytes(64) + payload[64:],
        "end": payload[:half] + bytes(len(payload) - half),
    }[kind]
    done = _run(tmp_path, _in_delegate(lowered.buffer, payload, changed), image)
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert "DelegateInvalidCompatibility" in done.stderr, done.stderr


def test_a_payload_for_other_tensors_is_an_error(tmp_path: Path, image: torch.Tensor) -> None:
    """Arguments whose number, dtype or shape differs from the payload's are errors."""
    ours = lower(Model(), (image,))
    for other, says in (
        (lower(nn.ReLU(), (torch.randn(7),)), r"(?s)\[InvalidArgument\].*its payload expects \[7\]"),
        (
            lower(Sum(), (torch.randn(7), torch.randn(7))),
            r"(?s)\[InvalidProgram\].*passes 2 arguments to a delegate whose payload has 2 inputs and 1 outputs",
        ),
    ):
        buffer = _with_payload(ours, other.delegates[0].processed_bytes)
        with pytest.raises(RuntimeError, match=says):
            _load_for_executorch_from_buffer(buffer).forward((image,))


class Sum(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


def _with_payload(lowered, payload: bytes) -> bytes:  # type: ignore[no-untyped-def]
    """A program that calls OpenVINO with another payload."""
    module = lowered.delegates[0]
    module._processed_bytes = payload
    return lowered.edge.to_executorch().buffer


def test_a_device_that_is_not_there_is_an_error_at_export(image: torch.Tensor) -> None:
    with pytest.raises(RuntimeError, match=r"cannot compile a partition for GPU\.7.*op_types_to_skip"):
        lower(Model(), (image,), partitioner=OpenvinoPartitioner([CompileSpec("device", b"GPU.7")]))
