# SPDX-License-Identifier: BSD-3-Clause
"""Examines the programs of a range of seeds, and prints those that are wrong with their steps."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import runtime_under_test

runtime_under_test.load()

from backends.targets import Target, targets  # noqa: E402
from compositions.examine import NotCapturedError, capture, examine, shortest  # noqa: E402
from compositions.int8 import capture_int8, make_int8  # noqa: E402
from compositions.program import make  # noqa: E402
from sdk.backends import registry  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 100), metavar=("FIRST", "END"))
    parser.add_argument("--targets", nargs="+", help="kernels and names of backends (default: all of this runtime)")
    parser.add_argument("--verbose", action="store_true", help="print the steps of each program")
    parser.add_argument("--int8", action="store_true", help="quantised programs of the layers that models have")
    options = parser.parse_args()
    made, captured = (make_int8, capture_int8) if options.int8 else (make, capture)
    wanted = options.targets or [target.name for target in targets()]
    here = {b.name: Target(b.name, b) for b in registry.backends().values() if b.runner}
    here |= {target.name: target for target in targets()}
    if missing := set(wanted) - here.keys():
        sys.exit(f"error: no target {', '.join(sorted(missing))}; this runtime has {', '.join(here)}")
    chosen = [here[name] for name in wanted]
    outcomes: Counter[str] = Counter()
    started = time.monotonic()
    for seed in range(*options.seeds):
        if outcomes and seed % 50 == 0:
            print(f"at seed {seed}: {dict(outcomes)}", file=sys.stderr, flush=True)
        program = made(seed)
        if options.verbose:
            print(f"seed {seed}:", *program.texts, f"return {program.model.outputs}", sep="\n  ")
        for target in chosen:
            try:
                finding = examine(program, target, capture=captured)
            except NotCapturedError as error:
                outcomes["not captured"] += 1
                if options.verbose:
                    print(error)
                break
            outcomes["wrong" if finding else "right"] += 1
            if finding:
                print(f"seed {seed}, {target.name}: {finding.what[:400]}", flush=True)
                part, again = shortest(program, target, captured)
                print(f"  shortest: {again.what[:300] if again else 'only with its own results'}")
                print(*(f"    {text}" for text in part.texts), sep="\n")
                print(f"    return {part.model.outputs}", flush=True)
    print(f"{dict(outcomes)} in {time.monotonic() - started:.0f} s")
    return 1 if outcomes["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
