# SPDX-License-Identifier: BSD-3-Clause
"""`gen_custom_ops_aot_lib()`, which needs no PyTorch until the library is compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TOOLS = f"{Path(sys.executable).parent}:/usr/bin:/usr/local/bin"
PROJECT = """
cmake_minimum_required(VERSION 3.24)
project(aot LANGUAGES CXX)
include("{root}/cmake/Codegen.cmake")
add_library(extension_aten_util INTERFACE)
gen_custom_ops_aot_lib({arguments})
"""
OPERATORS = """
- func: my::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
  kernels: [{kernel_name: f_out}]
"""


def configured(folder: Path, arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT.as_posix(), arguments=arguments))
    (folder / "custom_ops.yaml").write_text(OPERATORS)
    (folder / "kernels.cpp").write_text("")
    cmake = shutil.which("cmake", path=TOOLS)
    assert cmake
    command = [
        cmake,
        "-S",
        str(folder),
        "-B",
        str(folder / "build"),
        "-G",
        "Ninja",
        f"-DPython3_EXECUTABLE={sys.executable}",
    ]
    environment = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_code_is_generated_when_it_may_change(tmp_path: Path) -> None:
    """Generated once, and again for another YAML file, also if the code is the same; it depends on the generator."""
    done = configured(tmp_path, "my_ops KERNEL_SOURCES kernels.cpp CUSTOM_OPS_YAML custom_ops.yaml")
    assert done.returncode == 0, done.stderr
    ninja = shutil.which("ninja", path=TOOLS)
    assert ninja
    target = "my_ops/kernels/custom/RegisterToPyTorch.cpp"

    def output(*arguments: str) -> str:
        command = [ninja, "-C", str(tmp_path / "build"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def is_made() -> bool:
        return "no work to do" not in output(target)

    assert [is_made(), is_made()] == [True, False]
    (tmp_path / "custom_ops.yaml").write_text(f"# another comment{OPERATORS}")
    assert [is_made(), is_made()] == [True, False]
    (tmp_path / "custom_ops.yaml").write_text(OPERATORS.replace("my::f", "my::g"))
    assert [is_made(), is_made()] == [True, False]
    assert "g.out" in (tmp_path / "build" / target).read_text()
    inputs = output("-t", "query", target)
    assert "codegen/gen.py" in inputs and "RegisterToPyTorch.cpp.jinja" in inputs


@pytest.mark.parametrize("arguments", ["", "my_ops", "KERNEL_SOURCES kernels.cpp"])
def test_a_library_without_name_or_kernels_is_refused(tmp_path: Path, arguments: str) -> None:
    done = configured(tmp_path, f"{arguments} CUSTOM_OPS_YAML custom_ops.yaml")
    assert done.returncode != 0 and "give its name, and KERNEL_SOURCES or DEPS" in " ".join(done.stderr.split())
