# SPDX-License-Identifier: BSD-3-Clause
"""The device is found through libvulkan; without a device, a line is logged."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

from sdk.extension.pybindings.portable_lib import _get_registered_backend_names, _is_available

AVAILABLE = """
import device_extension
from sdk.extension.pybindings.portable_lib import _get_registered_backend_names, _is_available
print("VulkanBackend" in _get_registered_backend_names(), _is_available("VulkanBackend"))
"""


def test_the_backend_is_registered_and_available():
    assert "VulkanBackend" in _get_registered_backend_names()
    assert _is_available("VulkanBackend")


def test_without_a_driver_it_is_not_available():
    environment = {**os.environ, "VK_ICD_FILENAMES": "/there/is/none.json"}
    environment["PYTHONPATH"] = str(pathlib.Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", AVAILABLE], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True False"
    assert "Vulkan: " in done.stderr  # why
