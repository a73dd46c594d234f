# SPDX-License-Identifier: BSD-3-Clause
"""Firmware for emulated boards that computes a model with the int8 kernels of cortex_m."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from emulated_boards import ROOT, emulate, succeed, tool, write_program
from microcontroller_models import inputs_of, model_of, quantized_by_cortex_m
from sdk.backends.cortex_m.edge import to_cortex_m
from sdk.backends.cortex_m.target_config import CortexMTargetConfig

BUILD = ROOT / "build" / "baremetal" / "int8"
BOARDS = {"cortex-m4": "mps2-an386", "cortex-m7": "mps2-an500", "cortex-m55": "mps3-an547"}
INSTRUCTIONS_OF_TICK = 40
"""With -icount shift=0, QEMU's clock advances by 1 ns per instruction; a tick of SysTick, at 25 MHz, takes 40 ns."""


@dataclass(frozen=True)
class Kernels:
    """How the kernels are compiled.

    Attributes:
        name: The name of their build folder.
        flags: Flags for the C++ compiler.
        options: Options for CMake.
    """

    name: str
    flags: str = ""
    options: tuple[str, ...] = ()


FAST = Kernels("fast")
PORTABLE = Kernels("portable", "-DEXECUTORCH_CORTEX_M_PORTABLE")


@dataclass
class Firmware:
    """A program in firmware.

    Attributes:
        image: The file for QEMU.
        expected: What the operators in Python compute.
        program: The size of the program, in bytes.
    """

    board: str
    image: Path
    expected: list[float]
    program: int

    @property
    def code(self) -> int:
        """Returns the bytes of code and constants, except the program, which is in the section .model."""
        listing = succeed("arm-none-eabi-size", "-A", self.image)
        sizes = {line.split()[0]: int(line.split()[1]) for line in listing.splitlines() if line.startswith(".")}
        assert sizes[".model"] >= self.program
        return sizes[".text"] + sizes[".data"] + sizes.get(".ARM.exidx", 0) + sizes[".model"] - self.program

    def functions(self) -> list[str]:
        return succeed("arm-none-eabi-nm", "-C", self.image).splitlines()

    def compute(self) -> int:
        """Runs it; the numbers must be the expected ones. Returns the instructions that it took."""
        done = emulate(self.board, self.image, options=("-icount", "shift=0"))
        assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout
        found = [float(number) for number in done.stdout.splitlines()[0].split()]
        # A step of the results is larger than the tolerance, so each number must equal that of Python.
        steps = sorted({abs(a - b) for a in self.expected for b in self.expected if a != b})
        assert steps[0] > 1e-3
        assert found == pytest.approx(self.expected, abs=2e-6)
        ticks = re.search(r"^(\d+) ticks$", done.stdout, re.M)
        assert ticks
        return int(ticks[1]) * INSTRUCTIONS_OF_TICK


def build(name: str, cpu: str, kernels: Kernels = FAST) -> Firmware:
    """The firmware of a model of `microcontroller_models`."""
    model, shape = model_of(name)
    return build_model(name, model, shape, cpu, kernels)


def build_model(name: str, model: Any, shape: Sequence[int], cpu: str, kernels: Kernels = FAST) -> Firmware:
    """The firmware of a model. Models of one processor share a build folder, and with it object files."""
    tool("arm-none-eabi-g++", "gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib")
    shape = tuple(shape)
    quantized = torch.export.export(quantized_by_cortex_m(model, shape), inputs_of(shape))
    lowered = to_cortex_m(quantized, target_config=CortexMTargetConfig.from_target_string(cpu))
    inputs = inputs_of(shape, 10)
    expected = lowered.exported_program().module()(*inputs)
    folder = BUILD / (cpu if kernels is FAST else f"{cpu}-{kernels.name}")
    program = lowered.to_executorch().buffer
    path = write_program(folder / name.replace(" ", "_"), program, inputs[0], expected)
    memory = 24576 + 8 * inputs[0].nbytes
    command = ["cmake", "--preset", "arm-baremetal", "-B", folder / "build", f"-DTARGET_CPU={cpu}", *kernels.options]
    options = (f"-DPython3_EXECUTABLE={sys.executable}", "-DEXECUTORCH_BUILD_SIZE_TEST=OFF", "-DET_PRINT_TICKS=ON")
    sizes = (f"-DET_METHOD_MEMORY_BYTES={memory}", "-DET_TEMPORARY_MEMORY_BYTES=16384")
    # CMake reads the variable when a folder is configured for the first time.
    succeed("env", f"CXXFLAGS={kernels.flags}", *command, f"-DET_PTE_FILE_PATH={path}", *options, *sizes)
    jobs = os.environ.get("JOBS", str(os.cpu_count() or 1))
    succeed("cmake", "--build", folder / "build", "--parallel", jobs, "--target", "cortex_m_runner")
    is_image = expected.dim() == 4
    numbers = (expected.permute(0, 2, 3, 1) if is_image else expected).flatten().tolist()
    return Firmware(BOARDS[cpu], folder / "build/examples/cortex_m/cortex_m_runner.elf", numbers, len(program))
