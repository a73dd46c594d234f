# SPDX-License-Identifier: BSD-3-Clause
"""examples/cortex_m on emulated boards: built with the preset arm-baremetal, inspected, and run.

Needs arm-none-eabi-gcc and qemu-system-arm; scripts/test.sh baremetal installs them.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from pathlib import Path

import pytest
import torch
import yaml

from emulated_boards import ROOT, emulate, succeed, tool, write_program
from sdk.devtools import Inspector
from sdk.devtools.inspector import TimeScale
from sdk.runtime import Runtime

BUILD = ROOT / "build" / "baremetal"
BOARDS = {"mps2-an386": "cortex-m4", "mps2-an500": "cortex-m7", "mps3-an547": "cortex-m55"}

# Firmware must not contain these: functions of a heap, and locks.
HEAP = r"_?(malloc|calloc|realloc|free|memalign|sbrk)(_r)?|operator new.*|_Zn[wa].*"
LOCKS = r"__cxa_guard_.*|pthread_.*|__retarget_lock_.*|__lock_.*|__(malloc|sfp|sinit)_(un)?lock.*"
# Arithmetic, comparisons and conversions of floating-point numbers, as instructions and as calls of functions. Moves,
# loads and stores of such numbers are allowed.
FLOAT_INSTRUCTION = (
    r"\tv(add|sub|mul|div|n?mla|n?mls|n?mul|fn?m[as]|sqrt|cvt\w?|cmpe?|neg|abs|rint\w|maxnm|minnm)(\.|\s)"
)
FLOAT_CALL = (
    r"__aeabi_([dfh](add|sub|rsub|mul|div|cmp\w+|neg)|[dfh]2\w+|u?[il]2[dfh])|(sqrt|pow|exp|log|fmod|floor|ceil)f?"
)


@pytest.fixture(scope="session")
def model() -> Path:
    """The program that examples/cortex_m exports. The header next to it has PyTorch's result for its input."""
    succeed(sys.executable, "examples/cortex_m/export_model.py", "--output", BUILD / "model")
    return BUILD / "model" / "model.pte"


@pytest.fixture(scope="session", params=BOARDS)
def firmware(request: pytest.FixtureRequest, model: Path) -> tuple[str, Path]:
    """A board, and the image for it."""
    tool("arm-none-eabi-g++", "gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib")
    board = request.param
    folder = BUILD / board
    succeed(
        *("cmake", "--preset", "arm-baremetal", "-B", folder, f"-DTARGET_CPU={BOARDS[board]}"),
        *(f"-DET_PTE_FILE_PATH={model}", f"-DPython3_EXECUTABLE={sys.executable}"),
    )
    jobs = os.environ.get("JOBS", str(os.cpu_count() or 1))
    succeed("cmake", "--build", folder, "--parallel", jobs, "--target", "cortex_m_runner", "size_test")
    return board, folder


def test_gives_the_answer_of_pytorch(firmware: tuple[str, Path]) -> None:
    board, folder = firmware
    done = emulate(board, folder / "examples/cortex_m/cortex_m_runner.elf")
    assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout
    # The firmware compares with these numbers; here they are read from its output.
    text = (BUILD / "model" / "model_case.h").read_text()
    expected = [float(number) for number in re.findall(r"[-\d.e]+(?=f)", text.split("kExpected")[1])]
    found = [float(number) for number in done.stdout.splitlines()[0].split()]
    assert found == pytest.approx(expected, abs=2e-6)


@pytest.fixture(scope="session")
def traced(model: Path) -> Path:
    """Firmware of a Cortex-M4 with a bundled program that writes an ETDump."""
    folder = BUILD / "traced"
    succeed(
        *("cmake", "--preset", "arm-baremetal", "-B", folder, "-DTARGET_CPU=cortex-m4"),
        *(f"-DET_PTE_FILE_PATH={model}", f"-DPython3_EXECUTABLE={sys.executable}", "-DEXECUTORCH_BUILD_SIZE_TEST=OFF"),
        *("-DEXECUTORCH_BUILD_DEVTOOLS=ON", "-DET_BUNDLE_IO=ON"),
        *("-DEXECUTORCH_BUILD_ARM_ETDUMP=ON", "-DEXECUTORCH_ENABLE_EVENT_TRACER=ON"),
    )
    jobs = os.environ.get("JOBS", str(os.cpu_count() or 1))
    succeed("cmake", "--build", folder, "--parallel", jobs, "--target", "cortex_m_runner")
    return folder / "examples/cortex_m/cortex_m_runner.elf"


