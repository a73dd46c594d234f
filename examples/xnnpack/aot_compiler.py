# SPDX-License-Identifier: BSD-3-Clause
"""Lowers a model to XNNPACK, from the root of the repository:

    python -m examples.xnnpack.aot_compiler --model_name=mv2 --delegate
    python -m examples.xnnpack.aot_compiler --model_name=mv2 --delegate --quantize

write mv2_xnnpack_fp32.pte and mv2_xnnpack_q8.pte to the working directory, or to --output_dir. Without --delegate,
nothing is delegated to XNNPACK, and the program needs a kernel library.

For your own models, `python -m sdk.export` does the same, and also runs the result and compares it with PyTorch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from examples.mobilenet_v2.model import example_inputs, mobilenet_v2
from examples.portable.scripts.export import MODELS as SMALL_MODELS
from torch import Tensor, nn

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.devtools.backend_debug import get_delegation_info
from sdk.exir import EdgeCompileConfig, EdgeProgramManager, to_edge_transform_and_lower
from sdk.extension.export_util.utils import save_pte_program

MODELS: dict[str, Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]] = {
    **SMALL_MODELS,
    "mv2": lambda: (mobilenet_v2(), example_inputs()),
}


def lower(model: nn.Module, inputs: tuple[Tensor, ...], quantized: bool, delegated: bool) -> EdgeProgramManager:
    """A quantised model is captured twice: before and after quantisation."""
    captured = torch.export.export(model.eval(), inputs)
    if quantized:
        from examples.xnnpack.quantization.utils import quantize  # torchao takes longer to import than torch

        captured = torch.export.export(quantize(captured.module(), inputs), inputs)
    return to_edge_transform_and_lower(
        captured,
        partitioner=[XnnpackPartitioner()] if delegated else None,
        compile_config=EdgeCompileConfig(_check_ir_validity=not quantized),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model_name", required=True, choices=sorted(MODELS))
    parser.add_argument("-q", "--quantize", action="store_true", help="to 8 bits, calibrated with the example inputs")
    parser.add_argument("-d", "--delegate", action="store_true", help="give XNNPACK what it takes")
    parser.add_argument("-o", "--output_dir", default=".", help="default: the working directory")
    options = parser.parse_args()
    edge = lower(*MODELS[options.model_name](), quantized=options.quantize, delegated=options.delegate)
    print(get_delegation_info(edge.exported_program().graph_module).get_summary(), end="")
    name = f"{options.model_name}_xnnpack_{'q8' if options.quantize else 'fp32'}"
    print("Wrote", save_pte_program(edge.to_executorch(), name, options.output_dir))


if __name__ == "__main__":
    main()
