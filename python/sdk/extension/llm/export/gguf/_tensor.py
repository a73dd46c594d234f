# SPDX-License-Identifier: BSD-3-Clause
"""A quantised weight of a GGUF file as a tensor that a module can have as its parameter."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torchao.quantization import IntxUnpackedToInt8Tensor
from torchao.utils import TorchAOBaseTensor

from sdk.extension.llm.export._weights import dequantize_in_layers, floating_dtype
from sdk.extension.llm.export.gguf._blocks import FORMATS, dequantize, groups_of
from sdk.extension.llm.export.int4 import ExportableInt4Tensor, packed

_INTEGERS = {2: torch.int2, 3: torch.int3, 4: torch.int4, 5: torch.int5, 8: torch.int8}
"""torchao's integer dtype by the number of bits."""
_WIDER = {"q6_k": torch.int8, "tq1_0": torch.int3, "tq2_0": torch.int3}
"""The dtype of formats whose integers do not begin at -2^(bits - 1), or whose own dtype backends do not support."""


@torch.library.custom_op("torchao::dequantize_gguf", mutates_args=())
def dequantize_gguf(weight: Tensor, ggml_type: str, output_dtype: torch.dtype = torch.bfloat16) -> Tensor:
    """Dequantises uint8 [rows, bytes of a row] of a block format to [rows, weights of a row]."""
    return dequantize(weight, FORMATS[ggml_type]).to(output_dtype)


