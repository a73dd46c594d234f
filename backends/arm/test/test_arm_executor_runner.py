# SPDX-License-Identifier: BSD-3-Clause
"""The documented way from a model to firmware: aot_arm_compiler, arm_executor_runner, run_fvp.sh. The firmware runs on
an emulated Cortex-M55, with the model of the NPU as the driver."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from examples.arm.aot_arm_compiler import main as aot_arm_compiler

from emulated_boards import ROOT, emulate, run, succeed
from sdk.runtime import Runtime

BUILD = ROOT / "build" / "arm-runner"
SCRIPTS = ROOT / "backends/arm/scripts"
RUNNER = ROOT / "examples/arm/executor_runner"
TOOLCHAIN = ROOT / "examples/arm/ethos-u-setup/arm-none-eabi-gcc.cmake"
SRAM, DDR = range(0x31000000, 0x31400000), range(0x70000000, 0x72000000)
MODES = {
    "Sram_Only": ("ethos-u55-128", SRAM, SRAM),
    "Shared_Sram": ("ethos-u55-128", DDR, SRAM),
    "Dedicated_Sram_384KB": ("ethos-u65-256", DDR, DDR),
}
"""By memory mode: an NPU that has it, the address range of the program, and that of the scratch memory."""


@pytest.fixture(scope="module", autouse=True)
def _folder() -> Iterator[None]:
    """Only one worker of pytest-xdist uses the folder at a time, because a firmware stays there until it has run."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _program(mode: str) -> Path:
    """The documented command; the model adds its inputs."""
    program = BUILD / f"{mode}.pte"
    target = [f"--target={MODES[mode][0]}", f"--memory_mode={mode}"]
    assert aot_arm_compiler(["--model_name=add", "--delegate", "--quantize", f"--output={program}", *target]) == 0
    return program


def _build(program: Path, *options: str) -> Path:
    """All modes share a folder, and with it object files."""
    environment = {"PYTHON": sys.executable, "JOBS": os.environ.get("JOBS", str(os.cpu_count() or 1))}
    script = SCRIPTS / "build_executor_runner.sh"
    command = [script, f"--pte={program}", f"--output={BUILD / 'build'}", *options]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return BUILD / "build" / "arm_executor_runner"


def _addresses(image: Path) -> dict[str, int]:
    lines = succeed("arm-none-eabi-nm", "--demangle", "--defined-only", image).splitlines()
    return {name: int(address, 16) for address, _, name in (line.split(maxsplit=2) for line in lines)}


@pytest.mark.sampled
@pytest.mark.parametrize("mode", MODES)
def test_the_runner_computes_in_each_memory_mode(mode: str) -> None:
    """ETU-12, ETU-14, ETU-17: the sum of ones equals that of the Python runtime, about two. The program, the scratch
    memory and the fast scratch memory are in the places that the memory mode defines."""
    npu, program_place, scratch_place = MODES[mode]
    program = _program(mode)
    image = _build(program, f"--target={npu}", f"--memory_mode={mode}")
    done = emulate("mps3-an547", image)
    assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout
    found = re.findall(r"^Output\[0\]\[(\d+)\]: \(Float\) (\S+)$", done.stdout, re.M)
    method = Runtime.get().load_program(program).load_method("forward")
    ones = [torch.ones(tuple(method.metadata.input_tensor_meta(i).sizes())) for i in range(2)]
    (expected,) = method.execute(ones)
    assert [int(index) for index, _ in found] == list(range(expected.numel()))
    assert [float(number) for _, number in found] == pytest.approx(expected.flatten().tolist(), abs=1e-6)
    assert float(found[0][1]) == pytest.approx(2.0, abs=0.05)
    at = _addresses(image)
    assert at["model_pte"] in program_place
    assert at["(anonymous namespace)::temporary_memory"] in scratch_place
    fast = at.get("(anonymous namespace)::fast_scratch")
    assert (fast in SRAM) if mode.startswith("Dedicated") else fast is None


DRIVER = """
#include "ethosu_driver.h"
#include "semihosting.h"
static struct ethosu_driver* registered;
int ethosu_init(struct ethosu_driver* drv, void* const base, const void* fast, const size_t fast_size,
                uint32_t secure, uint32_t privileged) {
  drv->base = base;
  registered = drv;
  return base == (void*)0x58102000 && fast == 0 && fast_size == 0 && secure && privileged ? 0 : 1;
}
void ethosu_irq_handler(struct ethosu_driver* drv) { (void)drv; semihosting_write("interrupt\\n"); }
struct ethosu_driver* ethosu_reserve_driver(void) { return registered; }
void ethosu_release_driver(struct ethosu_driver* drv) { (void)drv; }
int ethosu_invoke_v3(struct ethosu_driver* drv, const void* data, int size, uint64_t* const bases, const size_t* sizes,
                     int count, void* user) {
  (void)data; (void)user;
  *(volatile uint32_t*)(0xE000E200 + 4) = 1u << 24;  // sets the interrupt 56
  for (int i = 0; i < 1000; ++i) __asm volatile("nop");
  const int is_right = size > 32 && count >= 2 && bases[0] % 16 == 0 && sizes[1] > 0 && drv == registered;
  semihosting_write(is_right ? "invoked\\n" : "?");
  return 0;
}
"""
HEADER = """
#pragma once
#include <stddef.h>
#include <stdint.h>
struct ethosu_driver { void* base; };
int ethosu_init(struct ethosu_driver*, void* const, const void*, const size_t, uint32_t, uint32_t);
void ethosu_irq_handler(struct ethosu_driver*);
"""