def test_bundled_program_and_etdump(traced: Path, tmp_path: Path) -> None:
    """BIO-07, BIO-08: the cases are run and verified, and the Inspector reads the ETDump, with times in cycles."""
    done = emulate("mps2-an386", traced, tmp_path)
    assert done.returncode == 0 and "Model verified successfully: 3 cases" in done.stdout, done.stdout
    inspector = Inspector(
        etdump_path=str(tmp_path / "etdump.etdp"),
        source_time_scale=TimeScale.CYCLES,
        target_time_scale=TimeScale.CYCLES,
    )
    blocks = [block for block in inspector.event_blocks if block.name == "Execute"]
    assert [block.bundled_input_index for block in blocks] == [0, 1, 2]
    for block in blocks:
        times = {event.name: event.perf_data.avg for event in block.events if event.perf_data is not None}
        kernels = {name: time for name, time in times.items() if name.startswith("native_call_")}
        assert "native_call_convolution.out" in kernels
        assert 0 < sum(kernels.values()) <= times["Method::execute"]


def test_the_cases_are_compared(traced: Path, tmp_path: Path) -> None:
    """BIO-07: with a bit of an expected output changed, it fails."""
    image = bytearray(traced.read_bytes())
    bundle = (BUILD / "model" / "model.bpte").read_bytes()
    start = image.find(bundle)
    assert start >= 0, "the bundled program is not in the image"
    text = (BUILD / "model" / "model_case.h").read_text()
    expected = [float(number) for number in re.findall(r"[-\d.e]+(?=f)", text.split("kExpected")[1])]
    place = image.find(struct.pack(f"<{len(expected)}f", *expected), start)
    assert place >= 0
    image[place + 3] ^= 0x80  # the sign of the first
    (tmp_path / "changed.elf").write_bytes(image)
    done = emulate("mps2-an386", tmp_path / "changed.elf", tmp_path)
    assert done.returncode == 1 and "FAILED: comparing the outputs" in done.stdout


def test_notices_a_wrong_answer(firmware: tuple[str, Path], tmp_path: Path) -> None:
    """The firmware's comparison fails if a byte of a weight is changed."""
    board, folder = firmware
    image = bytearray((folder / "examples/cortex_m/cortex_m_runner.elf").read_bytes())
    program = (BUILD / "model" / "model.pte").read_bytes()
    start = image.find(program)
    assert start >= 0, "the model is not in the image"
    # The last weights of the constant segment; 0x3f ends the bytes of a float between 0.5 and 2.
    image[start + len(program) - 1] = 0x3F
    changed = tmp_path / "changed.elf"
    changed.write_bytes(image)
    done = emulate(board, changed)
    assert done.returncode != 0 and "(wrong)" in done.stdout


def test_smallest_program_runs(firmware: tuple[str, Path]) -> None:
    """SB-01: the core without operators is within 24 KB, and docs/status.yaml has its size."""
    board, folder = firmware
    binary = folder / "tests/size/size_test"
    assert emulate(board, binary).returncode == 0
    if board != "mps2-an386":
        return  # The limit is for a Cortex-M4.
    text = int(succeed("arm-none-eabi-size", binary).splitlines()[1].split()[0])
    model = (ROOT / "tests/size/identity.pte").stat().st_size
    assert text - model <= 24 * 1024, f"{text - model} bytes; see scripts/bench --size"
    stated = yaml.safe_load((ROOT / "docs" / "status.yaml").read_text())["sizes"]["core-cortex-m4"]["bytes"]
    assert abs(text - model - stated) <= stated // 200, f"docs/status.yaml: {stated} bytes, expected {text - model}"


