# SPDX-License-Identifier: BSD-3-Clause
"""`examples/raspberry_pi/setup.sh`: what it refuses, and what it has built in the folder SDK_RASPBERRY_PI."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from test_runner import PROMPT, make, write_tokenizer

from sdk.extension.llm.runner import GenerationConfig, TextLLMRunner

ROOT = Path(__file__).parents[3]
SETUP = ROOT / "examples/raspberry_pi/setup.sh"
BUILD = ROOT / os.environ.get("SDK_RASPBERRY_PI", "none")
EMULATOR = ["qemu-aarch64", "-cpu", "cortex-a76", "-L", "/usr/aarch64-linux-gnu"]
built = pytest.mark.skipif(not BUILD.exists(), reason="the step raspberry-pi of scripts/test.sh builds it")
PROGRAM = """
#include <cstdio>
#include <runner.h>

int main(int, char** arguments) {
  const auto runner = example::create_llama_runner(arguments[1], arguments[2]);
  if (runner == nullptr) return 1;
  executorch::extension::llm::GenerationConfig config;
  config.max_new_tokens = 20;
  config.temperature = 0;
  config.echo = false;
  const auto print = [](const std::string& piece) { std::fputs(piece.c_str(), stdout); };
  const auto error = runner->generate(arguments[3], config, print, nullptr);
  return error == executorch::runtime::Error::Ok ? 0 : 2;
}
"""


def setup(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SETUP, *arguments], capture_output=True, text=True, env=os.environ | more, check=False)


def test_what_setup_refuses(tmp_path: Path) -> None:
    """RPI-01, RPI-02, LR-03: wrong arguments, a folder without a toolchain, an old CMake."""
    assert "usage: setup.sh pi4|pi5 [--force-rebuild]" in setup().stderr
    assert "[ERROR] unknown argument pi3" in setup("pi3").stderr
    if shutil.which("ninja") is None:
        pytest.skip("ninja is not installed")
    assert "TOOLCHAIN_PATH has no bin/aarch64-none-linux-gnu-g++" in setup("pi5", TOOLCHAIN_PATH=str(tmp_path)).stderr
    old = tmp_path / "cmake"
    old.write_text("#!/bin/sh\necho cmake version 3.22.1\n")
    old.chmod(0o755)
    result = setup("pi5", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert result.returncode == 1 and "CMake 3.24 or newer is needed, found 3.22.1: pip install cmake" in result.stderr


def test_toolchain_files(tmp_path: Path) -> None:
    """RPI-05: for the processors of both boards, with the folder of Arm's toolchain or without."""
    for board, cpu in (("pi4", "cortex-a72"), ("pi5", "cortex-a76")):
        file = ROOT / f"examples/raspberry_pi/arm-toolchain-{board}.cmake"
        script = tmp_path / "show.cmake"
        script.write_text(f'include("{file}")\nmessage("${{CMAKE_CXX_FLAGS_INIT}} ${{CMAKE_SYSROOT}}")\n')
        environment = os.environ | {"TOOLCHAIN_PATH": "/toolchain"}
        shown = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, env=environment, check=True)
        assert shown.stderr.strip() == f"-mcpu={cpu} /toolchain/aarch64-none-linux-gnu/libc"


@built
def test_outputs() -> None:
    """RPI-02, RPI-03, RPI-04, RPI-08: programs for 64-bit Arm, which need no newer C library than the Pi's."""
    result = setup("pi5", BUILD_DIR=str(BUILD.relative_to(ROOT)))  # built already
    assert result.returncode == 0, result.stderr
    for line in (
        "[SUCCESS] LLaMA runner built successfully",
        "==== Verifying Build Outputs ====",
        "[SUCCESS] ✓ llama_main (",
        "[SUCCESS] ✓ libllama_runner.so (",
        "[SUCCESS] ✓ libextension_module.a (",
        "The programs need GLIBC_2.",
    ):
        assert line in result.stdout
    assert (BUILD / "examples/models/llama/runner/libllama_runner.so").exists()


@built
def test_programs_of_ones_own(tmp_path: Path) -> None:
    """RPI-04, RPI-09: a program with libllama_runner.so, found by LD_LIBRARY_PATH, gives the text of this machine."""
    source, program = tmp_path / "main.cpp", tmp_path / "main"
    source.write_text(PROGRAM)
    runner = ROOT / "examples/models/llama/runner"
    includes = [runner, ROOT / "sdk/cpp", ROOT / "sdk/cpp/executorch/extension/llm/tokenizers/include"]
    library = BUILD / "examples/models/llama/runner"
    command = ["aarch64-linux-gnu-g++", "-std=c++17", *(f"-I{folder}" for folder in includes), source]
    subprocess.run([*command, f"-L{library}", "-lllama_runner", "-o", program], check=True)
    model, tokenizer = make(tmp_path), write_tokenizer(tmp_path / "tokenizer.json")
    arguments = [*EMULATOR, "-E", f"LD_LIBRARY_PATH={library}", program, str(model), str(tokenizer), PROMPT]
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    expected = TextLLMRunner(str(model), str(tokenizer)).generate_text(
        PROMPT, GenerationConfig(max_new_tokens=20, temperature=0.0, echo=False)
    )
    assert result.stdout == expected
