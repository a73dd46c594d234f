# SPDX-License-Identifier: BSD-3-Clause
"""Layers with integer weights, whose parts are buffers. They are for checkpoints that other programs wrote.

`sdk.extension.llm.export.quantize` quantises layers whose weights are torchao's tensors.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torchao.quantization.utils import per_token_dynamic_quant

import sdk.exir.operator.quantized_ops  # noqa: F401, registers operators of embeddings

_SMALLEST = torch.finfo(torch.float32).eps


def dynamically_quantize_per_channel(
    x: Tensor,
    quant_min: int,
    quant_max: int,
    target_dtype: torch.dtype,
    group_size: int | None = None,
    *,
    scales_dtype: torch.dtype = torch.float16,
    enable_non_multiple_groups: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Integers [rows, columns], scales and zero points [rows, groups] of a matrix; the zero points are 0.

    A group is `group_size` numbers of a row, the last one may have fewer; None or 0 for whole rows. Raises ValueError
    for a rest with `enable_non_multiple_groups=False`.
    """
    columns = x.shape[1]
    size = group_size or columns
    if columns % size and not enable_non_multiple_groups:
        raise ValueError(f"rows of {columns} numbers are not whole groups of {size}")
    groups = F.pad(x, (0, -columns % size)).unflatten(1, (-1, size))
    scales = (groups.abs().amax(dim=2) / ((quant_max - quant_min) / 2)).clamp(min=_SMALLEST).to(x.dtype)
    integers = torch.round(groups / scales[..., None]).clamp(quant_min, quant_max).to(target_dtype)
    return integers.flatten(1)[:, :columns], scales.to(scales_dtype), torch.zeros_like(scales, dtype=torch.int64)


class WeightOnlyInt8Linear(nn.Module):
    """int8 weights with a scale for each row; activations are float. There is no bias."""

    weight: Tensor

    def __init__(
        self, device: Any, in_features: int, out_features: int, bias: bool = True, dtype: torch.dtype | None = None
    ) -> None:
        """`bias` is not read. `dtype`: the dtype of the scales, bfloat16 when None."""
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.register_buffer("weight", torch.zeros(out_features, in_features, dtype=torch.int8, device=device))
        self.register_buffer("scales", torch.ones(out_features, dtype=dtype or torch.bfloat16, device=device))

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight.to(input.dtype)) * self.scales


def linear_forward_8da8w(
    x: Tensor, weight_int8: Tensor, scales: Tensor, zeros: Tensor, out_features: int, precision: torch.dtype
) -> Tensor:
    """x, rounded to int8 for each token, times the weights (integer - zero) * scale, with a scale for each row.

    Raises ValueError unless `weight_int8` has `out_features` rows."""
    if weight_int8.shape[0] != out_features:
        raise ValueError(f"out_features={out_features}: weight_int8 has {weight_int8.shape[0]} rows")
    weight = torch.ops.quantized_decomposed.dequantize_per_channel(
        weight_int8, scales, zeros, 0, -128, 127, torch.int8, out_dtype=precision
    )
    return F.linear(per_token_dynamic_quant(x), weight)


class Int8DynActInt8WeightLinear(nn.Module):
    """int8 weights with a scale for each row; activations are rounded to int8 when the layer is called."""

    weight: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
        precision: torch.dtype = torch.float32,
    ) -> None:
        """`precision`: the dtype of the result. Raises ValueError unless `bias` is False and `dtype` None."""
        super().__init__()
        if bias or dtype is not None:
            raise ValueError("expected bias=False, and precision in place of dtype")
        self.in_features, self.out_features, self.precision = in_features, out_features, precision
        self.register_buffer("weight", torch.zeros(out_features, in_features, dtype=torch.int8, device=device))
        for name in ("scales", "zeros"):
            self.register_buffer(name, torch.zeros(out_features, device=device))

    def forward(self, input: Tensor) -> Tensor:
        return linear_forward_8da8w(
            input.to(self.precision), self.weight, self.scales, self.zeros, self.out_features, self.precision
        )