def test_has_no_heap_and_no_locks(firmware: tuple[str, Path]) -> None:
    """RT-18"""
    _, folder = firmware
    listing = succeed("arm-none-eabi-nm", folder / "examples/cortex_m/cortex_m_runner.elf")
    symbols = [line.split()[-1] for line in listing.splitlines()]
    assert "reset_handler" in symbols
    assert [name for name in symbols if re.fullmatch(f"{HEAP}|{LOCKS}", name)] == []


def test_holds_only_the_kernels_of_the_model(firmware: tuple[str, Path]) -> None:
    _, folder = firmware
    listing = succeed("arm-none-eabi-nm", "-C", folder / "examples/cortex_m/cortex_m_runner.elf")
    kernels = re.findall(r"torch::executor::native::(\w+_out)\(executorch::runtime::KernelRuntimeContext&", listing)
    expected = {"softmax_out", "addmm_out", "convolution_out", "max_pool2d_with_indices_out", "relu_out"}
    assert {kernel.lstrip("_") for kernel in kernels} == {kernel.lstrip("_") for kernel in expected}


def test_firmware_of_another_project_links_what_is_installed() -> None:
    """ETU-12: `--target install` needs no prefix, and `find_package` finds the library in the build folder. Without the
    portable kernels, which take minutes to compile, the program is one without operators."""
    folder, python = BUILD / "installed", f"-DPython3_EXECUTABLE={sys.executable}"
    package = ("cmake", "--preset", "arm-baremetal", "-B", folder / "package", "-DTARGET_CPU=cortex-m4", python)
    succeed(*package, "-DEXECUTORCH_BUILD_PORTABLE_OPS=OFF", "-DEXECUTORCH_BUILD_SIZE_TEST=OFF")
    jobs = os.environ.get("JOBS", str(os.cpu_count() or 1))
    succeed("cmake", "--build", folder / "package", "--parallel", jobs, "--target", "install")
    given = (ROOT / "tests/size/identity.pte").read_bytes()
    method = Runtime.get().load_program(given).load_method("forward")
    values = torch.linspace(-1, 1, 2 * method.metadata.input_tensor_meta(0).nbytes() // 4)[::2]
    program = write_program(folder, given, values, values)
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'cmake/toolchains/arm-none-eabi.cmake'}"
    options = (toolchain, "-DTARGET_CPU=cortex-m4", "-DCMAKE_BUILD_TYPE=MinSizeRel", "-G", "Ninja", python)
    places = (f"-DCMAKE_PREFIX_PATH={folder / 'package'}", f"-DPROGRAM={program}")
    source = ("-S", Path(__file__).with_name("installed"), f"-DBOARDS={ROOT / 'examples/cortex_m'}")
    succeed("cmake", *source, "-B", folder / "firmware", *options, *places)
    succeed("cmake", "--build", folder / "firmware", "--parallel", jobs)
    done = emulate("mps2-an386", folder / "firmware/firmware")
    assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout


def test_runtime_has_no_floating_point(firmware: tuple[str, Path]) -> None:
    """runtime/ moves floating-point numbers and never computes with them, so it runs on processors without such
    arithmetic."""
    _, folder = firmware
    runtime = folder / "sdk/cpp/executorch/runtime"
    libraries = [runtime / "libexecutorch_core.a", runtime / "executor/libexecutorch.a"]
    for library in libraries:
        code = succeed("arm-none-eabi-objdump", "--disassemble", "--demangle", library)
        assert code.count("\n") > 1000
        function, found = "", []
        for line in code.splitlines():
            if line.endswith(">:"):
                function = line.split("<", 1)[1]
            elif re.search(FLOAT_INSTRUCTION, line):
                found.append(f"{function} {line.strip()}")
        undefined = succeed("arm-none-eabi-nm", "--undefined-only", library).split()
        calls = [name for name in undefined if re.fullmatch(FLOAT_CALL, name)]
        assert (found, calls) == ([], []), library.name
