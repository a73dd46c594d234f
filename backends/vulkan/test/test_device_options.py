# SPDX-License-Identifier: BSD-3-Clause
"""Options of the backend that tell which devices there are."""

from __future__ import annotations

import json

import pytest

from sdk.extension.pybindings.portable_lib import _get_backend_option


def test_devices_and_their_limits() -> None:
    """The options name each device with its limits and features."""
    count = _get_backend_option("VulkanBackend", "device_count")
    assert isinstance(count, int) and count >= 1
    first = _get_backend_option("VulkanBackend", "device_info")
    assert isinstance(first, str)
    assert "Vulkan 1." in first and "shared memory" in first and "16-bit storage" in first
    assert _get_backend_option("VulkanBackend", "device_info_0") == first
    assert _get_backend_option("VulkanBackend", f"device_info_{count}") == ""
    assert _get_backend_option("VulkanBackend", "no_such_option") is None
    assert _get_backend_option("NoSuchBackend", "device") is None


def test_backend_info(capfd: pytest.CaptureFixture[str]) -> None:
    """`--backend-info` lists the devices."""
    from sdk.run.__main__ import main

    assert main(["--backend-info"]) == 0
    assert "16-bit storage" in capfd.readouterr().out
    assert main(["--backend-info", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    (vulkan,) = [backend for backend in found["backends"] if backend["name"] == "VulkanBackend"]
    assert vulkan["available"] and any("Vulkan 1." in device for device in vulkan["devices"])
