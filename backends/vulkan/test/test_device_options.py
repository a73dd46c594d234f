# SPDX-License-Identifier: BSD-3-Clause
"""Options of the backend: the choice of a device, kernels in a file, a device without 16-bit storage. Options are set
before the device opens, so that each test runs in a separate process, without PyTorch, on programs that are made
here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.extension.pybindings.portable_lib import _get_backend_option

PRELUDE = """
import os
import device_extension
import numpy as np
from sdk.runtime import Runtime

BACKENDS = Runtime.get().backend_registry

def set_option(key, value):
    BACKENDS.set_option("VulkanBackend", key, value)

def error(name="float"):
    method = Runtime.get().load_program(name + ".pte").load_method("forward")
    return float(np.abs(method.execute([np.load("x.npy")])[0] - np.load("y.npy")).max())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in float32 and float16, an input, and what PyTorch computes."""
    folder = tmp_path_factory.mktemp("programs")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 5), nn.Softmax(-1)).eval()
    x = torch.randn(1, 3, 8, 8)
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "y.npy", model(x).detach().numpy())
    exported = torch.export.export(model, (x,))
    for name, half in (("float", False), ("half", True)):
        edge = to_edge_transform_and_lower(exported, partitioner=[VulkanPartitioner({"force_fp16": half})])
        (folder / f"{name}.pte").write_bytes(edge.to_executorch().buffer)
    return folder


def python(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", PRELUDE + text]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def good(folder: Path, text: str) -> str:
    done = python(folder, text)
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


def test_a_device_without_16_bit_storage(folder: Path) -> None:
    """Without 16-bit storage, float16 tensors are float32 on the device: results are nearer to float32's."""
    text = """
set_option("fp16_storage", False)
print(error(), error("half"))
assert BACKENDS.get_option("VulkanBackend", "fp16_storage") is False
"""
    single, half = map(float, good(folder, text).split())
    # Weights are stored as float16 with force_fp16, the rest is computed in float32.
    assert single < 1e-6 and half < 2e-4


def test_a_device_with_memory_of_its_own(folder: Path) -> None:
    """Inputs, weights and results are copied; the kernels are the same."""
    text = """
set_option("mapped_memory", False)
assert BACKENDS.get_option("VulkanBackend", "peak_memory_kib") == 0
print(error(), error("half"))
assert BACKENDS.get_option("VulkanBackend", "mapped_memory") is False
assert 1 < BACKENDS.get_option("VulkanBackend", "peak_memory_kib") < 20000
"""
    single, half = map(float, good(folder, text).split())
    assert single < 1e-6 and half < 1e-2


def test_a_chosen_device_and_wrong_values(folder: Path) -> None:
    """A value of the wrong kind changes nothing; after the device opened no option changes."""
    text = """
WRONG = {"device": ("fast", -2), "cache_folder": (3,), "fp16_storage": (1,), "mapped_memory": (0,)}
WRONG |= {"least_threads": (-1, "all"), "division_error": (3, True)}
for key, value in ((key, value) for key, values in WRONG.items() for value in values):
    try:
        set_option(key, value)
    except Exception as error_of_option:
        print(key in str(error_of_option), end=" ")
set_option("device", 0)
assert error() < 1e-6
set_option("device", 0)
set_option("device", 1)
"""
    done = python(folder, text)
    assert done.stdout.split() == ["True"] * 9 and done.returncode != 0
    assert "before the first program is loaded" in done.stderr


def test_a_device_that_there_is_not(folder: Path) -> None:
    done = python(folder, 'set_option("device", 77)\nerror()')
    assert done.returncode != 0 and "the option device is 77" in done.stderr + done.stdout


def test_another_device_may_be_chosen_after_a_failure(folder: Path) -> None:
    text = """
set_option("device", 77)
try:
    error()
except Exception:
    print("no device 77")
set_option("device", 0)
print(error() < 1e-6)
"""
    assert good(folder, text).split("\n")[-2:] == ["no device 77", "True"]


def test_kernels_in_a_file(folder: Path, tmp_path: Path) -> None:
    """The second start reads the kernels that the first compiled; a damaged or foreign file is replaced."""
    text = f'set_option("cache_folder", {str(tmp_path)!r})\nassert error() < 1e-6'
    good(folder, text)
    (file,) = tmp_path.iterdir()
    first = file.read_bytes()
    assert first.startswith(b"ETVKPC01") and len(first) > 512
    good(folder, text)
    assert file.read_bytes() == first  # nothing was compiled, so nothing was added
    for damaged in (b"no kernels", first[: len(first) // 2], first[:200] + bytes(200) + first[400:]):
        file.write_bytes(damaged)
        good(folder, text)


def test_a_cache_folder_that_there_is_not(folder: Path, tmp_path: Path) -> None:
    """If the cache folder cannot be created, kernels are compiled, and the program runs."""
    good(folder, f'set_option("cache_folder", {str(tmp_path / "none" / "such")!r})\nassert error() < 1e-6')
