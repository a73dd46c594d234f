# SPDX-License-Identifier: BSD-3-Clause
"""Helpers that lower and run models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from npu_models import written
from sdk.backends.samsung.partition.enn_partitioner import EnnPartitioner
from sdk.backends.samsung.quantizer import EnnQuantizer
from sdk.backends.samsung.serialization.compile_options import gen_samsung_backend_compile_spec
from sdk.backends.samsung.verify import ReferenceProgram
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec

CHIP = gen_samsung_backend_compile_spec("E9955")
REFERENCE = CompileSpec("reference-payload", b"1")


def quantized(model: torch.nn.Module, inputs: tuple[Tensor, ...], is_per_channel: bool = True) -> Any:
    """The model with quantise and dequantise calls."""
    quantizer = EnnQuantizer()
    quantizer.setup_quant_params("A8W8", is_per_channel)
    prepared = prepare_pt2e(export(model, inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def lower(model: torch.nn.Module, inputs: tuple[Tensor, ...], *specs: CompileSpec) -> EdgeProgramManager:
    return to_edge_transform_and_lower(export(model, inputs), partitioner=[EnnPartitioner([CHIP, REFERENCE, *specs])])


def computed(manager: EdgeProgramManager, inputs: tuple[Tensor, ...], folder: Path) -> Tensor:
    """The first output of the program in the interpreter."""
    result: Tensor = ReferenceProgram(written(manager, folder)).run_method("forward", inputs)[0]
    return result
