# SPDX-License-Identifier: BSD-3-Clause
"""Projects that build this SDK as a part of their own build, and have targets with names of XNNPACK's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
PROJECT = """
cmake_minimum_required(VERSION 3.24)
project(parent LANGUAGES NONE)
# What this SDK's own files define before.
function(executorch_fetch)
endfunction()
function(executorch_third_party_option)
endfunction()
add_library({target} INTERFACE)
include("{root}/backends/xnnpack/third_party.cmake")
"""


@pytest.mark.parametrize("target", ["XNNPACK", "memory"])
def test_the_error_is_a_sentence(tmp_path: Path, target: str) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(target=target, root=ROOT))
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build"], capture_output=True, text=True)
    said = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert f"The project has a target {target}, which is a name of XNNPACK's" in said
    assert "use find_package(executorch), or pass -DEXECUTORCH_BUILD_XNNPACK=OFF" in said
    assert said.count("CMake Error") == 1