@dequantize_gguf.register_fake
def _(weight: Tensor, ggml_type: str, output_dtype: torch.dtype = torch.bfloat16) -> Tensor:
    format = FORMATS[ggml_type]
    return weight.new_empty((weight.shape[0], weight.shape[1] // format.bytes * format.weights), dtype=output_dtype)


class ExportableGGUFTensor(TorchAOBaseTensor):
    """A matrix [rows, weights of a row] in one of GGUF's block formats, with the bytes of the file.

    Linear and embedding layers dequantise it by the operator `torchao::dequantize_gguf`, which a backend may fuse.
    `to_exportable_int4_tensor` and `to_intx_unpacked_to_int8_tensor` convert it to other representations with
    the same integers, scales and minima; nothing is quantised again.
    """

    tensor_data_names: ClassVar = ["raw"]
    tensor_attribute_names: ClassVar = ["ggml_type", "orig_dtype"]
    __torch_function__ = torch._C._disabled_torch_function_impl

    raw: Tensor
    """uint8 [rows, bytes of a row]."""
    ggml_type: str
    """The name of the format: a key of `FORMATS`."""
    orig_dtype: torch.dtype
    """The dtype of the tensor, and by default of the result of `dequantize`."""

    def __new__(cls, raw: Tensor, ggml_type: str, orig_dtype: torch.dtype) -> ExportableGGUFTensor:
        if ggml_type not in FORMATS:
            raise NotImplementedError(
                f"the GGUF type {ggml_type!r} is not supported; supported are {', '.join(FORMATS)}"
            )
        if raw.dim() != 2 or raw.dtype != torch.uint8:
            raise ValueError(f"expected uint8 [rows, bytes of a row], found {raw.dtype} {list(raw.shape)}")
        format = FORMATS[ggml_type]
        if raw.shape[1] % format.bytes:
            raise ValueError(
                f"rows of {raw.shape[1]} bytes are not a whole number of {ggml_type}'s {format.bytes}-byte blocks"
            )
        shape = (raw.shape[0], raw.shape[1] // format.bytes * format.weights)
        self: ExportableGGUFTensor = torch.Tensor._make_wrapper_subclass(
            cls, shape, dtype=orig_dtype, device=raw.device, requires_grad=False
        )
        self.raw, self.ggml_type, self.orig_dtype = raw, ggml_type, orig_dtype
        return self

    @classmethod
    def from_raw(cls, raw: Tensor, ggml_type: str, orig_dtype: torch.dtype = torch.bfloat16) -> ExportableGGUFTensor:
        """Makes a tensor from uint8 [rows, bytes of a row]. Raises ValueError for bytes that are not whole blocks,
        NotImplementedError for an unknown type."""
        return cls(raw.contiguous(), ggml_type, orig_dtype)

    def to(self, *args: Any, **kwargs: Any) -> ExportableGGUFTensor:
        """Returns the same blocks on another device, or with another dtype for dequantisation."""
        target = self._get_to_kwargs(*args, **kwargs)
        return ExportableGGUFTensor(self.raw.to(target["device"]), self.ggml_type, floating_dtype(target["dtype"]))

    def dequantize(self, output_dtype: torch.dtype | None = None) -> Tensor:
        """A plain tensor of the same shape, by default of `orig_dtype`."""
        weights: Tensor = torch.ops.torchao.dequantize_gguf(self.raw, self.ggml_type, output_dtype or self.orig_dtype)
        return weights

    def to_exportable_int4_tensor(self, output_dtype: torch.dtype | None = None) -> ExportableInt4Tensor:
        """Converts to `ExportableInt4Tensor` with the same integers. Its scales and zero points have `output_dtype`.

        Raises NotImplementedError for formats whose integers do not have four bits.
        """
        format = FORMATS[self.ggml_type]
        if format.bits != 4:
            raise NotImplementedError(f"expected integers of 4 bits; those of {self.ggml_type} have {format.bits}")
        dtype = output_dtype or self.orig_dtype
        groups = groups_of(self.raw, format)
        if groups.minimum is None:  # integers from -8 to 7
            q, scale, zero = groups.q + 8, groups.scale, torch.full_like(groups.scale, 8)
        else:
            q, scale, zero = _with_zero_points(groups.q, groups.scale, groups.minimum)
        scale, zero = (part.to(dtype).t().contiguous() for part in (scale, zero))
        return ExportableInt4Tensor(packed(q.to(torch.uint8)), scale, zero, format.group, dtype)

    def to_intx_unpacked_to_int8_tensor(
        self, max_group_size: int | None = None, scale_dtype: torch.dtype | None = None
    ) -> IntxUnpackedToInt8Tensor:
        """Converts to torchao's `IntxUnpackedToInt8Tensor`, weights only, with the same integers.

        `max_group_size`: neighbouring groups with the same scale and minimum are merged, up to this size.
        `scale_dtype`: the dtype of the scales and, if the format has minima, of the zero points; by default float16, as
        in the file.
        """
        format = FORMATS[self.ggml_type]
        dtype = scale_dtype or torch.float16
        groups = groups_of(self.raw, format)
        scale, size = groups.scale, format.group
        minimum = torch.zeros_like(scale) if groups.minimum is None else groups.minimum
        if max_group_size is not None:
            size, scale, minimum = _max_uniform_group_size(scale, minimum, size, max_group_size)
        if groups.minimum is None:
            q, zero = groups.q, torch.zeros_like(scale, dtype=torch.int8)
        else:
            half = 1 << (format.bits - 1)
            q, scale, zero = _with_zero_points(groups.q, scale, minimum)
            q, zero = q - half, (zero - half).to(dtype)
        return IntxUnpackedToInt8Tensor(
            qdata=q,
            scale=scale.to(dtype),
            zero_point=zero,
            target_dtype=_WIDER.get(self.ggml_type) or _INTEGERS[format.bits],
            block_size=(1, size),
            dtype=dtype,
            activation_quantization=None,
        )


def _with_zero_points(q: Tensor, scale: Tensor, minimum: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns integers q, scales and zero points z such that scale * (q - z) = scale * q - minimum.

    `q`: [rows, weights]; `scale`, `minimum`: [rows, groups]. A group whose scale is 0 has one number, -minimum: its
    integers become 0, its scale `minimum`, its zero point 1.
    """
    constant = (scale == 0) & (minimum != 0)
    weights = q.reshape(*scale.shape, -1)
    q = torch.where(constant[..., None], torch.zeros_like(weights), weights).reshape(q.shape)
    zero = torch.where(scale == 0, constant.to(scale.dtype), minimum / scale)
    return q, torch.where(constant, minimum, scale), zero


def _max_uniform_group_size(
    eff_scale: Tensor, eff_min: Tensor, base_group_size: int, max_group_size: int
) -> tuple[int, Tensor, Tensor]:
    """Finds the largest groups, up to `max_group_size`, that have one scale and one minimum each.

    `eff_scale`, `eff_min`: [rows, groups]. Groups grow by powers of two, in all rows alike. Returns their size, scales
    and minima. Fake tensors have no numbers to compare: theirs stay as they are.
    """
    rows, count = eff_scale.shape
    factor = 1
    while base_group_size * factor * 2 <= max_group_size and count % (factor * 2) == 0:
        factor *= 2
    if isinstance(eff_scale, FakeTensor):
        factor = 1
    for merged in (factor >> shift for shift in range(factor.bit_length() - 1)):
        scales, minima = (part.reshape(rows, -1, merged) for part in (eff_scale, eff_min))
        if torch.equal(scales, scales[..., :1].expand_as(scales)) and torch.equal(
            minima, minima[..., :1].expand_as(minima)
        ):
            return base_group_size * merged, scales[..., 0].contiguous(), minima[..., 0].contiguous()
    return base_group_size, eff_scale, eff_min


dequantize_in_layers(ExportableGGUFTensor)


@ExportableGGUFTensor.implements([torch.ops.aten.split_with_sizes.default])
def _(func: Any, types: Any, args: Any, kwargs: Any) -> list[ExportableGGUFTensor]:
    weight, rows, *dim = args
    if any(dim):
        raise NotImplementedError("a GGUF tensor can be split into rows only: a row's blocks stay together")
    return [ExportableGGUFTensor(raw, weight.ggml_type, weight.orig_dtype) for raw in weight.raw.split(rows)]
