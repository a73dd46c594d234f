# SPDX-License-Identifier: BSD-3-Clause
"""One image through MobileNetV2: PyTorch, the `.pte` in Python and the same `.pte` in C++.

    python examples/mobilenet_v2/compare.py mobilenet_v2.pte [--runner PATH/TO/executor_runner]

Exits with status 1 if a score differs from PyTorch's by more than 1e-4 of the largest, or if the five best classes do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sdk.runtime import Runtime

import cpp_runner
from model import example_inputs, mobilenet_v2
from timing import milliseconds

TOLERANCE = 1e-4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="the exported MobileNetV2")
    parser.add_argument("--runner", type=Path, help="also run it in C++, with this executor_runner")
    arguments = parser.parse_args()

    (image,) = example_inputs()
    model = mobilenet_v2()
    with torch.no_grad():
        expected = model(image)
        eager = milliseconds(lambda: model(image))
    forward = Runtime.get().load_program(arguments.program).load_method("forward")
    engines: dict[str, Callable[[], Tensor]] = {".pte in Python": lambda: forward.execute([image])[0]}
    if arguments.runner is not None:
        engines[".pte in C++"] = lambda: cpp_runner.run(arguments.runner, arguments.program, [image], [expected])[0]

    print(f"  {'':<16}{'five best classes':<36}largest difference from PyTorch")
    print(f"  {'PyTorch':<16}{best(expected):<36}")
    good = True
    for name, run in engines.items():
        scores = run()
        difference = float((scores - expected).abs().max() / expected.abs().max())
        good = good and difference <= TOLERANCE and best(scores) == best(expected)
        verdict = f"{difference:.1e} of the largest score ({TOLERANCE:g} is allowed)"
        print(f"  {name:<16}{best(scores):<36}{verdict}")
    program = milliseconds(engines[".pte in Python"])
    print(f"  A call takes {program:.1f} ms; PyTorch eager takes {eager:.1f} ms (medians, on this machine).")
    return 0 if good else 1


def best(scores: Tensor) -> str:
    """The classes with the highest scores, best first."""
    return " ".join(str(int(index)) for index in scores[0].topk(5).indices)


if __name__ == "__main__":
    sys.exit(main())
