#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""vendor_frameworks.py PRODUCT FOLDER: copies the xcframeworks that a backend's manifest lists in "libraries" from the
vendor's SDK into FOLDER, beside the backend's own. Package.swift links them with the backend's product."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

import backend_manifests


def copy(product: str, output: Path) -> None:
    """Raises ValueError if the SDK lacks one."""
    manifests = {backend_manifests.apple_product(found): found for found in backend_manifests.read_all(platform="ios")}
    manifest = manifests[product]
    for name in manifest.get("libraries", {}).get("ios", []):
        variable, text = manifest["sdk"]["variable"], manifest["sdk"]["text"]
        source = Path(os.environ.get(variable, ""), name)
        if not (source / "Info.plist").is_file():
            raise ValueError(f"there is no xcframework {source}: {variable} must name the folder of {text}")
        shutil.rmtree(output / source.name, ignore_errors=True)
        shutil.copytree(source, output / source.name, symlinks=True)


if __name__ == "__main__":
    try:
        copy(sys.argv[1], Path(sys.argv[2]))
    except (ValueError, backend_manifests.ManifestError) as error:
        raise SystemExit(f"vendor_frameworks: {error}") from None
