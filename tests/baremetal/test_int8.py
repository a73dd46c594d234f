# SPDX-License-Identifier: BSD-3-Clause
"""Firmware for emulated boards that computes an int8 model with the kernels of cortex_m: the numbers are those of the
operators in Python, to the last bit."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
import torch
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from emulated_boards import ROOT, emulate, example, succeed, write_program
from sdk.backends.cortex_m.edge import to_cortex_m
from sdk.backends.cortex_m.quantizer import CortexMQuantizer
from sdk.backends.cortex_m.target_config import CortexMTargetConfig

BUILD = ROOT / "build" / "baremetal" / "int8"
BOARDS = {"cortex-m55": "mps3-an547"}


def _program(target: str) -> Path:
    """The classifier of examples/cortex_m in int8."""
    model = example("model").TinyClassifier().eval().to(memory_format=torch.channels_last)
    inputs = tuple(each.to(memory_format=torch.channels_last) for each in example("model").example_inputs())
    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), CortexMQuantizer())
    prepared(*inputs)
    quantized = torch.export.export(convert_pt2e(prepared), inputs)
    lowered = to_cortex_m(quantized, target_config=CortexMTargetConfig.from_target_string(target))
    expected = lowered.exported_program().module()(*inputs)
    with torch.no_grad():
        torch.testing.assert_close(expected, model(*inputs), atol=0.01, rtol=0)
    return write_program(BUILD / target, lowered.to_executorch().buffer, inputs[0], expected)


@pytest.mark.parametrize("target", BOARDS)
def test_a_model_gives_the_numbers_of_the_operators(target: str) -> None:
    program, folder = _program(target), BUILD / target / "build"
    succeed(
        *(
            "cmake",
            "--preset",
            "arm-baremetal",
            "-B",
            folder,
            f"-DTARGET_CPU={target}",
            f"-DET_PTE_FILE_PATH={program}",
        ),
        *(f"-DPython3_EXECUTABLE={sys.executable}", "-DEXECUTORCH_BUILD_SIZE_TEST=OFF"),
    )
    jobs = os.environ.get("JOBS", str(os.cpu_count() or 1))
    succeed("cmake", "--build", folder, "--parallel", jobs, "--target", "cortex_m_runner")
    image = folder / "examples/cortex_m/cortex_m_runner.elf"
    done = emulate(BOARDS[target], image)
    assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout
    # Probabilities are multiples of 1/256, so that the firmware's tolerance leaves no other.
    found = [float(number) for number in done.stdout.splitlines()[0].split()]
    text = (program.parent / "model_case.h").read_text().split("kExpected")[1]
    assert found == pytest.approx([float(each) for each in re.findall(r"[-\d.e]+(?=f)", text)], abs=2e-6)
    kernels = set(
        re.findall(r"native::(\w+_out)\(executorch::runtime::Kernel", succeed("arm-none-eabi-nm", "-C", image))
    )
    edges = {"cortex_m_quantize_per_tensor_out", "cortex_m_dequantize_per_tensor_out"}
    layers = {
        f"cortex_m_{name}_out" for name in ("quantized_conv2d", "quantized_max_pool2d", "quantized_linear", "softmax")
    }
    assert kernels == edges | layers | {"_clone_dim_order_out"}  # flattening moves elements
