# SPDX-License-Identifier: BSD-3-Clause
"""Builds and programs without Vulkan's requirements: the message names the missing part."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import lowered
import pytest
import torch

from sdk.extension.pybindings.portable_lib import _get_registered_backend_names
from sdk.runtime import Runtime

ROOT = Path(__file__).resolve().parents[4]


def test_a_program_without_the_backend() -> None:
    """VK-22: in an application that does not link the backend, the error names it."""
    if "VulkanBackend" in _get_registered_backend_names():
        pytest.skip("this runtime has the backend")
    program = lowered.lower(torch.nn.Linear(3, 2), (torch.randn(1, 3),)).to_executorch()
    loaded = Runtime.get().load_program(program.buffer)
    with pytest.raises(RuntimeError, match=r"not registered.*VulkanBackend"):
        loaded.load_method("forward")


def test_a_build_without_glslc(tmp_path: Path) -> None:
    """VK-09, VK-10: without glslc and Vulkan's headers, the configuration fails and says how to get them."""
    script = tmp_path / "build.cmake"
    script.write_text(f"include({ROOT / 'backends/vulkan/CMakeLists.txt'})\n")
    cmake = shutil.which("cmake")
    assert cmake is not None
    environment = {key: value for key, value in os.environ.items() if key not in ("VULKAN_SDK", "CPATH")}
    environment["PATH"] = str(tmp_path)
    command = [cmake, "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", "-P", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode != 0
    message = re.sub(r"\s+", " ", done.stderr)
    assert "EXECUTORCH_BUILD_VULKAN needs the headers of Vulkan and glslc" in message
    assert "apt-get install libvulkan-dev glslc" in message and "VULKAN_SDK" in message


def test_preset_for_android() -> None:
    """VK-21: the preset of the tutorial."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())
    assert "android-arm64-v8a" in [preset["name"] for preset in presets["configurePresets"]]
