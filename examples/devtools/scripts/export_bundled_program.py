# SPDX-License-Identifier: BSD-3-Clause
"""Exports a model with test cases for example_runner, from the root of the repository:

    python -m examples.devtools.scripts.export_bundled_program --model_name=mv2

writes mv2_bundled.bpte to the working directory, or to --dir. The inputs are random; the expected outputs are
PyTorch's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from examples.mobilenet_v2.model import mobilenet_v2
from torch import Tensor, nn

from sdk.devtools import BundledProgram
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from sdk.exir import to_edge_transform_and_lower

MODELS: dict[str, Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]] = {
    "mv2": lambda: (mobilenet_v2(), (torch.randn(1, 3, 224, 224),)),
    "linear": lambda: (nn.Linear(3, 3), (torch.randn(3, 3),)),
}


def bundle(model: nn.Module, inputs: tuple[Tensor, ...], cases: int) -> BundledProgram:
    """The model's program with `cases` test cases, whose inputs are random and have the shapes of `inputs`."""
    program = to_edge_transform_and_lower(torch.export.export(model, inputs)).to_executorch()
    calls = [[torch.randn_like(value) for value in inputs] for _ in range(cases)]
    with torch.no_grad():
        test_cases = [MethodTestCase(call, model(*call)) for call in calls]
    return BundledProgram(program, [MethodTestSuite("forward", test_cases)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model_name", required=True, choices=sorted(MODELS))
    parser.add_argument("-d", "--dir", default=".", help="where the file goes; default: the working directory")
    parser.add_argument("-n", "--cases", type=int, default=2, help="number of test cases (default 2)")
    options = parser.parse_args()
    model, inputs = MODELS[options.model_name]()
    path = Path(options.dir) / f"{options.model_name}_bundled.bpte"
    path.write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle(model.eval(), inputs, options.cases)))
    print(f"Wrote {path}")


if __name__ == "__main__":
    main()
