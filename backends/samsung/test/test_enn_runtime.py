# SPDX-License-Identifier: BSD-3-Clause
"""Programs in the runtime give the results of the interpreter. The delegate calls the stand-in of Samsung's library.
The step `samsung` of scripts/test.sh builds both."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch

from npu_models import Convolutional, model_of, snr, written

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))

from samsung_lowering import lower, quantized

from sdk.backends.samsung.verify import ReferenceProgram
from sdk.extension.pybindings import portable_lib

pytestmark = pytest.mark.skipif(
    "ENN_PUBLIC_API_LIB" not in os.environ, reason="the step `samsung` builds the stand-in and names it"
)


@pytest.mark.parametrize("is_per_channel", [True, False])
def test_a_program_gives_the_numbers_of_the_interpreter(is_per_channel: bool, tmp_path: Path) -> None:
    """EXY-02, EXY-03: a `.pte` runs with the library that the page names, here a stand-in."""
    model, inputs = model_of("convolutional")
    file = written(lower(quantized(model, inputs, is_per_channel), inputs), tmp_path)
    program, reference = portable_lib._load_for_executorch(str(file)), ReferenceProgram(file)
    for seed in range(3):
        x = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
        (found,), (expected,) = program.forward((x,)), reference.run_method("forward", (x,))
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert snr(model(*inputs), program.forward(inputs)[0]) > 40


def test_a_program_of_floats(tmp_path: Path) -> None:
    """EXY-02: the model has no batch normalisation, because the stand-in for Samsung's library lacks it."""
    torch.manual_seed(0)
    model = Convolutional().eval()
    model.first[1] = torch.nn.Identity()
    inputs = (torch.randn(1, 3, 16, 16),)
    program = portable_lib._load_for_executorch(str(written(lower(model, inputs), tmp_path)))
    torch.testing.assert_close(program.forward(inputs)[0], model(*inputs))


def test_a_network_for_another_chip(tmp_path: Path) -> None:
    """The library refuses payloads that are not networks for it; the error has the code and the program's chip."""
    model, inputs = model_of("convolutional")
    data = written(lower(quantized(model, inputs), inputs), tmp_path).read_bytes()
    says = "EnnOpenModelFromMemory failed with the code 3 while a network for the chip E9955"
    with pytest.raises(RuntimeError, match=says):
        portable_lib._load_for_executorch_from_buffer(data.replace(b"NPUREF01", b"NPUREF99")).forward(inputs)
