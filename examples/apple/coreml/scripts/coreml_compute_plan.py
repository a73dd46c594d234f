#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Says which processors Core ML chooses for the operations of a `.pte`, a `.mlpackage` or a `.mlmodelc`. It needs a Mac
with macOS 14.4 or later.

    python examples/apple/coreml/scripts/coreml_compute_plan.py --model_path model.pte --show_non_ane

For each model it prints how many operations each processor gets, and their share of the estimated cost.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sdk.backends.apple.coreml.compute_plan import COMPUTE_UNITS, DEVICES, PlannedOperation, analyze


def main() -> int:
    parser = argparse.ArgumentParser(description="Say which processors Core ML chooses for the operations of a model.")
    parser.add_argument("-m", "--model_path", required=True, type=Path, help="a .pte, .mlpackage or .mlmodelc")
    parser.add_argument(
        "--compute_units", default="cpu_and_ne", choices=sorted(COMPUTE_UNITS), help="processors to choose from"
    )
    parser.add_argument("--show_non_ane", action="store_true", help="list the operations outside of the Neural Engine")
    arguments = parser.parse_args()
    try:
        plans = analyze(arguments.model_path, arguments.compute_units)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for name, operations in plans.items():
        print(f"{name}: {len(operations)} operations")
        _print(operations, arguments.show_non_ane)
    return 0


def _print(operations: Sequence[PlannedOperation], show_non_ane: bool) -> None:
    counts = Counter(each.device for each in operations)
    total = sum(each.cost or 0.0 for each in operations)
    for device in (*DEVICES.values(), "unknown"):
        if not counts[device]:
            continue
        cost = sum(each.cost or 0.0 for each in operations if each.device == device)
        share = f", {100 * cost / total:.1f} % of the estimated cost" if total else ""
        print(f"  {device}: {counts[device]} ({100 * counts[device] / len(operations):.1f} %){share}")
    outside = Counter(each.operation for each in operations if each.device != "ANE")
    if show_non_ane and outside:
        print("  outside of the Neural Engine:")
        for operation, count in outside.most_common():
            print(f"    {operation} x{count}")


if __name__ == "__main__":
    sys.exit(main())
