#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the packages of Core ML that are in a `.pte` program, for Xcode and other tools.

    python examples/apple/coreml/scripts/extract_coreml_models.py -m model.pte

Each delegate has a package; methods that share weights share one. Each is written to a folder in
`extracted_coreml_models`, or in the folder of `--output`, and the command lists their sizes and operations.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sdk.backends.apple.coreml.extract import extract


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the Core ML packages that are in a .pte program.")
    parser.add_argument("-m", "--model", "--model_path", required=True, type=Path, help="the .pte file")
    parser.add_argument("-o", "--output", type=Path, default=Path("extracted_coreml_models"), help="a new folder")
    arguments = parser.parse_args()
    try:
        models = extract(arguments.model.read_bytes(), arguments.output)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if not models:
        print(f"error: {arguments.model} has no delegate of Core ML", file=sys.stderr)
        return 1
    for model in models:
        print(f"{arguments.output / model.name}: {model.bytes} bytes, {', '.join(model.methods)}")
        for operation, count in model.operations.items():
            print(f"  {operation} x{count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
