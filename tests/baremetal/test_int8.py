# SPDX-License-Identifier: BSD-3-Clause
"""Firmware for emulated boards that computes int8 models with the kernels of cortex_m: the numbers are those of the
operators in Python, to the last bit. What the kernels with DSP and vector instructions cost, and how large they are."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from emulated_boards import ROOT, emulate, succeed, tool, write_program
from microcontroller_models import MODELS, inputs_of, model_of, quantized_by_cortex_m
from sdk.backends.cortex_m.edge import to_cortex_m
from sdk.backends.cortex_m.target_config import CortexMTargetConfig

BUILD = ROOT / "build" / "baremetal" / "int8"
BOARDS = {"cortex-m4": "mps2-an386", "cortex-m7": "mps2-an500", "cortex-m55": "mps3-an547"}
PORTABLE = "-DEXECUTORCH_CORTEX_M_PORTABLE"
INSTRUCTIONS_OF_TICK = 40
"""With -icount shift=0, QEMU's clock advances by 1 ns for an instruction, and SysTick counts at 25 MHz."""


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
        """Bytes of code and constants besides the program, which the section .model has."""
        listing = succeed("arm-none-eabi-size", "-A", self.image)
        sizes = {line.split()[0]: int(line.split()[1]) for line in listing.splitlines() if line.startswith(".")}
        assert sizes[".model"] >= self.program
        return sizes[".text"] + sizes[".data"] + sizes.get(".ARM.exidx", 0) + sizes[".model"] - self.program


def _build(name: str, cpu: str, flags: str = "") -> Firmware:
    """The firmware of a model. Models of one processor share a build folder, and with it object files."""
    tool("arm-none-eabi-g++", "gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib")
    model, shape = model_of(name)
    quantized = torch.export.export(quantized_by_cortex_m(model, shape), inputs_of(shape))
    lowered = to_cortex_m(quantized, target_config=CortexMTargetConfig.from_target_string(cpu))
    inputs = inputs_of(shape, 10)
    expected = lowered.exported_program().module()(*inputs)
    folder = BUILD / (f"{cpu}-portable" if flags else cpu)
    program = lowered.to_executorch().buffer
    path = write_program(folder / name.replace(" ", "_"), program, inputs[0], expected)
    command = ["cmake", "--preset", "arm-baremetal", "-B", folder / "build", f"-DTARGET_CPU={cpu}"]
    options = (f"-DPython3_EXECUTABLE={sys.executable}", "-DEXECUTORCH_BUILD_SIZE_TEST=OFF", "-DET_PRINT_TICKS=ON")
    # CMake reads the variable when a folder is configured for the first time.
    succeed("env", f"CXXFLAGS={flags}", *command, f"-DET_PTE_FILE_PATH={path}", *options)
    jobs = os.environ.get("JOBS", str(os.cpu_count() or 1))
    succeed("cmake", "--build", folder / "build", "--parallel", jobs, "--target", "cortex_m_runner")
    is_image = expected.dim() == 4
    numbers = (expected.permute(0, 2, 3, 1) if is_image else expected).flatten().tolist()
    return Firmware(BOARDS[cpu], folder / "build/examples/cortex_m/cortex_m_runner.elf", numbers, len(program))


def _compute(firmware: Firmware) -> int:
    """Runs a firmware, whose numbers must be the expected ones. Returns the instructions that it took."""
    done = emulate(firmware.board, firmware.image, options=("-icount", "shift=0"))
    assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout
    found = [float(number) for number in done.stdout.splitlines()[0].split()]
    # A step of the results is more than the tolerance, so that each number is that of Python.
    steps = sorted({abs(a - b) for a in firmware.expected for b in firmware.expected if a != b})
    assert steps[0] > 1e-3
    assert found == pytest.approx(firmware.expected, abs=2e-6)
    ticks = re.search(r"^(\d+) ticks$", done.stdout, re.M)
    assert ticks
    return int(ticks[1]) * INSTRUCTIONS_OF_TICK


@pytest.mark.sampled
@pytest.mark.parametrize("cpu", BOARDS)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_the_numbers_of_the_operators(name: str, cpu: str) -> None:
    firmware = _build(name, cpu)
    assert _compute(firmware) > 0
    listing = succeed("arm-none-eabi-nm", "-C", firmware.image)
    kernels = set(re.findall(r"native::cortex_m_(\w+)_out\(executorch::runtime::Kernel", listing))
    assert kernels == MODELS[name][2] | {"quantize_per_tensor", "dequantize_per_tensor"}


@pytest.mark.sampled
@pytest.mark.parametrize(("cpu", "most"), [("cortex-m4", 0.7), ("cortex-m55", 0.5)])
def test_instructions_of_dsp_and_helium(cpu: str, most: float, record_property: Callable[[str, object], None]) -> None:
    """A keyword spotter takes a part of the instructions that the portable kernels take. They are not its time."""
    counts = [_compute(_build("keyword spotter", cpu, flags)) for flags in ("", PORTABLE)]
    record_property("instructions", counts)
    assert counts[0] <= most * counts[1], counts


def test_the_code_of_a_keyword_spotter_is_small() -> None:
    """The core, the kernels and the runner take at most 60 KB on a Cortex-M55."""
    firmware = _build("keyword spotter", "cortex-m55")
    assert _compute(firmware) > 0
    assert firmware.code <= 60 * 1024, firmware.code


@pytest.mark.parametrize("cpu", BOARDS)
def test_fast_sums_equal_the_portable_ones(cpu: str, tmp_path: Path) -> None:
    """DSP and Helium: sums over all remainders, with the extremes of operands, offsets, multipliers and shifts."""
    tool("arm-none-eabi-g++", "gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib")
    folder, image = ROOT / "examples/cortex_m", tmp_path / "sums.elf"
    flags = [f"-mcpu={cpu}", "-mthumb", "-mfloat-abi=hard", "-Os", "-D__int64_t_defined=1", f"-I{ROOT}", f"-I{folder}"]
    cpp = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror"]
    sums, objects = ROOT / "kernels/cortex_m/test/sums.cpp", []
    for source in (sums, folder / "startup.c", folder / "semihosting.c"):
        objects.append(tmp_path / f"{source.stem}.o")
        compiler = ["arm-none-eabi-g++", *cpp] if source == sums else ["arm-none-eabi-gcc"]
        succeed(*compiler, *flags, "-c", source, "-o", objects[-1])
    scripts = [f"-T{folder}/boards/{BOARDS[cpu]}.ld", f"-L{folder}/boards", f"-L{folder}/boards/one_memory"]
    succeed("arm-none-eabi-g++", *flags, "--specs=nano.specs", "-nostartfiles", *scripts, *objects, "-o", image)
    done = emulate(BOARDS[cpu], image)
    assert done.returncode == 0 and "equal" in done.stdout, done.stdout
    # What is compared are other instructions than the portable ones.
    fast = r"\tvmladava\.s8\t" if cpu == "cortex-m55" else r"\tsmlad\t"
    for flag, is_fast in (("-UNDEBUG", True), (PORTABLE, False)):
        succeed("arm-none-eabi-g++", *cpp, *flags, flag, "-S", sums, "-o", tmp_path / "sums.s")
        assert (re.search(fast, (tmp_path / "sums.s").read_text()) is not None) == is_fast
