# SPDX-License-Identifier: BSD-3-Clause
"""WebAssembly: the runtime by the preset `wasm`, run by Node.js, and how modules of the preset `web` are optimised."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NODE = shutil.which("node")
RUN = """
const { WASI } = require("node:wasi");
const wasi = new WASI({ version: "preview1" });
WebAssembly.instantiate(require("node:fs").readFileSync(process.argv[1]), wasi.getImportObject())
  .then(({ instance }) => process.exit(wasi.start(instance)));
"""
"""Runs a program of WASI; its exit status is that of the program."""

COMMANDS = [shutil.which(command) for command in ("node", "clang++-19", "wasm-ld-19")]
LIBRARIES = [
    Path("/usr/include/wasm32-wasi/c++/v1/vector"),
    Path("/usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a"),
]
needs_wasi = pytest.mark.skipif(
    None in COMMANDS or not all(library.exists() for library in LIBRARIES),
    reason="needs Node.js, clang-19, lld-19, wasi-libc, libc++-19-dev-wasm32 and libclang-rt-19-dev-wasm32",
)


def _status(program: Path) -> int:
    assert NODE is not None
    return subprocess.run([NODE, "--no-warnings", "-e", RUN, program], check=False, timeout=60).returncode


@needs_wasi
def test_a_part_of_the_core_runs(tmp_path: Path) -> None:
    """A program with the memory allocator runs in WebAssembly, where pointers have 4 bytes."""
    (tmp_path / "main.cpp").write_text("""
        #include <executorch/runtime/core/memory_allocator.h>
        int main() {
          alignas(16) static uint8_t memory[64];
          executorch::runtime::MemoryAllocator allocator(sizeof(memory), memory);
          void* first = allocator.allocate(1);
          void* second = allocator.allocate(8, 16);
          return first == memory && second == memory + 16 && allocator.allocate(64) == nullptr ? 7 : 1;
        }
    """)
    program = tmp_path / "main.wasm"
    parts = ("core/memory_allocator", "platform/abort", "platform/platform", "platform/default/minimal")
    sources = [tmp_path / "main.cpp", *(ROOT / f"sdk/cpp/executorch/runtime/{part}.cpp" for part in parts)]
    flags = ["--target=wasm32-wasi", "-std=c++17", "-fno-exceptions", "-Wall", "-Wextra", "-Werror"]
    flags += ["-DET_LOG_ENABLED=0", f"-I{ROOT}/sdk/cpp"]
    subprocess.run(["clang++-19", *flags, *sources, "-o", program], check=True)
    assert _status(program) == 7


@needs_wasi
@pytest.mark.slow
def test_the_preset_builds_a_runtime_that_runs_a_program() -> None:
    """tests/size: the status is 0 if the program gives its input back."""
    subprocess.run(["cmake", "--preset", "wasm"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", "--preset", "wasm", "--target", "size_test"], cwd=ROOT, check=True)
    assert _status(ROOT / "build/wasm/tests/size/size_test") == 0


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with a `wasm-opt`, which reverses a module and counts its runs in the file `runs`, and a `ccache`, whose
    folder is `cache`."""
    for name, lines in {
        "wasm-opt": [
            '[ "$1" != --version ] || { echo version 108; exit; }',
            f"echo run >> {tmp_path}/runs",
            'rev "$1" > "$4"',
            f"[ ! -e {tmp_path}/fails ]",
        ],
        "ccache": [f'[ "$*" = "--get-config cache_dir" ] && echo {tmp_path}/cache'],
    }.items():
        (tmp_path / name).write_text("\n".join(["#!/bin/sh", *lines, ""]))
        (tmp_path / name).chmod(0o755)
    (tmp_path / "cache").mkdir()
    return tmp_path


SCRIPT = ROOT / "sdk/web/native/optimize.cmake"


def optimized(tools: Path, module: str, *options: str) -> str:
    """The module after sdk/web/native/optimize.cmake, or what it said if it failed."""
    file = tools / "module.wasm"
    file.write_text(module)
    done = subprocess.run(
        ["cmake", f"-DMODULE={file}", f"-DWASM_OPT={tools}/wasm-opt", *options, "-P", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr if done.returncode else file.read_text()


def test_modules_are_optimised_once(tools: Path) -> None:
    ccache = f"-DCCACHE={tools}/ccache"
    assert [optimized(tools, module, ccache) for module in ("abc", "abd", "abc", "abd")] == ["cba", "dba", "cba", "dba"]
    assert (tools / "runs").read_text() == "run\n" * 2

    for file in (tools / "cache/wasm-opt").iterdir():
        os.utime(file, (0, 0))
    assert optimized(tools, "abc", ccache) == "cba"
    assert optimized(tools, "xyz", ccache) == "zyx"
    kept = sorted(file.read_text() for file in (tools / "cache/wasm-opt").iterdir())
    assert kept == ["cba", "zyx"], "what no build used for 30 days is deleted"

    assert [optimized(tools, "abc") for _ in range(2)] == ["cba", "cba"]
    assert (tools / "runs").read_text() == "run\n" * 5, "each module is optimised without ccache"


def test_a_failing_optimiser_leaves_nothing(tools: Path) -> None:
    (tools / "fails").touch()
    assert "Child return code: 1" in optimized(tools, "abc", f"-DCCACHE={tools}/ccache")
    assert (tools / "module.wasm").read_text() == "abc" and not list((tools / "cache").rglob("*.wasm"))
    (tools / "fails").unlink()
    assert optimized(tools, "abc", f"-DCCACHE={tools}/ccache") == "cba"
