# SPDX-License-Identifier: BSD-3-Clause
"""Weights in NVFP4 that survive `torch.export`: floats of 4 bits in blocks of 16 with a scale in float8.

    quantize_(model, ExportableNVFP4Config())

This SDK has no kernel for the operator that dequantises them: it is for backends that compute it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torchao.core.config import AOBaseConfig
from torchao.quantization.transform_module import register_quantize_module_handler
from torchao.utils import TorchAOBaseTensor

from sdk.extension.llm.export._weights import dequantize_in_layers

aten = torch.ops.aten
_BLOCK = 16
_IN_A_WORD = 8
_SIZES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""The numbers of 2 bits of exponent and 1 of mantissa; the fourth bit is the sign."""


@torch.library.custom_op("torchao::dequantize_nvfp4", mutates_args=())
def nvfp4_dequantize(
    qdata: Tensor, scale: Tensor, per_tensor_scale: Tensor, block_size: int, output_dtype: torch.dtype = torch.float32
) -> Tensor:
    """per_tensor_scale * scale * number, [rows, weights of a row]. Arguments as in `ExportableNVFP4Tensor`."""
    pairs = qdata.contiguous().view(torch.uint8)
    codes = torch.stack([pairs & 15, pairs >> 4], dim=-1).reshape(len(pairs), -1, block_size)
    table = torch.tensor([*_SIZES, *(-size for size in _SIZES)], device=qdata.device)
    scales = per_tensor_scale * scale.view(torch.float8_e4m3fn).float().reshape(len(pairs), -1, 1)
    return (table[codes.long()] * scales).reshape(len(pairs), -1).to(output_dtype)


@nvfp4_dequantize.register_fake
def _(
    qdata: Tensor, scale: Tensor, per_tensor_scale: Tensor, block_size: int, output_dtype: torch.dtype = torch.float32
) -> Tensor:
    return qdata.new_empty((qdata.shape[0], qdata.shape[1] * _IN_A_WORD), dtype=output_dtype)


class ExportableNVFP4Tensor(TorchAOBaseTensor):
    """A matrix [rows, K] in NVFP4. Linear and embedding layers dequantise it by `torchao::dequantize_nvfp4`."""

    tensor_data_names: ClassVar = ["qdata", "scale", "per_tensor_scale"]
    tensor_attribute_names: ClassVar = ["block_size", "orig_dtype"]
    __torch_function__ = torch._C._disabled_torch_function_impl

    qdata: Tensor
    """uint32 [rows, K / 8], the first number in the lowest bits."""
    scale: Tensor
    """uint8 [rows, K / block_size], the bits of float8_e4m3fn."""
    per_tensor_scale: Tensor
    """float32, one number."""
    block_size: int
    orig_dtype: torch.dtype
    """The dtype of the tensor, and by default of the result of `dequantize`."""

    def __new__(
        cls, qdata: Tensor, scale: Tensor, per_tensor_scale: Tensor, block_size: int, orig_dtype: torch.dtype
    ) -> ExportableNVFP4Tensor:
        self: ExportableNVFP4Tensor = torch.Tensor._make_wrapper_subclass(
            cls,
            (qdata.shape[0], qdata.shape[-1] * _IN_A_WORD),
            dtype=orig_dtype,
            device=qdata.device,
            requires_grad=False,
        )
        self.qdata, self.scale, self.per_tensor_scale = qdata, scale, per_tensor_scale
        self.block_size, self.orig_dtype = block_size, orig_dtype
        return self

    def dequantize(self, output_dtype: torch.dtype | None = None) -> Tensor:
        """A plain tensor of the same shape, by default of `orig_dtype`."""
        weights: Tensor = torch.ops.torchao.dequantize_nvfp4(
            self.qdata,
            self.scale,
            self.per_tensor_scale,
            self.block_size,
            output_dtype=output_dtype or self.orig_dtype,
        )
        return weights


dequantize_in_layers(ExportableNVFP4Tensor)
implements = ExportableNVFP4Tensor.implements


@dataclass
class ExportableNVFP4Config(AOBaseConfig):
    """Quantises weights, by torchao's `quantize_`: those of linear layers, or of the layers that its `filter_fn`
    selects, such as embeddings."""

    use_per_tensor_scale: bool = True
    """A scale for the whole matrix, so that the scales of the blocks use the range of float8."""


@register_quantize_module_handler(ExportableNVFP4Config)
def _quantized(module: nn.Module, config: ExportableNVFP4Config) -> nn.Module:
    """Raises RuntimeError for rows or columns that are not whole blocks."""
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale

    weight: Tensor = module.weight
    if any(size % _BLOCK for size in weight.shape[-2:]):
        raise RuntimeError(f"expected a matrix of whole blocks of {_BLOCK} x {_BLOCK}, found {list(weight.shape)}")
    whole = per_tensor_amax_to_scale(weight.detach().abs().max()) if config.use_per_tensor_scale else None
    scales, pairs = nvfp4_quantize(weight.detach(), block_size=_BLOCK, per_tensor_scale=whole)
    quantized = ExportableNVFP4Tensor(
        pairs.view(torch.uint32),
        scales.view(torch.uint8),
        torch.ones(()) if whole is None else whole.float(),
        _BLOCK,
        weight.dtype,
    )
    module.weight = nn.Parameter(quantized, requires_grad=False)
    return module
