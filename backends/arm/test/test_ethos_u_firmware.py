# SPDX-License-Identifier: BSD-3-Clause
"""Firmware for an emulated Cortex-M55 with the delegate of the Ethos-U, whose driver is the model of the NPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from arm_lowering import lower
from ethos_u_model import quantized

from emulated_boards import ROOT, emulate, example, succeed, write_program
from sdk.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner

BUILD = ROOT / "build" / "arm-firmware"
SPEC = EthosUCompileSpec("ethos-u55-128", memory_mode="Sram_Only")


@pytest.fixture(scope="module")
def program() -> Path:
    """The int8 classifier of examples/cortex_m, with the result of the TOSA reference model next to it."""
    model = example("model")
    inputs = model.example_inputs()
    converted = quantized(model.TinyClassifier(), inputs, SPEC)
    ours = lower(converted, inputs, partitioner=EthosUPartitioner(SPEC))
    assert len(ours.payloads) == 1
    (expected,) = lower(converted, inputs, str(SPEC.tosa_spec)).run(*inputs)
    with torch.no_grad():
        torch.testing.assert_close(expected, model.TinyClassifier()(*inputs), atol=0.01, rtol=0)
    return write_program(BUILD, ours.edge.to_executorch().buffer, inputs[0], expected)


def _configure(folder: Path, program: Path, *options: str) -> list[str]:
    command = ["cmake", "--preset", "arm-baremetal", "-B", str(folder), "-DTARGET_CPU=cortex-m55", *options]
    return [*command, f"-DET_PTE_FILE_PATH={program}", f"-DPython3_EXECUTABLE={sys.executable}"]


def test_a_net_runs_on_the_delegate(program: Path) -> None:
    """ETU-12: the results equal those of the TOSA reference model. Without a driver, the firmware links and reports
    that the driver is missing."""
    jobs = os.environ.get("JOBS", str(os.cpu_count() or 1))
    for model, status, said in (("ON", 0, "PASSED"), ("OFF", 1, "FAILED: loading the method: NotFound")):
        succeed(*_configure(BUILD / "m55", program, f"-DEXECUTORCH_ARM_ETHOSU_MODEL={model}"))
        succeed("cmake", "--build", BUILD / "m55", "--parallel", jobs, "--target", "cortex_m_runner")
        done = emulate("mps3-an547", BUILD / "m55/examples/cortex_m/cortex_m_runner.elf")
        assert (done.returncode, said in done.stdout) == (status, True), done.stdout


def test_a_build_without_the_delegate_is_an_error(program: Path) -> None:
    """CMake names the option."""
    command = _configure(BUILD / "without", program, "-DEXECUTORCH_BUILD_ARM_ETHOSU_DELEGATE=OFF")
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode != 0
    assert "-DEXECUTORCH_BUILD_ARM_ETHOSU_DELEGATE=ON" in done.stderr
