# SPDX-License-Identifier: BSD-3-Clause
"""Programs in the runtime give the results of the interpreter. The delegate calls the stand-in of Qualcomm's
libraries. The step `qualcomm` of scripts/test.sh builds both."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from npu_models import Convolutional, Function, model_of, snr, written

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))

from qnn_lowering import REFERENCE, lower, quantized, quantizer_of

from sdk.backends.qualcomm.qnn.verify import ReferenceProgram
from sdk.backends.qualcomm.quantizer import QuantDtype
from sdk.backends.qualcomm.utils.utils import (
    QcomChipset,
    generate_htp_compiler_spec,
    generate_qnn_executorch_compiler_spec,
    to_edge_transform_and_lower_to_qnn,
)
from sdk.extension.pybindings import portable_lib

pytestmark = pytest.mark.skipif(
    "QNN_BACKEND_LIBRARY" not in os.environ, reason="the step `qualcomm` builds the stand-in and names it"
)


@pytest.mark.parametrize("scheme", [QuantDtype.use_8a8w, QuantDtype.use_16a8w, QuantDtype.use_16a4w])
def test_a_program_gives_the_numbers_of_the_interpreter(scheme: QuantDtype, tmp_path: Path) -> None:
    """QNN-06, QNN-08: a `.pte` runs with the libraries that the page names, here a stand-in."""
    model, inputs = model_of("convolutional")
    file = written(lower(quantized(model, inputs, quantizer_of(scheme)), inputs), tmp_path)
    program, reference = portable_lib._load_for_executorch(str(file)), ReferenceProgram(file)
    for seed in range(3):
        x = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
        (found,), (expected,) = program.forward((x,)), reference.run_method("forward", (x,))
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert snr(model(*inputs), program.forward(inputs)[0]) > 15


def test_a_program_of_floats(tmp_path: Path) -> None:
    """QNN-06: the model has no batch normalisation, because the stand-in for Qualcomm's libraries lacks it."""
    torch.manual_seed(0)
    model = Convolutional().eval()
    model.first[1] = torch.nn.Identity()
    inputs = (torch.randn(1, 3, 16, 16),)
    program = portable_lib._load_for_executorch(str(written(lower(model, inputs), tmp_path)))
    torch.testing.assert_close(program.forward(inputs)[0], model(*inputs))


def test_two_outputs(tmp_path: Path) -> None:
    """QNN-13"""
    model, inputs = Function(lambda a, b: (a + b, a * b)), (torch.ones(2, 3), torch.full((2, 3), 4.0))
    program = portable_lib._load_for_executorch(str(written(lower(model, inputs), tmp_path)))
    for found, expected in zip(program.forward(inputs), model(*inputs), strict=True):
        torch.testing.assert_close(found, expected)


def test_methods_share_a_context(tmp_path: Path) -> None:
    """QNN-06: with `use_weight_sharing`, two methods have one payload and one context."""
    layer = torch.nn.Linear(16, 4)
    methods = {"prefill": layer, "decode": torch.nn.Sequential(layer, torch.nn.ReLU())}
    inputs = {"prefill": (torch.randn(3, 16),), "decode": (torch.randn(1, 16),)}
    specs = generate_qnn_executorch_compiler_spec(
        QcomChipset.SM8650, generate_htp_compiler_spec(use_fp16=True, use_weight_sharing=True)
    )
    manager = to_edge_transform_and_lower_to_qnn(methods, inputs, [*specs, REFERENCE])
    contexts = ctypes.CDLL(os.environ["QNN_BACKEND_LIBRARY"]).stand_in_contexts
    before = contexts()
    program = portable_lib._load_for_executorch(str(written(manager, tmp_path)))
    for name, method in methods.items():
        torch.testing.assert_close(program.run_method(name, inputs[name])[0], method(*inputs[name]))
    assert contexts() - before == 1


@pytest.mark.skipif("QNN_EXECUTOR_RUNNER" not in os.environ, reason="the step `qualcomm` builds the runner")
def test_the_runner(tmp_path: Path) -> None:
    """QNN-06, QNN-07: the runner reads a list of inputs and writes the outputs of each run."""
    runner = os.environ["QNN_EXECUTOR_RUNNER"]
    model, inputs = Function(lambda a, b: (a + b, a * b)), (torch.ones(2, 3), torch.full((2, 3), 4.0))
    file = written(lower(model, inputs), tmp_path)

    def said(*arguments: str, status: int) -> str:
        done = subprocess.run(
            [runner, "--model_path", str(file), *arguments], capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == status, done.stderr
        return done.stderr

    assert "Model executed successfully 1 time(s)" in said(status=0)
    runs = [tuple(torch.randn(2, 3) for _ in range(2)) for _ in range(2)]
    lines = []
    for i, run in enumerate(runs):
        names = [f"input_{i}_{j}.raw" for j in range(2)]
        for name, tensor in zip(names, run, strict=True):
            (tmp_path / name).write_bytes(tensor.numpy().tobytes())
        lines.append(" ".join(names))
    (tmp_path / "list.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "out").mkdir()
    given = ["--input_list_path", "list.txt", "--output_folder_path", "out"]
    assert "successfully 6 time(s)" in said(*given, "--iteration=3", "--warm_up=1", status=0)
    for i, run in enumerate(runs):
        for j, expected in enumerate(model(*run)):
            data = bytearray((tmp_path / "out" / f"output_{i}_{j}.raw").read_bytes())
            found = torch.frombuffer(data, dtype=torch.float32)
            torch.testing.assert_close(found.reshape(2, 3), expected)
    assert "--iteration is a number up to 1000000, found '-1'" in said("--iteration=-1", status=2)
    assert "did you mean --warm_up" in said("--warmup=1", status=2)
    (tmp_path / "list.txt").write_text("")
    assert "list.txt has no lines" in said(*given, status=1)
    (tmp_path / "list.txt").write_text("input_0_0.raw missing.raw\n")
    assert "The input file missing.raw cannot be opened" in said(*given, status=1)
    (tmp_path / "list.txt").write_text("input_0_0.raw\n")
    assert "InvalidArgument" in said(*given, status=1)
    assert "elsewhere.txt cannot be opened" in said("--input_list_path", "elsewhere.txt", status=1)


def test_a_context_binary_of_another_release(tmp_path: Path) -> None:
    """The library refuses payloads that are not context binaries for it; the error has the code and the step."""
    model, inputs = model_of("convolutional")
    data = written(lower(quantized(model, inputs), inputs), tmp_path).read_bytes()
    with pytest.raises(RuntimeError, match="QnnSystemContext_getBinaryInfo failed with the code 5000 while a context"):
        portable_lib._load_for_executorch_from_buffer(data.replace(b"NPUREF01", b"NPUREF99")).forward(inputs)
