# SPDX-License-Identifier: BSD-3-Clause
"""The products that Package.swift offers, evaluated by Swift if sdk/ios/test has installed it."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[3]
_CACHE = _ROOT / ".cache/swift"
_LIST = [_ROOT / "scripts/backend_manifests.py", "--platform", "ios", "--list", "product"]
_BACKENDS = subprocess.run(_LIST, capture_output=True, text=True, check=True).stdout.split()
_PARTS = {
    "executorch",
    "executorch_llm",
    "kernels_llm",
    "kernels_optimized",
    "kernels_quantized",
    "kernels_selected",
    "kernels_torchao",
    *_BACKENDS,
}

pytestmark = pytest.mark.skipif(
    not (_CACHE / "lib/executorch_c.pc").exists(), reason="sdk/ios/test, which may install Swift, was not run here"
)


def _manifest(folder: Path, *environment: str) -> dict[str, Any]:
    command = [
        _ROOT / "sdk/ios/test",
        "--in",
        folder,
        "env",
        *environment,
        "swift",
        "package",
        "--manifest-cache",
        "none",
        "dump-package",
    ]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def _products(folder: Path, *environment: str) -> dict[str, list[str]]:
    """Name -> targets."""
    return {product["name"]: product["targets"] for product in _manifest(folder, *environment)["products"]}


@pytest.fixture
def on_a_mac() -> Iterator[Path]:
    """A folder with the manifest as Swift reads it on a Mac. The folder is within this repository, because the Swift of
    sdk/ios/test sees nothing else."""
    tree = Path(tempfile.mkdtemp(dir=_CACHE))
    folder = tree / "sdk" / "ios"
    folder.mkdir(parents=True)
    (tree / "backends").symlink_to(_ROOT / "backends")
    (folder / "Backends").symlink_to(_ROOT / "sdk/ios/Backends")
    text = (_ROOT / "Package.swift").read_text()
    assert text.count("#if canImport(Darwin)") == 1
    (tree / "Package.swift").write_text(text.replace("#if canImport(Darwin)", "#if true"))
    yield tree
    shutil.rmtree(tree)


def test_ios01_every_product_has_one_with_log_messages_beside_it() -> None:
    products = _products(_ROOT, "EXECUTORCH_PLATFORM=apple")
    names = _PARTS | {"ExecuTorchObjC", "ExecuTorchLLMObjC"}
    assert products.pop("ModelClasses") == ["ModelClasses"]
    assert products.keys() == names | {f"{name}_debug" for name in names}
    for name in names:
        assert products[f"{name}_debug"] == [target.replace("_library", "_debug_library") for target in products[name]]
        assert sum(target.endswith("_library") for target in products[name]) >= 1


def test_ios01_the_kernels_of_torchao_are_those_of_language_models() -> None:
    """IOS-01: a manifest for the original may name either product, or both."""
    products = _products(_ROOT, "EXECUTORCH_PLATFORM=apple")
    for kind in ("", "_debug"):
        assert products[f"kernels_torchao{kind}"] == products[f"kernels_llm{kind}"]


def test_ios24_a_backend_links_the_frameworks_that_it_needs() -> None:
    """IOS-24: the target links the frameworks that the backend's manifest names."""
    targets = _manifest(_ROOT, "EXECUTORCH_PLATFORM=apple")["targets"]
    linked = {
        target["name"]: [setting["kind"]["linkedFramework"]["_0"] for setting in target["settings"]]
        for target in targets
        if target["name"] in _BACKENDS
    }
    command = [*_LIST[:-1], "product", "frameworks"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert linked == {
        product: frameworks.split() for product, _, frameworks in (line.partition("\t") for line in lines)
    }
    assert any(linked.values())


def test_ios02_elsewhere_a_manifest_may_name_the_same_products() -> None:
    products = _products(_ROOT)
    assert products.keys() == _PARTS | {f"{name}_debug" for name in _PARTS} | {"ModelClasses"}
    assert not any(target.endswith("_library") for targets in products.values() for target in targets)


def test_ios01_what_was_built_is_offered(on_a_mac: Path) -> None:
    # If nothing was built, the error when the package is used names what is missing.
    assert _products(on_a_mac).keys() == {"executorch", "ExecuTorchObjC", "ModelClasses"}
    backend = _BACKENDS[0]
    built = ("executorch_debug", backend, "kernels_quantized_debug", "kernels_optimized")
    for name in built:
        (on_a_mac / f"sdk/ios/Frameworks/{name}.xcframework").mkdir(parents=True)
    # The quantized kernels need those of all operators, in the same variant.
    assert _products(on_a_mac) == {
        "executorch_debug": ["ExecuTorch", "executorch_debug_library"],
        "ExecuTorchObjC_debug": ["ExecuTorchObjC", "executorch_debug_library"],
        backend: [backend, f"{backend}_library"],
        "kernels_optimized": ["kernels_optimized", "kernels_optimized_library"],
        "ModelClasses": ["ModelClasses"],
    }


def test_the_tag_of_a_release_names_archives_and_their_checksums(on_a_mac: Path) -> None:
    """IOS-03: the files that scripts/make_release writes into the tag."""
    names = ["executorch", "kernels_optimized", _BACKENDS[0]]
    checksums = {name: f"{index:064x}" for index, name in enumerate(names)}
    release = {"version": "1.2.3", "url": "https://example.com/v1.2.3", "checksums": checksums}
    (on_a_mac / "sdk/ios/release.json").write_text(json.dumps(release))
    manifest = _manifest(on_a_mac)
    binaries = {target["name"]: target for target in manifest["targets"] if target["type"] == "binary"}
    assert {name: (target["url"], target["checksum"]) for name, target in binaries.items()} == {
        f"{name}_library": (f"https://example.com/v1.2.3/{name}.xcframework.zip", checksums[name]) for name in names
    }
    assert {product["name"] for product in manifest["products"]} == {*names, "ExecuTorchObjC", "ModelClasses"}
