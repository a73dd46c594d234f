# SPDX-License-Identifier: BSD-3-Clause
"""Helpers that lower and run models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from npu_models import written
from sdk.backends.qualcomm.partition.qnn_partitioner import QnnPartitioner
from sdk.backends.qualcomm.qnn.verify import ReferenceProgram
from sdk.backends.qualcomm.quantizer import QnnQuantizer, QuantDtype
from sdk.backends.qualcomm.utils.utils import (
    QcomChipset,
    generate_htp_compiler_spec,
    generate_qnn_executorch_compiler_spec,
)
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec

REFERENCE = CompileSpec("reference-payload", b"1")
SPECS = [
    *generate_qnn_executorch_compiler_spec(QcomChipset.SM8650, generate_htp_compiler_spec(use_fp16=False)),
    REFERENCE,
]


def quantizer_of(scheme: QuantDtype = QuantDtype.use_8a8w, is_per_channel: bool = True) -> QnnQuantizer:
    quantizer = QnnQuantizer()
    quantizer.set_default_quant_config(scheme, is_conv_per_channel=is_per_channel, is_linear_per_channel=is_per_channel)
    return quantizer


def quantized(model: nn.Module, inputs: tuple[Tensor, ...], quantizer: QnnQuantizer | None = None) -> Any:
    """The model with quantise and dequantise calls."""
    prepared = prepare_pt2e(export(model, inputs, strict=True).module(), quantizer or quantizer_of())
    prepared(*inputs)
    return convert_pt2e(prepared)


def lower(model: nn.Module, inputs: tuple[Tensor, ...], **skipped: Any) -> EdgeProgramManager:
    return to_edge_transform_and_lower(export(model, inputs), partitioner=[QnnPartitioner(SPECS, **skipped)])


def computed(manager: EdgeProgramManager, inputs: tuple[Tensor, ...], folder: Path) -> Tensor:
    """The first output of the program in the interpreter."""
    result: Tensor = ReferenceProgram(written(manager, folder)).run_method("forward", inputs)[0]
    return result
