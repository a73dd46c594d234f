# SPDX-License-Identifier: BSD-3-Clause
"""Programs in the runtime give the results of the interpreter. The delegate calls the stand-in of MediaTek's adapter.
The step `mediatek` of scripts/test.sh builds both."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from torch.export import export

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))

from mediatek_lowering import PLATFORM, REFERENCE, lower, quantized

from npu_models import model_of, snr, written
from sdk.backends.mediatek import NeuropilotPartitioner, Precision
from sdk.backends.mediatek.verify import ReferenceProgram
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.extension.pybindings import portable_lib

pytestmark = pytest.mark.skipif(
    "NEURON_USDK_ADAPTER_LIB" not in os.environ, reason="the step `mediatek` builds the stand-in and names it"
)


@pytest.mark.parametrize("precision", list(Precision))
def test_a_program_gives_the_numbers_of_the_interpreter(precision: Precision, tmp_path: Path) -> None:
    """MTK-06, MTK-07: a `.pte` runs with the libraries that the page names, here a stand-in, which does not compute the
    batch normalisation of the model in floats."""
    model, inputs = model_of("convolutional")
    scheme = quantized(model, inputs, precision)
    file = written(lower(scheme, inputs), tmp_path)
    (expected,) = ReferenceProgram(file).run_method("forward", inputs)
    program = portable_lib._load_for_executorch(str(file))
    for _ in range(2):
        (found,) = program.forward(inputs)
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
    assert snr(model(*inputs), found) > 15


def test_other_inputs_of_one_program(tmp_path: Path) -> None:
    model, inputs = model_of("convolutional")
    file = written(lower(quantized(model, inputs, Precision.A8W8), inputs), tmp_path)
    program, reference = portable_lib._load_for_executorch(str(file)), ReferenceProgram(file)
    for seed in range(3):
        x = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(program.forward((x,))[0], reference.run_method("forward", (x,))[0])


def test_methods_share_weights(tmp_path: Path) -> None:
    layer = torch.nn.Linear(8, 8)
    inputs = {"prefill": torch.randn(4, 8), "decode": torch.randn(1, 8)}
    partitioner = NeuropilotPartitioner([PLATFORM, REFERENCE, CompileSpec("ExtractSharedBlobKey", b"weights")])
    manager = to_edge_transform_and_lower(
        {name: export(layer, (x,)) for name, x in inputs.items()}, partitioner={name: [partitioner] for name in inputs}
    )
    program = portable_lib._load_for_executorch(str(written(manager, tmp_path)))
    for name, x in inputs.items():
        torch.testing.assert_close(program.run_method(name, (x,))[0], layer(x))


RUN = """
import sys, torch
import runtime_under_test
runtime_under_test.load()
from sdk.extension.pybindings import portable_lib
try:
    program = portable_lib._load_for_executorch(sys.argv[1])
    print("ok", program.forward((torch.ones(1, 3, 16, 16),))[0].shape)
except RuntimeError as error:
    print("error", error)
"""


def test_every_failing_call_is_an_error(tmp_path: Path) -> None:
    """Every fourth call of the adapter fails once, while loading and while running. Each failure is an exception, and
    none is a crash."""
    model, inputs = model_of("convolutional")
    file = written(lower(quantized(model, inputs, Precision.A8W8), inputs), tmp_path)
    tests = str(Path(__file__).resolve().parents[3] / "tests")
    call = 0
    while True:
        call += 1
        environment = {**os.environ, "STAND_IN_FAILS_AT": str(call), "PYTHONPATH": tests}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(RUN), str(file)],
            env=environment, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        if done.stdout.startswith("ok"):
            break
        assert done.stdout.startswith("error")
        assert "failed with the code 77 while" in done.stdout, done.stdout
        call += 3  # the delegate's own test has every call
    assert call > 15
