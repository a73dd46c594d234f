# SPDX-License-Identifier: BSD-3-Clause
"""Lowers a model to XNNPACK. With the package installed:

    python -m sdk.examples.xnnpack.aot_compiler --model_name=mv2 --delegate
    python -m sdk.examples.xnnpack.aot_compiler --model_name=mv2 --delegate --quantize

write mv2_xnnpack_fp32.pte and mv2_xnnpack_q8.pte to the working directory, or to --output_dir. In the repository,
`python -m examples.xnnpack.aot_compiler` does the same. Without --delegate, nothing is delegated to XNNPACK, and the
program needs a kernel library. With --bundled, the file is mv2_xnnpack_fp32_bundled.pte: a bundled program with the
example inputs and PyTorch's outputs, which
`executor_runner --model_path mv2_xnnpack_fp32_bundled.pte --bundled_program` runs and verifies.

For your own models, `python -m sdk.export` does the same, and also runs the result and compares it with PyTorch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.devtools import BundledProgram
from sdk.devtools.backend_debug import get_delegation_info
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from sdk.exir import EdgeCompileConfig, EdgeProgramManager, ExecutorchProgramManager, to_edge_transform_and_lower
from sdk.extension.export_util.utils import save_pte_program

# Relative, because the examples are in the package, too.
from ..mobilenet_v2.model import example_inputs, mobilenet_v2
from ..portable.scripts.export import MODELS as SMALL_MODELS

MODELS: dict[str, Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]] = {
    **SMALL_MODELS,
    "mv2": lambda: (mobilenet_v2(), example_inputs()),
}


def capture(model: nn.Module, inputs: tuple[Tensor, ...], quantized: bool) -> ExportedProgram:
    """Exports the model; a quantised model is exported before and again after quantisation."""
    captured = torch.export.export(model.eval(), inputs)
    if quantized:
        from .quantization.utils import quantize  # torchao takes longer to import than torch

        captured = torch.export.export(quantize(captured.module(), inputs), inputs)
    return captured


def lower(captured: ExportedProgram, quantized: bool, delegated: bool) -> EdgeProgramManager:
    return to_edge_transform_and_lower(
        captured,
        partitioner=[XnnpackPartitioner()] if delegated else None,
        compile_config=EdgeCompileConfig(_check_ir_validity=not quantized),
    )


def save_bundled(
    program: ExecutorchProgramManager, captured: ExportedProgram, inputs: tuple[Tensor, ...], path: Path
) -> Path:
    """Writes the program with one test case: the inputs, and PyTorch's outputs."""
    case = MethodTestCase(list(inputs), captured.module()(*inputs))
    bundle = BundledProgram(program, [MethodTestSuite("forward", [case])])
    path.write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model_name", required=True, choices=sorted(MODELS))
    parser.add_argument(
        "-q", "--quantize", action="store_true", help="quantise to 8 bits, calibrated with the example inputs"
    )
    parser.add_argument("-d", "--delegate", action="store_true", help="delegate the operators that XNNPACK supports")
    parser.add_argument("-b", "--bundled", action="store_true", help="write a bundled program with a test case")
    parser.add_argument("-o", "--output_dir", default=".", help="default: the working directory")
    options = parser.parse_args()
    model, inputs = MODELS[options.model_name]()
    captured = capture(model, inputs, options.quantize)
    edge = lower(captured, options.quantize, options.delegate)
    print(get_delegation_info(edge.exported_program().graph_module).get_summary(), end="")
    name = f"{options.model_name}_xnnpack_{'q8' if options.quantize else 'fp32'}"
    program = edge.to_executorch()
    if options.bundled:
        path = Path(options.output_dir) / f"{name}_bundled.pte"
        print("Wrote", save_bundled(program, captured, inputs, path))
    else:
        print("Wrote", save_pte_program(program, name, options.output_dir))


if __name__ == "__main__":
    main()
