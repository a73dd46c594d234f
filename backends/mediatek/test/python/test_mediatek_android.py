# SPDX-License-Identifier: BSD-3-Clause
"""The Android library contains the backends whose SDK the environment names, and MediaTek's library."""

from __future__ import annotations

import importlib
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[4]
ANDROID = ROOT / "sdk" / "android"
LIBRARY = "libneuronusdk_adapter.mtk.so"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The artifact executorch-android, without a vendor's SDK."""
    monkeypatch.syspath_prepend(ANDROID)
    for name in ("NEURON_USDK_ADAPTER_LIB", "NEUROPILOT_SDK_ROOT", "QNN_SDK_ROOT"):
        monkeypatch.delenv(name, raising=False)
    return importlib.import_module("artifacts").artifact("default")


def test_the_documented_variables_add_backends(made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AND-08, AND-09: with NEURON_USDK_ADAPTER_LIB, or NEUROPILOT_SDK_ROOT, MediaTek's backend and its library are in
    the AAR; with QNN_SDK_ROOT, Qualcomm's backend. The artifact `vulkan` adds Vulkan."""
    usual = set(made.backends)
    assert usual == {"XNNPACK"} and made.vendor_libraries("arm64-v8a") == []
    assert importlib.import_module("artifacts").artifact("vulkan").backends == ("XNNPACK", "Vulkan")
    library = tmp_path / LIBRARY
    monkeypatch.setenv("NEURON_USDK_ADAPTER_LIB", str(library))
    with pytest.raises(ValueError, match=f"there is no {library}, which the AAR carries for MediaTek"):
        made.vendor_libraries("arm64-v8a")
    library.touch()
    assert set(made.backends) == usual | {"MediaTek"} and made.vendor_libraries("arm64-v8a") == [library]
    monkeypatch.setenv("QNN_SDK_ROOT", str(tmp_path))
    assert set(made.backends) == usual | {"MediaTek", "Qualcomm"}
    other = tmp_path / "lib" / "arm64-v8a" / LIBRARY
    monkeypatch.setenv("NEUROPILOT_SDK_ROOT", str(tmp_path))
    with pytest.raises(ValueError, match=f"there is no {other}, .* NEUROPILOT_SDK_ROOT must name the folder of"):
        made.vendor_libraries("arm64-v8a")
    other.parent.mkdir(parents=True)
    library.rename(other)
    assert made.vendor_libraries("arm64-v8a") == [other]


def test_the_aar_carries_the_library(made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AND-08, MTK-07: the library is beside the runtime's in the AAR, with the same bytes; without the variable it is
    not there."""
    (tmp_path / "classes").mkdir()
    runtime, library = tmp_path / "libexecutorch.so", tmp_path / LIBRARY
    runtime.write_bytes(b"the runtime")
    library.write_bytes(b"the adapter")
    pack = importlib.import_module("package_aar")

    def members() -> dict[str, bytes]:
        command = ["package_aar.py", "--classes", str(tmp_path / "classes"), "--out", str(tmp_path / "out")]
        command += ["--library", f"arm64-v8a={runtime}", "--version", "1.2.3", "--kotlin", "2.4.20"]
        monkeypatch.setattr(sys, "argv", [*command, "--artifact", "default", "--name", "a.aar"])
        pack.main()
        with zipfile.ZipFile(tmp_path / "out" / "a.aar") as aar:
            return {name: aar.read(name) for name in aar.namelist() if name.startswith("jni/")}

    assert members() == {"jni/arm64-v8a/libexecutorch.so": b"the runtime"}
    monkeypatch.setenv("NEURON_USDK_ADAPTER_LIB", str(library))
    assert members() == {
        "jni/arm64-v8a/libexecutorch.so": b"the runtime",
        f"jni/arm64-v8a/{LIBRARY}": b"the adapter",
    }
    manifest = json.loads((ROOT / "backends" / "mediatek" / "backend.json").read_text())
    assert manifest["libraries"] == {"android": [f"lib/{{abi}}/{LIBRARY}"]}
