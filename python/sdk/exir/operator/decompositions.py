# SPDX-License-Identifier: BSD-3-Clause
"""Decompositions of operators outside Core ATen that runtimes have no kernel for, in operators that they have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sdk.exir.operator.decompositions_attention import ATTENTION
from sdk.exir.operator.decompositions_images import IMAGES
from sdk.exir.operator.decompositions_linalg import LINALG
from sdk.exir.operator.decompositions_random import RANDOM
from sdk.exir.operator.decompositions_scatter import SCATTER
from sdk.exir.operator.decompositions_spectra import SPECTRA
from sdk.exir.operator.decompositions_statistics import STATISTICS
from sdk.exir.operator.moe_ops import GROUPED

aten = torch.ops.aten
prims = torch.ops.prims


def _hypot(x: Tensor, y: Tensor) -> Tensor:
    """max * sqrt(1 + (min / max)^2), which does not overflow where the result does not. Infinite if either operand is,
    even where the other one is NaN."""
    infinite = torch.logical_or(torch.isinf(x), torch.isinf(y))
    x, y = torch.abs(x), torch.abs(y)
    large, small = torch.maximum(x, y), torch.minimum(x, y)
    ratio = small / large
    finite = torch.where(large == 0, large, large * torch.sqrt(ratio * ratio + 1))
    return torch.where(infinite, math.inf, finite)


def _copysign(x: Tensor, sign: Any) -> Tensor:
    """The sign of a zero is that of its reciprocal."""
    if not isinstance(sign, Tensor):
        sign = torch.full_like(x, sign, dtype=torch.float32 if not x.is_floating_point() else x.dtype)
    magnitude = torch.abs(x if x.is_floating_point() else x.to(torch.float32))
    negative = sign < 0
    if sign.is_floating_point():
        negative = torch.logical_or(negative, torch.logical_and(sign == 0, torch.reciprocal(sign) < 0))
    return torch.where(negative, -magnitude, magnitude)


def _shift_left(x: Tensor, bits: Any) -> Tensor:
    return aten.bitwise_left_shift.Tensor(x, _like(x, bits))


def _shift_right(x: Tensor, bits: Any) -> Tensor:
    return aten.bitwise_right_shift.Tensor(x, _like(x, bits))


def _like(x: Tensor, value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else torch.full([], value, dtype=x.dtype)


def _soft_margin_loss(x: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """Rounds after each step, as eager does. PyTorch's decomposition computes float16 in float32, where exp() does not
    overflow.
    """
    loss = torch.log1p(torch.exp(-target * x))
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss


def _clamp_max(x: Tensor, high: Tensor) -> Any:
    # clamp() does not take bool.
    return torch.minimum(x, high) if x.dtype == torch.bool else torch.clamp(x, max=high)


def _clamp_min(x: Tensor, low: Tensor) -> Any:
    return torch.maximum(x, low) if x.dtype == torch.bool else torch.clamp(x, min=low)


def _hardtanh(x: Tensor, low: Any = -1, high: Any = 1) -> Any:
    return torch.clamp(x, low, high) if x.dtype == torch.uint8 else NotImplemented


def _complex(real: Tensor, imag: Tensor) -> Tensor:
    return torch.view_as_complex(torch.stack(torch.broadcast_tensors(real, imag), -1))


def _polar(radius: Tensor, angle: Tensor) -> Tensor:
    return _complex(radius * torch.cos(angle), radius * torch.sin(angle))


def _round_to_decimals(x: Tensor, *, decimals: int) -> Tensor:
    if decimals == 0:
        return torch.round(x)
    scale = 10.0 ** abs(decimals)
    return torch.round(x * scale) / scale if decimals > 0 else torch.round(x / scale) * scale


def _addbmm(x: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Computes the sum of matrix products as one matrix product of the concatenated matrices."""
    batch, rows, inner = a.shape
    side_by_side = a.permute(1, 0, 2).reshape(rows, batch * inner)
    below = b.reshape(batch * inner, b.shape[2])
    return torch.addmm(x, side_by_side, below, beta=beta, alpha=alpha)


