# SPDX-License-Identifier: BSD-3-Clause
"""Quantises a module, and lowers it, in one call each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.export import export

from sdk.backends.samsung.partition.enn_partitioner import EnnPartitioner
from sdk.backends.samsung.quantizer import EnnQuantizer, Precision
from sdk.backends.transforms.decompose_sdpa import DecomposeScaledDotProductAttention
from sdk.backends.transforms.remove_clone_ops import RemoveCloneOpsTransform
from sdk.exir import EdgeCompileConfig, EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.pass_manager import PassType

__all__ = ["get_edge_compile_config", "get_enn_pass_list", "quantize_module", "to_edge_transform_and_lower_to_enn"]


def get_edge_compile_config() -> EdgeCompileConfig:
    """Returns the configuration for edge programs without dim orders."""
    return EdgeCompileConfig(_skip_dim_order=True)


def get_enn_pass_list() -> list[PassType]:
    """The passes over edge programs. Activation functions are fused, and conversions without effect removed, when
    partitions are compiled."""
    return [RemoveCloneOpsTransform()]


def quantize_module(
    module: torch.nn.Module,
    inputs: tuple[Any, ...],
    calibration_dataset: Iterable[Sequence[Any]],
    precision: Precision | str,
    is_per_channel: bool = True,
    is_qat: bool = False,
) -> torch.nn.Module:
    """A module with quantise and dequantise calls.

    Args:
        module: The module, in evaluation mode.
        inputs: Its example inputs.
        calibration_dataset: Inputs that are like those of the application.
        precision: The precision of activations and weights.
        is_per_channel: Whether each output channel of a weight has a scale.
        is_qat: Whether the fake quantisers of training find the ranges.
    """
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = EnnQuantizer()
    quantizer.setup_quant_params(precision, is_per_channel, is_qat)
    captured = DecomposeScaledDotProductAttention()(export(module, inputs).module()).graph_module
    prepared = prepare_pt2e(captured, quantizer)
    for given in calibration_dataset:
        prepared(*given)
    quantized: torch.nn.Module = convert_pt2e(prepared)
    return quantized


def to_edge_transform_and_lower_to_enn(
    module: torch.nn.Module,
    inputs: tuple[Any, ...],
    custom_pass_config: Sequence[PassType] | None = None,
    compile_specs: Sequence[CompileSpec] | None = None,
) -> EdgeProgramManager:
    """Captures a module and delegates it to Samsung.

    Args:
        module: The module, in evaluation mode.
        inputs: Its example inputs.
        custom_pass_config: Passes over the edge program, after those of `get_enn_pass_list`.
        compile_specs: The compile specs, as for `EnnPartitioner`.
    """
    return to_edge_transform_and_lower(
        export(module, inputs),
        [*get_enn_pass_list(), *(custom_pass_config or ())],
        {"forward": [EnnPartitioner(compile_specs)]},
        compile_config=get_edge_compile_config(),
    )
