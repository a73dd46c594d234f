# SPDX-License-Identifier: BSD-3-Clause
"""The linker accepts the files that a selective build compiles for each single kernel. test_kernel_sources.py follows
the symbols of the same kernels in seconds; this test takes minutes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY))

from codegen.functions_yaml import load_functions  # noqa: E402
from codegen.kernel_sources import KERNELS, functions_of_sources  # noqa: E402

BUILD = Path(os.environ.get("SDK_KERNEL_BUILD", REPOSITORY / "build/package"))
LEAST = {"cadence": 51, "cortex_m": 17, "llm": 10, "optimized": 33, "portable": 320, "quantized": 29}
RUNTIME = ("executorch_core", "executorch", "program_schema", "prim_ops", "kernel_instruction_sets")
HELPERS = ("executorch_highway", "extension_threadpool", "extension_tensor", "pthreadpool", "cpuinfo")


def compiled(library: str) -> dict[Path, Path]:
    """The object file of each source of a kernel library."""
    folder = BUILD / "kernels" / library / "CMakeFiles" / f"{library}_kernels.dir"
    return {
        (KERNELS / library / str(path.relative_to(folder)).removesuffix(".o").replace("__", "..")).resolve(): path
        for path in folder.rglob("*.cpp.o")
    }


@pytest.mark.slow
@pytest.mark.parametrize("library", sorted(LEAST))
def test_every_kernel_alone_links(library: str, tmp_path: Path) -> None:
    """SB-05: no symbol stays undefined, and the linked file has the kernel."""
    compiler = shutil.which("c++")
    if compiler is None or not BUILD.is_dir() or sys.platform != "linux":
        pytest.skip("needs Linux, a compiler, and build/package or what SDK_KERNEL_BUILD names")
    objects = compiled("portable") | compiled(library)
    helpers = [str(path) for source, path in objects.items() if not source.name.startswith("op_")]
    subprocess.run(["ar", "rcsT", tmp_path / "helpers.a", *helpers], check=True)
    archives = [tmp_path / "helpers.a"]
    archives += [path for name in (*RUNTIME, *HELPERS) for path in BUILD.rglob(f"lib{name}.a")]
    functions = sorted({entry.unqualified for entry in load_functions(KERNELS / library / "functions.yaml")})
    files = functions_of_sources(functions, [KERNELS / library / "cpu", KERNELS / "portable/cpu"])
    linked, failures = tmp_path / "linked.so", []
    for function in functions:
        chosen = [objects[path] for path, found in files.items() if function in found]
        command = [compiler, "-shared", "-Wl,-z,defs", "-o", linked, *chosen, "-Wl,--start-group", *archives]
        command += ["-Wl,--end-group", "-pthread", "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        symbol = f"6native{len(function)}{function}E"
        if done.returncode != 0:
            failures.append(f"{function}: {done.stderr[-500:]}")
        elif symbol not in subprocess.run(["nm", linked], capture_output=True, text=True, check=True).stdout:
            failures.append(f"{function}: it is not in what was linked")
    assert not failures
    assert len(functions) >= LEAST[library]