class WeightOnlyInt4Linear(nn.Module):
    """Integers of 4 bits, a byte each, with a scale and a zero for each group of a row; activations are float."""

    weight: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        groupsize: int = 256,
        precision: torch.dtype = torch.float32,
        scales_precision: torch.dtype = torch.float32,
    ) -> None:
        """Raises ValueError for rows that are not whole groups."""
        super().__init__()
        if in_features % groupsize:
            raise ValueError(f"in_features={in_features} is not a multiple of groupsize={groupsize}")
        self.in_features, self.out_features, self.groupsize = in_features, out_features, groupsize
        self.precision = precision
        self.register_buffer("weight", torch.zeros(out_features, in_features, dtype=torch.int8, device=device))
        for name in ("scales", "zeros"):
            part = torch.zeros(out_features, in_features // groupsize, dtype=scales_precision, device=device)
            self.register_buffer(name, part)
        self.register_buffer("bias", torch.zeros(out_features, dtype=precision, device=device) if bias else None)

    def forward(self, input: Tensor) -> Tensor:
        from torchao.quantization.quant_primitives import dequantize_affine

        group = (1, self.groupsize)
        weight = dequantize_affine(
            self.weight, group, self.scales, self.zeros, torch.int8, -8, 7, output_dtype=self.precision
        )
        return F.linear(input.to(self.precision), weight, self.bias)


class QuantizedGroupEmbedding(nn.Module):
    """An embedding with a scale for each group of a row: bytes, or packed 2 or 4 bits."""

    def __init__(
        self,
        device: Any,
        vocab_size: int,
        embedding_dim: int,
        group_size: int | None = None,
        dtype: torch.dtype = torch.half,
        packed: bool = False,
        bitwidth: int = 8,
    ) -> None:
        """`dtype`: the dtype of the result. Raises ValueError for packed weights of other numbers of bits."""
        super().__init__()
        if packed and bitwidth not in (2, 4):
            raise ValueError(f"bitwidth={bitwidth}: only 2 and 4 bits are packed")
        self.group_size, self.dtype = group_size or embedding_dim, dtype
        self.packed, self.bitwidth = packed, bitwidth
        columns = embedding_dim * bitwidth // 8 if packed else embedding_dim
        kind = torch.uint8 if packed else torch.int8
        self.register_buffer("weight", torch.zeros(vocab_size, columns, dtype=kind, device=device))
        groups = -(-embedding_dim // self.group_size)
        shape = (vocab_size, groups) if groups > 1 else (vocab_size,)
        self.register_buffer("scales", torch.ones(shape, dtype=torch.float16, device=device))

    @torch.no_grad()
    def forward(self, indices: Tensor) -> Tensor:
        ops = torch.ops.quantized_decomposed
        bits = self.bitwidth if self.packed else 8
        op = {8: ops.embedding_byte, 4: ops.embedding_4bit, 2: ops.embedding_2bit}[bits]
        half = 1 << (bits - 1)
        y: Tensor = op.dtype(self.weight, self.scales, None, -half, half - 1, indices, dtype=self.dtype)
        return y

    def _apply(self, fn: Any, recurse: bool = True) -> QuantizedGroupEmbedding:
        """`to` changes the dtype of the result, too. Another device does not, although scales are float16."""
        super()._apply(fn, recurse)
        self.dtype = fn(torch.empty(0, dtype=self.dtype, device=self.scales.device)).dtype
        return self


def packed_rows(integers: Tensor, bits: int) -> Tensor:
    """uint8 [rows, columns * bits / 8] of signed integers of 2 or 4 bits, as the kernels of embeddings read them: of 4
    bits the first one is in the high half of a byte, of 2 bits in the lowest bits."""
    values = (integers + (1 << (bits - 1))).to(torch.uint8).unflatten(1, (-1, 8 // bits)).unbind(-1)
    if bits == 4:
        return values[0] << 4 | values[1]
    return values[0] | values[1] << 2 | values[2] << 4 | values[3] << 6
