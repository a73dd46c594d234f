# SPDX-License-Identifier: BSD-3-Clause
"""Observers of weights with a scale for each block of elements. QNN stores such a scale as an integer of four bits
times a scale for each channel."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torchao.quantization.pt2e import FakeQuantize, MappingType, PerBlock
from torchao.quantization.pt2e._affine_quantization import (
    AffineQuantizedMinMaxObserver,
    _get_reduction_params,
    choose_qparams_affine_with_min_max,
)
from torchao.quantization.quant_primitives import _fake_quantize_affine

from sdk.backends.qualcomm.utils.constants import DEFAULT_EPS_FP32


class PerBlockParamObserver(AffineQuantizedMinMaxObserver):
    """Reads a weight once.

    Args:
        dtype: The dtype of the integers.
        block_size: The size of a block in each dimension, which must divide the weight's size.
        quant_min: The smallest integer.
        quant_max: The largest integer.
        eps: The smallest scale.
        kwargs: The arguments of torchao's observers.
    """

    def __init__(
        self,
        dtype: torch.dtype,
        block_size: tuple[int, ...],
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = DEFAULT_EPS_FP32,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            mapping_type=MappingType.SYMMETRIC,
            target_dtype=dtype,
            granularity=PerBlock,
            quant_min=quant_min,
            quant_max=quant_max,
            eps=eps,
            **kwargs,
        )
        self.dtype, self.block_size = dtype, block_size
        self.bitwidth_of_scale = 4
        self.num_steps = 2**self.bitwidth_of_scale
        self.calibrated = False

    def forward(self, input: Tensor) -> Tensor:
        if not input.numel() or self.calibrated:
            return input
        if len(self.block_size) != input.dim() or any(n % b for n, b in zip(input.shape, self.block_size, strict=True)):
            raise ValueError(
                f"the blocks {tuple(self.block_size)} do not divide a weight of the shape {tuple(input.shape)}: "
                f"set_block_size_map takes a size for each dimension"
            )
        weight = input.detach()
        self.original_dtype = weight.dtype
        shape, over = _get_reduction_params(self.block_size, weight.size())
        blocks = weight.view(shape)
        self.min_val, self.max_val = torch.amin(blocks, dim=over), torch.amax(blocks, dim=over)
        self.calibrated = True
        return input

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """The scales and zero points. Raises RuntimeError before a weight was read."""
        if not self.calibrated:
            raise RuntimeError("a weight was not observed: run the prepared model before it is converted")
        found: tuple[Tensor, Tensor] = choose_qparams_affine_with_min_max(
            self.min_val,
            self.max_val,
            self.mapping_type,
            [],
            self.target_dtype,
            self.quant_min,
            self.quant_max,
            self.eps,
            self.scale_dtype,
            self.zero_point_dtype,
            self.preserve_zero,
            self.zero_point_domain,
        )
        return found


class PerBlockParamFakeQuantize(FakeQuantize):
    """Quantises and dequantises a weight with a scale for each block, for training. The arguments are those of
    `PerBlockParamObserver`."""

    def __init__(
        self,
        dtype: torch.dtype = torch.int8,
        block_size: tuple[int, ...] | None = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = DEFAULT_EPS_FP32,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if block_size is None:
            raise ValueError("block_size is None; expected a size for each dimension of the weight")
        self.activation_post_process = PerBlockParamObserver(dtype, block_size, quant_min, quant_max, eps, **kwargs)
        self.dtype, self.block_size, self.eps = dtype, block_size, eps
        self.quant_min = torch.iinfo(dtype).min if quant_min is None else quant_min
        self.quant_max = torch.iinfo(dtype).max if quant_max is None else quant_max

    def forward(self, x: Tensor) -> Tensor:
        if not x.numel():
            return x
        self.activation_post_process.calibrated = False  # weights change in training
        self.activation_post_process(x)
        scale, zero_point = self.activation_post_process.calculate_qparams()
        quantized: Tensor = _fake_quantize_affine(
            x, self.block_size, scale, zero_point, self.dtype, self.quant_min, self.quant_max
        )
        return quantized

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """The scales and zero points."""
        found: tuple[Tensor, Tensor] = self.activation_post_process.calculate_qparams()
        return found

    def convert(self, model: Any, observer_node: Any) -> None:
        """Replaces the observer by quantise and dequantise calls."""
        self.activation_post_process.convert(model, observer_node)
