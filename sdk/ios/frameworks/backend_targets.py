#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes sdk/ios/Backends: for each backend for iOS, the small C target that its Swift product needs.

SwiftPM accepts no sources outside a package's folder. A static library registers its backend only if its symbol is
referenced, which the target does. scripts/build_apple_frameworks.sh and sdk/ios/test run this script; Package.swift
offers the products that exist.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import backend_manifests  # noqa: E402

SOURCE = """/* SPDX-License-Identifier: BSD-3-Clause */
#include "{product}.h"

#ifdef __APPLE__
/* Refers to the object file that registers the {title} backend, so that the linker takes it out of its library. */
__attribute__((used)) static bool (*const registers)(void) = {symbol};
#endif /* elsewhere the shared library of the C interface registers everything itself */
"""
HEADER = """/* SPDX-License-Identifier: BSD-3-Clause */
/* Linking this product is enough to have the {title} backend; there is nothing to call. */
#pragma once

#include <stdbool.h>

/** Whether it was registered when the program started. */
bool {symbol}(void);
"""


def main() -> None:
    output = ROOT / "sdk" / "ios" / "Backends"
    files: dict[Path, str] = {}
    for manifest in backend_manifests.read_all(platform="ios"):
        product = backend_manifests.apple_product(manifest)
        values = {"product": product, "title": manifest["title"], "symbol": backend_manifests.symbol(manifest)}
        files[output / product / f"{product}.c"] = SOURCE.format(**values)
        files[output / product / "include" / f"{product}.h"] = HEADER.format(**values)
    kept = {path.relative_to(output).parts[0] for path in files}
    for folder in output.glob("*"):
        if folder.name not in kept:
            shutil.rmtree(folder)
    for path, text in files.items():
        # a new modification time would cause a recompilation
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except backend_manifests.ManifestError as error:
        raise SystemExit(f"backend_targets: {error}") from None
