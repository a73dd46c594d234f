# SPDX-License-Identifier: BSD-3-Clause
"""Builds and programs without what Vulkan needs: the message says what is missing."""

from __future__ import annotations

import json
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


def test_preset_for_android() -> None:
    """VK-21: the preset of the tutorial."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())
    assert "android-arm64-v8a" in [preset["name"] for preset in presets["configurePresets"]]
