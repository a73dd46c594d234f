# SPDX-License-Identifier: BSD-3-Clause
"""Builds and programs without what Vulkan needs: the message says what is missing."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import lowered
import pytest
import torch

from sdk.extension.pybindings.portable_lib import _get_registered_backend_names
from sdk.runtime import Runtime

ROOT = Path(__file__).resolve().parents[3]


def test_a_program_without_the_backend() -> None:
    """VK-22: an application that does not link the backend: the error names it."""
    if "VulkanBackend" in _get_registered_backend_names():
        pytest.skip("this runtime has the backend")
    program = lowered.lower(torch.nn.Linear(3, 2), (torch.randn(1, 3),)).to_executorch()
    loaded = Runtime.get().load_program(program.buffer)
    with pytest.raises(RuntimeError, match=r"not registered.*VulkanBackend"):
        loaded.load_method("forward")


def test_a_build_without_glslc(tmp_path: Path) -> None:
    """VK-09, VK-10: without glslc and Vulkan's headers, the configuration fails and says how to get them."""
    backend = ROOT / "backends/vulkan/CMakeLists.txt"
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.24)\nproject(none NONE)\ninclude({backend})\n"
    )
    cmake = [*("cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), "-G", "Ninja")]
    nowhere = ["-DCMAKE_FIND_ROOT_PATH=/there/is/none", "-DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=ONLY"]
    nowhere += ["-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY", "-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF"]
    environment = {key: value for key, value in os.environ.items() if key not in ("VULKAN_SDK", "CPATH")}
    done = subprocess.run([*cmake, *nowhere], capture_output=True, text=True, env=environment)
    assert done.returncode != 0
    message = re.sub(r"\s+", " ", done.stderr)
    assert "EXECUTORCH_BUILD_VULKAN needs the headers of Vulkan and glslc" in message
    assert "apt-get install libvulkan-dev glslc" in message and "VULKAN_SDK" in message


def test_preset_for_android() -> None:
    """VK-21: the preset of the tutorial."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())
    assert "android-arm64-v8a" in [preset["name"] for preset in presets["configurePresets"]]
