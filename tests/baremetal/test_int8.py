# SPDX-License-Identifier: BSD-3-Clause
"""Firmware for emulated boards that computes int8 models with the kernels of cortex_m: the results equal
those of the operators in Python bit by bit. Limits on instructions and size of kernels with DSP and Helium."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from emulated_boards import ROOT, emulate, succeed, tool
from int8_firmware import BOARDS, FAST, PORTABLE, build
from microcontroller_models import MODELS


@pytest.mark.sampled
@pytest.mark.parametrize("cpu", BOARDS)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_the_numbers_of_the_operators(name: str, cpu: str) -> None:
    firmware = build(name, cpu)
    assert firmware.compute() > 0
    listing = "\n".join(firmware.functions())
    kernels = set(re.findall(r"native::cortex_m_(\w+)_out\(executorch::runtime::Kernel", listing))
    assert kernels == MODELS[name][2] | {"quantize_per_tensor", "dequantize_per_tensor"}


@pytest.mark.sampled
@pytest.mark.parametrize(("cpu", "most"), [("cortex-m4", 0.7), ("cortex-m55", 0.5)])
def test_instructions_of_dsp_and_helium(cpu: str, most: float, record_property: Callable[[str, object], None]) -> None:
    """A keyword spotter takes fewer instructions than with the portable kernels. Instructions are not its time."""
    counts = [build("keyword spotter", cpu, kernels).compute() for kernels in (FAST, PORTABLE)]
    record_property("instructions", counts)
    assert counts[0] <= most * counts[1], counts


def test_the_code_of_a_keyword_spotter_is_small() -> None:
    """The core, the kernels and the runner take at most 60 KB on a Cortex-M55."""
    firmware = build("keyword spotter", "cortex-m55")
    assert firmware.compute() > 0
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
    # The compared code does use DSP or Helium instructions, and the portable build does not.
    fast = r"\tvmladava\.s8\t" if cpu == "cortex-m55" else r"\tsmlad\t"
    for flag, is_fast in (("-UNDEBUG", True), (PORTABLE.flags, False)):
        succeed("arm-none-eabi-g++", *cpp, *flags, flag, "-S", sums, "-o", tmp_path / "sums.s")
        assert (re.search(fast, (tmp_path / "sums.s").read_text()) is not None) == is_fast
