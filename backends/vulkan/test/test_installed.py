# SPDX-License-Identifier: BSD-3-Clause
"""The backend in a C++ project that uses only the installed library."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import lowered
import pytest
import torch

ROOT = Path(__file__).resolve().parents[3]
CONSUMER = ROOT / "backends" / "vulkan" / "test" / "consume"


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


@pytest.mark.slow
def test_vk_09_a_component_of_the_package(tmp_path: Path) -> None:
    """VK-09: `find_package(executorch COMPONENTS vulkan_backend)`; linking the target registers the backend without
    whole archives."""
    here = Path(os.environ["VULKAN_REPLAY"]).parents[2]
    cache = (here / "CMakeCache.txt").read_text()
    tools = [
        f"-D{name}={value}"
        for name, value in re.findall(r"^(EXECUTORCH_(?:VULKAN_INCLUDE_DIR|GLSLC)):\w+=(.*)$", cache, re.M)
    ]
    assert len(tools) == 2
    # At the depth of the other build folders, so that ccache has the object files that are not of this backend.
    build, prefix = ROOT / "build" / "vulkan-installed", tmp_path / "prefix"
    run(
        *("cmake", "--fresh", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *tools),
        f"-DEXECUTORCH_BUILD_PRESET_FILE={ROOT / 'cmake' / 'preset' / 'linux.cmake'}",
        *("-DEXECUTORCH_BUILD_TESTS=OFF", "-DEXECUTORCH_BUILD_BACKENDS=none", "-DEXECUTORCH_BUILD_VULKAN=ON"),
        f"-DPython3_EXECUTABLE={sys.executable}",
    )
    run("cmake", "--build", build, "--parallel", "2")
    run("cmake", "--install", build, "--prefix", prefix)

    project = tmp_path / "project"
    run(
        *("cmake", "-S", CONSUMER, "-B", project, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"),
        f"-DCONSUMER_SOURCES={ROOT / 'tests' / 'consume'}",
    )
    run("cmake", "--build", project)
    assert not re.search("whole-archive|force_load", (project / "build.ninja").read_text())
    program = tmp_path / "add.pte"
    edge = lowered.lower(Sum(), (torch.zeros(2, 3), torch.zeros(2, 3)))
    program.write_bytes(edge.to_executorch().buffer)
    for application in ("by_name", "namespaced"):
        assert "the sums are right" in run(project / application, program)
