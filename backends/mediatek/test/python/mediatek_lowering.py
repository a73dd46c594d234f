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
from sdk.backends.mediatek import NeuropilotPartitioner, NeuropilotQuantizer, Precision
from sdk.backends.mediatek.verify import ReferenceProgram
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec

PLATFORM = CompileSpec("platform-config", b"mt6989")
REFERENCE = CompileSpec("reference-payload", b"1")


def quantized(model: torch.nn.Module, inputs: tuple[Tensor, ...], precision: Precision) -> Any:
    """The model with the quantise and dequantise calls of a precision."""
    quantizer = NeuropilotQuantizer()
    quantizer.setup_precision(precision)
    prepared = prepare_pt2e(export(model, inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def lower(model: torch.nn.Module, inputs: tuple[Tensor, ...], *specs: CompileSpec) -> EdgeProgramManager:
    partitioner = NeuropilotPartitioner([PLATFORM, REFERENCE, *specs])
    return to_edge_transform_and_lower(export(model, inputs), partitioner=[partitioner])


def computed(manager: EdgeProgramManager, inputs: tuple[Tensor, ...], folder: Path) -> Tensor:
    """The first output of the program in the interpreter."""
    result: Tensor = ReferenceProgram(written(manager, folder)).run_method("forward", inputs)[0]
    return result
