# SPDX-License-Identifier: BSD-3-Clause
"""Options of the backend: the choice of a device, kernels in a file, a device without 16-bit storage. Options are set
before the device opens, so that each test runs in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sdk.extension.pybindings.portable_lib import _get_backend_option

PRELUDE = """
import conftest, sys
import torch
from torch import nn
from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime

torch.manual_seed(0)
BACKENDS = Runtime.get().backend_registry
MODEL = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 5), nn.Softmax(-1)).eval()
X = torch.randn(1, 3, 8, 8)

def run(half=False):
    edge = to_edge_transform_and_lower(
        torch.export.export(MODEL, (X,)), partitioner=[VulkanPartitioner({"force_fp16": half})]
    )
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    with torch.no_grad():
        return method.execute([X])[0].clone(), MODEL(X)
"""


def python(text: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    return subprocess.run([sys.executable, "-c", PRELUDE + text], env=environment, capture_output=True, text=True)


def good(text: str) -> str:
    done = python(text)
    assert done.returncode == 0 and "Validation" not in done.stderr, done.stderr
    return done.stdout.strip()


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


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_a_device_without_16_bit_storage(half: bool) -> None:
    """float16 tensors are float32 on such a device: results are nearer to float32 than float16 can be."""
    text = f"""
BACKENDS.set_option("VulkanBackend", "fp16_storage", False)
found, expected = run({half})
assert BACKENDS.get_option("VulkanBackend", "fp16_storage") is False
print(float((found - expected).abs().max()))
"""
    # Weights are stored as float16 with force_fp16, the rest is computed in float32.
    assert float(good(text)) < (2e-4 if half else 1e-6)


def test_a_chosen_device() -> None:
    good('BACKENDS.set_option("VulkanBackend", "device", 0)\nfound, expected = run()\nassert found.shape == (1, 5)')
    done = python('BACKENDS.set_option("VulkanBackend", "device", 77)\nrun()')
    assert done.returncode != 0 and "the option device is 77" in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("key", "value"), [("device", '"fast"'), ("device", "-2"), ("cache_folder", "3"), ("fp16_storage", "1")]
)
def test_a_wrong_value_is_an_error(key: str, value: str) -> None:
    done = python(f'BACKENDS.set_option("VulkanBackend", "{key}", {value})')
    assert done.returncode != 0 and key in done.stderr


def test_options_after_the_device_opened_are_errors() -> None:
    done = python('run()\nBACKENDS.set_option("VulkanBackend", "device", 0)')
    assert done.returncode != 0 and "before the first program is loaded" in done.stderr


def test_kernels_in_a_file(tmp_path: Path) -> None:
    """The second start reads the kernels that the first compiled; a damaged or foreign file is replaced."""
    text = f"""
import time
BACKENDS.set_option("VulkanBackend", "cache_folder", {str(tmp_path)!r})
found, expected = run()
assert torch.allclose(found, expected, atol=1e-5), (found, expected)
"""
    good(text)
    (file,) = tmp_path.iterdir()
    first = file.read_bytes()
    assert len(first) > 1000
    good(text)
    assert file.read_bytes() == first  # nothing was compiled, so nothing was added
    for damaged in (b"", b"no kernels", first[: len(first) // 2], first[:200] + bytes(200) + first[400:]):
        file.write_bytes(damaged)
        good(text)


def test_a_cache_folder_that_there_is_not(tmp_path: Path) -> None:
    """Kernels are compiled then, and the program runs."""
    good(f'BACKENDS.set_option("VulkanBackend", "cache_folder", {str(tmp_path / "none" / "such")!r})\nrun()')
