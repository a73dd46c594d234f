# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a compilation: export, preparation for calibration, fusion of quantised chains."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e, prepare_qat_pt2e
from torchao.quantization.pt2e.quantizer import Quantizer

from sdk.backends.cadence.aot.quantized_io import (
    QuantArgs,
    QuantizedInputWrapper,
    QuantizedOutputWrapper,
    extract_all_output_dequant_params,
    extract_input_quant_params_from_graph,
    extract_input_shapes_from_graph,
    extract_output_dequant_params,
    extract_output_dequant_params_through_permute,
    extract_quant_params_through_permute,
    sink_input_dequant_through_transparent_ops,
)
from sdk.backends.cadence.aot.quantizer.patterns import QuantizationPattern
from sdk.exir.capture._fast_paths import without_fast_paths

__all__ = [
    "QuantArgs",
    "QuantFusionPass",
    "QuantizedInputWrapper",
    "QuantizedOutputWrapper",
    "decomposed",
    "extract_all_output_dequant_params",
    "extract_input_quant_params_from_graph",
    "extract_input_shapes_from_graph",
    "extract_output_dequant_params",
    "extract_output_dequant_params_through_permute",
    "extract_quant_params_through_permute",
    "prepare",
    "sink_input_dequant_through_transparent_ops",
    "trace",
]


@torch.no_grad()
def trace(
    model: torch.nn.Module,
    inputs: tuple[object, ...],
    is_qat: bool = False,
    strict: bool = False,
    ops_to_keep: Sequence[torch._ops.OpOverload] | None = None,
) -> ExportedProgram:
    """Exports a model, for training if `is_qat`, and decomposes it to Core ATen, except for `ops_to_keep`."""
    model.train(is_qat)
    with without_fast_paths():
        return decomposed(torch.export.export(model, inputs, strict=strict), ops_to_keep)


def decomposed(program: ExportedProgram, ops_to_keep: Sequence[torch._ops.OpOverload] | None = None) -> ExportedProgram:
    """Decomposes a program to Core ATen, except for `ops_to_keep`."""
    table = torch.export.default_decompositions()
    for each in (*(ops_to_keep or ()), torch.ops.aten._safe_softmax.default):
        table.pop(each, None)
    return program.run_decompositions(table)


def prepare(traced_program: ExportedProgram, quantizer: Quantizer, is_qat: bool = False) -> GraphModule:
    """Inserts observers, or fake quantizers for training, where a quantizer annotates the model."""
    module = traced_program.module()
    assert isinstance(module, GraphModule)
    prepared: GraphModule = (prepare_qat_pt2e if is_qat else prepare_pt2e)(module, quantizer)
    return prepared


class QuantFusionPass(PassBase):
    """Replaces chains of dequantize, operators and quantize with calls of `cadence::quantized_*`."""

    def __init__(self, patterns: Sequence[QuantizationPattern]) -> None:
        super().__init__()
        self.patterns = patterns

    def call(self, graph_module: GraphModule) -> PassResult:
        """Fuses the chains of all patterns, one pattern after the other."""
        changed = False
        for pattern in self.patterns:
            fused = False
            for target in pattern.anchor_ops():
                for node in graph_module.graph.find_nodes(op="call_function", target=target):
                    fused |= pattern.fuse(graph_module, node) is not None
            if fused:
                graph_module.graph.eliminate_dead_code()
                changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)
