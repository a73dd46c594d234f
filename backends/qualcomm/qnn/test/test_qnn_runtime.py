# SPDX-License-Identifier: BSD-3-Clause
"""Programs in the runtime give the results of the interpreter. The delegate calls the stand-in of Qualcomm's
libraries. The step `qualcomm` of scripts/test.sh builds both."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch

from npu_models import Convolutional, Function, model_of, snr, written

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))

from qnn_lowering import lower, quantized, quantizer_of

from sdk.backends.qualcomm.qnn.verify import ReferenceProgram
from sdk.backends.qualcomm.quantizer import QuantDtype
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


def test_a_context_binary_of_another_release(tmp_path: Path) -> None:
    """The library refuses payloads that are not context binaries for it; the error has the code and the step."""
    model, inputs = model_of("convolutional")
    data = written(lower(quantized(model, inputs), inputs), tmp_path).read_bytes()
    with pytest.raises(RuntimeError, match="QnnSystemContext_getBinaryInfo failed with the code 5000 while a context"):
        portable_lib._load_for_executorch_from_buffer(data.replace(b"NPUREF01", b"NPUREF99")).forward(inputs)
