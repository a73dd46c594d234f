# SPDX-License-Identifier: BSD-3-Clause
"""A 4-bit weight, quantised in groups, that survives `torch.export`."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torchao.utils import TorchAOBaseTensor

from sdk.extension.llm.export._weights import dequantize_in_layers, floating_dtype


@torch.library.custom_op("torchao::dequantize_int4_tensor", mutates_args=())
def dequantize_int4_tensor(
    qdata: Tensor, scale: Tensor, zero_point: Tensor, group_size: int, output_dtype: torch.dtype = torch.bfloat16
) -> Tensor:
    """scale * (q - zero_point) in float32, [rows, weights of a row]. Arguments as in `ExportableInt4Tensor`."""
    pairs = qdata.view(torch.uint8)
    q = torch.stack([pairs & 15, pairs >> 4], dim=-1).reshape(len(pairs), -1, group_size).float()
    scales, zeros = (part.t().float()[..., None] for part in (scale, zero_point))
    return ((q - zeros) * scales).reshape(len(pairs), -1).to(output_dtype)


@dequantize_int4_tensor.register_fake
def _(
    qdata: Tensor, scale: Tensor, zero_point: Tensor, group_size: int, output_dtype: torch.dtype = torch.bfloat16
) -> Tensor:
    return qdata.new_empty((qdata.shape[0], qdata.shape[1] * 2), dtype=output_dtype)


def packed(q: Tensor) -> Tensor:
    """uint8 [rows, K / 2] of integers from 0 to 15 [rows, K]: even columns in the low halves of the bytes."""
    return q[:, ::2] | q[:, 1::2] << 4


class ExportableInt4Tensor(TorchAOBaseTensor):
    """A matrix [rows, K] of 4-bit integers with a scale and a zero point for each group of a row.

    The layout is that of torchao's `Int4Tensor`. Linear and embedding layers dequantise it by the operator
    `torchao::dequantize_int4_tensor`, which a backend may fuse.
    """

    tensor_data_names: ClassVar = ["qdata", "scale", "zero_point"]
    tensor_attribute_names: ClassVar = ["group_size", "orig_dtype"]
    __torch_function__ = torch._C._disabled_torch_function_impl

    qdata: Tensor
    """uint8 [rows, K / 2], integers from 0 to 15: even columns in the low halves of the bytes, odd ones in the high."""
    scale: Tensor
    """[K / group_size, rows]."""
    zero_point: Tensor
    """[K / group_size, rows], not necessarily whole numbers."""
    group_size: int
    orig_dtype: torch.dtype
    """The dtype of the tensor, and by default of the result of `dequantize`."""

    def __new__(
        cls, qdata: Tensor, scale: Tensor, zero_point: Tensor, group_size: int, orig_dtype: torch.dtype
    ) -> ExportableInt4Tensor:
        self: ExportableInt4Tensor = torch.Tensor._make_wrapper_subclass(
            cls, (qdata.shape[0], qdata.shape[-1] * 2), dtype=orig_dtype, device=qdata.device, requires_grad=False
        )
        self.qdata, self.scale, self.zero_point = qdata, scale, zero_point
        self.group_size, self.orig_dtype = group_size, orig_dtype
        return self

    @classmethod
    def from_int4_tensor(cls, w: Any) -> ExportableInt4Tensor:
        """Makes the weight from torchao's `Int4Tensor`, and shares its tensors."""
        return cls(w.qdata, w.scale, w.zero_point, int(w.block_size[-1]), w.dtype)

    @classmethod
    def from_intx_unpacked_to_int8_tensor(cls, w: Any) -> ExportableInt4Tensor:
        """Makes the weight from torchao's `IntxUnpackedToInt8Tensor` of 4-bit weights.

        Raises ValueError if its integers do not have 4 bits or its activations are quantised.
        """
        if w.target_dtype != torch.int4:
            raise ValueError(f"expected 4-bit weights (target_dtype=torch.int4), found target_dtype={w.target_dtype}")
        if w.activation_quantization is not None:
            raise ValueError(
                f"expected quantised weights only, found activation quantization {w.activation_quantization}"
            )
        q = (w.qdata + 8).to(torch.uint8)
        zero = w.zero_point.to(w.scale.dtype) + 8
        return cls(packed(q), w.scale.t().contiguous(), zero.t().contiguous(), int(w.block_size[-1]), w.dtype)

    def to(self, *args: Any, **kwargs: Any) -> ExportableInt4Tensor:
        """Returns the same integers on another device, or with scales and zero points of another dtype."""
        target = self._get_to_kwargs(*args, **kwargs)
        device, dtype = target["device"], floating_dtype(target["dtype"])
        scale, zero = (part.to(device=device, dtype=dtype) for part in (self.scale, self.zero_point))
        return ExportableInt4Tensor(self.qdata.to(device), scale, zero, self.group_size, dtype)

    def dequantize(self, output_dtype: torch.dtype | None = None) -> Tensor:
        """A plain tensor of the same shape, by default of `orig_dtype`."""
        weights: Tensor = torch.ops.torchao.dequantize_int4_tensor(
            self.qdata, self.scale, self.zero_point, self.group_size, output_dtype=output_dtype or self.orig_dtype
        )
        return weights


dequantize_in_layers(ExportableInt4Tensor)