def _trilinear(
    a: Tensor,
    b: Tensor,
    c: Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Tensor:
    for dims, index in ((expand1, 0), (expand2, 1), (expand3, 2)):
        for dim in sorted(dims):
            a, b, c = (t.unsqueeze(dim) if i == index else t for i, t in enumerate((a, b, c)))
    dtype = a.dtype
    if dtype in (torch.float16, torch.bfloat16):
        a, b, c = a.float(), b.float(), c.float()
    product = a * b * c
    return (product.sum(list(sumdim), dtype=product.dtype) if sumdim else product).to(dtype)


def _embedding_bag(*args: Any, **kwargs: Any) -> Any:
    return aten._embedding_bag(*args, **kwargs)


def _scalar_first(op: torch._ops.OpOverload) -> Callable:
    return lambda x, other: op(torch.full([], x), other)


def _scalar_second(op: torch._ops.OpOverload) -> Callable:
    return lambda x, other: op(x, torch.full([], other))


_POLYNOMIALS = tuple(
    getattr(aten, f"special_{name}")
    for name in (
        *(f"{prefix}chebyshev_polynomial_{kind}" for prefix in ("", "shifted_") for kind in "tuvw"),
        *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"),
    )
)


def _convert_element_type(x: Tensor, dtype: torch.dtype) -> Tensor:
    return aten._to_copy(x, dtype=dtype)


def _bucketize(x: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Any:
    if x.dim() == 0 or boundaries.numel() == 0:
        return NotImplemented  # PyTorch's decomposition reads the number when it runs.
    from torch._decomp import decomposition_table

    return decomposition_table[aten.bucketize.Tensor](x, boundaries, out_int32=out_int32, right=right)


def _gather(x: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Any:
    # Eager accepts uint8 indices if there is nothing to gather.
    return torch.gather(x, dim, index.to(torch.int64)) if index.dtype == torch.uint8 else NotImplemented


def _linspace(start: Any, end: Any, steps: int, *, dtype: torch.dtype | None = None, **options: Any) -> Any:
    """For integers, the ends are first converted to the dtype, and the numbers between them are computed in float64, as
    in eager mode. PyTorch's decomposition does not convert the ends, and computes in float32."""
    if dtype is None or dtype.is_floating_point or dtype.is_complex or steps < 2:
        return torch._decomp.decomposition_table[aten.linspace.default](start, end, steps, dtype=dtype, **options)
    first, last = (
        end.to(dtype).to(torch.float64) if isinstance(end, Tensor) else float(int(end)) for end in (start, end)
    )
    step = (last - first) / (steps - 1)
    index = torch.arange(steps, dtype=torch.float64)
    return torch.where(index < steps // 2, first + step * index, last - step * (steps - 1 - index)).to(dtype)


def _take(x: Tensor, index: Tensor) -> Tensor:
    # PyTorch's decomposition reads an index without dimensions as a number at run time.
    return aten.index.Tensor(x.reshape(-1), [index])


def _linear_cross_entropy(
    x: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None,
    class_weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    *_: Any,
) -> Tensor:
    """The loss without chunks, which only save memory for gradients."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    wide_bias, wide_class_weight = (t if t is None else t.to(dtype) for t in (bias, class_weight))
    loss = torch.nn.functional.cross_entropy(
        torch.nn.functional.linear(x.to(dtype), weight.to(dtype), wide_bias),
        target,
        wide_class_weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
    return loss.to(x.dtype)


def _chunked_cross_entropy(*args: Any) -> Any:
    if any(args[-3:]):
        return NotImplemented  # gradients
    x = args[0]
    none = torch.empty([0, 0], dtype=x.dtype)
    return _linear_cross_entropy(*args), none, none.clone(), torch.empty([0], dtype=x.dtype)


def _chunked_cross_entropy_without_reduction(
    x: Tensor, weight: Tensor, target: Tensor, bias: Any, class_weight: Any, ignore_index: int, *_: Any
) -> Tensor:
    return _linear_cross_entropy(x, weight, target, bias, class_weight, "none", ignore_index, 0.0)


NAMED_DECOMPOSITIONS: dict[str, Callable] = {
    **GROUPED,
    "torch_nn::_linear_cross_entropy_batch_chunked": _chunked_cross_entropy,
    "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction": _chunked_cross_entropy_without_reduction,
}
"""Decompositions of operators that PyTorch registers at their first use, and of operators of libraries."""


def _roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """Exchanges the two parts of each dimension. PyTorch's decomposition would compute indices in each call."""
    if not dims:
        return _roll(x.flatten(), shifts, [0]).view(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim]
        if not isinstance(size, int) or not isinstance(shift, int):
            # For size 0, the remainder of an empty tensor computes nothing and does not divide by 0.
            x = x.index_select(dim, torch.remainder(torch.arange(size) - shift, size))
        elif size and shift % size:
            first = size - shift % size
            x = torch.cat([x.narrow(dim, first, size - first), x.narrow(dim, 0, first)], dim)
    return x.clone()


OWN_DECOMPOSITIONS: dict[torch._ops.OperatorBase, Callable] = {
    **IMAGES,
    **LINALG,
    **RANDOM,
    **SCATTER,
    **SPECTRA,
    **ATTENTION,
    **STATISTICS,
    aten.__lshift__.Scalar: _shift_left,
    aten.__lshift__.Tensor: _shift_left,
    aten.__rshift__.Scalar: _shift_right,
    aten.__rshift__.Tensor: _shift_right,
    aten._conj.default: aten._conj_physical.default,
    aten._embedding_bag_forward_only.default: _embedding_bag,
    aten._int_mm.default: lambda x, y: aten.mm.default(x.to(torch.int32), y.to(torch.int32)),
    aten._is_all_true.default: aten.all.default,
    aten._is_any_true.default: aten.any.default,
    aten._trilinear.default: _trilinear,
    aten.addbmm.default: _addbmm,
    aten.bitwise_left_shift.Tensor_Scalar: _shift_left,
    aten.bitwise_right_shift.Tensor_Scalar: _shift_right,
    aten.bucketize.Tensor: _bucketize,
    aten.clamp_max.Tensor: _clamp_max,
    aten.clamp_min.Tensor: _clamp_min,
    aten.complex.default: _complex,
    aten.copysign.Scalar: _copysign,
    aten.copysign.Tensor: _copysign,
    aten.gather.default: _gather,
    aten.hardtanh.default: _hardtanh,
    aten.hypot.default: _hypot,
    aten.linspace.Scalar_Tensor: _linspace,
    aten.linspace.Tensor_Scalar: _linspace,
    aten.linspace.Tensor_Tensor: _linspace,
    aten.linspace.default: _linspace,
    aten.polar.default: _polar,
    aten.round.decimals: _round_to_decimals,
    aten.roll.default: _roll,
    aten.soft_margin_loss.default: _soft_margin_loss,
    aten.special_zeta.other_scalar: _scalar_second(aten.special_zeta.default),
    aten.special_zeta.self_scalar: _scalar_first(aten.special_zeta.default),
    aten.take.default: _take,
    prims.convert_element_type.default: _convert_element_type,
    prims.shift_left.default: lambda x, bits: _shift_left(x if isinstance(x, Tensor) else _like(bits, x), bits),
    **{packet.n_scalar: _scalar_second(packet.default) for packet in _POLYNOMIALS},
    **{packet.x_scalar: _scalar_first(packet.default) for packet in _POLYNOMIALS},
}
"""Maps each operator to the function that computes it."""

PYTORCH_DECOMPOSITIONS: tuple[torch._ops.OpOverload, ...] = (
    aten._addmm_activation.default,
    aten._batch_norm_no_update.default,
    aten._batch_norm_with_update_functional.default,
    aten._native_batch_norm_legit_functional.default,
    aten.adaptive_max_pool2d.default,
    aten.addmm.dtype,
    aten.addmv.default,
    aten.aminmax.default,
    aten.bitwise_and.Scalar_Tensor,
    aten.bitwise_left_shift.Scalar_Tensor,
    aten.bitwise_or.Scalar_Tensor,
    aten.bitwise_right_shift.Scalar_Tensor,
    aten.bitwise_xor.Scalar_Tensor,
    aten.dist.default,
    aten.ldexp.Tensor,
    aten.new_empty_strided.default,
    aten.remainder.Scalar_Tensor,
    aten.tril_indices.default,
    aten.triu_indices.default,
    aten.upsample_bicubic2d.default,
    aten.upsample_trilinear3d.default,
)
"""Operators outside Core ATen whose decomposition is PyTorch's, although it is not in its table for Core ATen."""