def test_the_runner_initialises_a_core_driver(tmp_path: Path) -> None:
    """ETU-12: a library with the functions of Arm's driver replaces the model; its NPU raises an interrupt."""
    (tmp_path / "ethosu_driver.h").write_text(HEADER)
    (tmp_path / "driver.c").write_text(DRIVER)
    library = "add_library(ethosu_core_driver STATIC driver.c)"
    folders = f"target_include_directories(ethosu_core_driver PUBLIC {tmp_path} {ROOT / 'examples/cortex_m'})"
    (tmp_path / "CMakeLists.txt").write_text(f"{library}\n{folders}\n")
    image = _build(_program("Shared_Sram"), "--memory_mode=Shared_Sram", f"--core_driver={tmp_path}")
    done = emulate("mps3-an547", image)
    assert done.returncode == 0, done.stdout
    assert [line for line in done.stdout.splitlines() if line in ("interrupt", "invoked")] == ["interrupt", "invoked"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-DETHOSU_TARGET_NPU_CONFIG=ethos-u85-256"], "no linker script here for a board with an Ethos-U85"),
        (["-DMEMORY_MODE=Shared"], "MEMORY_MODE is 'Shared'; there are Sram_Only"),
        (["-DMEMORY_MODE=Dedicated_Sram"], "an Ethos-U55 has Sram_Only and Shared_Sram"),
        (["-DET_PTE_FILE_PATH=/nowhere.pte"], "'/nowhere.pte', which is not a file"),
    ],
)
def test_wrong_settings_are_errors(options: list[str], message: str, tmp_path: Path) -> None:
    toolchain = [f"-DCMAKE_TOOLCHAIN_FILE={TOOLCHAIN}", f"-DPython3_EXECUTABLE={sys.executable}"]
    done = run("cmake", "-S", RUNNER, "-B", tmp_path, *toolchain, *options)
    assert done.returncode != 0 and message in " ".join(done.stderr.split()), done.stderr


def _fvp(*options: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({"PATH": path} if path is not None else {})}
    command = [SCRIPTS / "run_fvp.sh", *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_without_a_simulator_the_script_says_what_to_do(tmp_path: Path) -> None:
    """ETU-13"""
    elf = tmp_path / "arm_executor_runner"
    elf.write_bytes(b"")
    for target, simulator in (
        ("ethos-u55-128", "FVP_Corstone_SSE-300_Ethos-U55"),
        ("ethos-u65-512", "FVP_Corstone_SSE-300_Ethos-U65"),
        ("ethos-u85-256", "FVP_Corstone_SSE-320"),
    ):
        done = _fvp(f"--elf={elf}", f"--target={target}")
        assert done.returncode == 1 and f"the simulator {simulator} is not on PATH" in done.stderr
        assert "qemu-system-arm -M mps3-an547" in done.stderr
    for options, message in (
        ([], "--elf=FILE is missing"),
        (["--elf=/nowhere"], "/nowhere is not a file"),
        ([f"--elf={elf}", "--target=ethos-u55"], "'ethos-u55' is not an Ethos-U"),
        ([f"--elf={elf}", "--timeout=soon"], "expected a number of seconds"),
        (["--fast"], "unknown option --fast"),
    ):
        done = _fvp(*options)
        assert done.returncode == 1 and message in done.stderr


@pytest.mark.parametrize(("said", "status"), [("PASSED, with 1 bytes", 0), ("FAILED: running the method", 1)])
def test_the_simulator_is_started(said: str, status: int, tmp_path: Path) -> None:
    """ETU-13, ETU-18: the simulator gets the options of SSE-300 and SSE-320; a stand-in prints its arguments."""
    elf = tmp_path / "arm_executor_runner"
    elf.write_bytes(b"")
    for target, simulator, option in (
        ("ethos-u55-64", "FVP_Corstone_SSE-300_Ethos-U55", "ethosu.num_macs=64"),
        ("ethos-u85-1024", "FVP_Corstone_SSE-320", "mps4_board.subsystem.ethosu.num_macs=1024"),
    ):
        (tmp_path / simulator).write_text(f'#!/bin/sh\necho "$@"\necho "{said}"\n')
        (tmp_path / simulator).chmod(0o755)
        done = _fvp(f"--elf={elf}", f"--target={target}", "--timeout=9", path=f"{tmp_path}:{os.environ['PATH']}")
        assert done.returncode == status, done.stderr
        assert f"-C {option} " in done.stdout and f"-a {elf} --timelimit 9" in done.stdout
