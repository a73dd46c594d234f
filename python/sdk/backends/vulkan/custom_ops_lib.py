# SPDX-License-Identifier: BSD-3-Clause
"""The operators of the runtime that PyTorch lacks, as `torch.ops.et_vk`, implemented in eager PyTorch. Importing this
module registers them, so that models can call them.

Weights of int8 layers are signed; `weight_sums` are their sums over the inputs of each output. In scales, sums and
biases, the dimension of the outputs may be padded to a multiple of 4 or 8; the padding is not read. 4-bit weights are
packed two per byte, and 8 is added to each.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from sdk.backends.vulkan._custom_ops_define import define, implement_meta, lib
from sdk.backends.vulkan._custom_ops_int8 import by_output, cut, dequantized, quantized

__all__ = ["dequantized", "lib", "nibbles", "quantized"]


@define("prepack(Tensor x) -> Tensor")
def prepack(x: Tensor) -> Tensor:
    """A constant as a tensor of the GPU."""
    return x.clone()


@define("select_as_symint(Tensor x, int dim, int index) -> SymInt")
def select_as_symint(x: Tensor, dim: int, index: int) -> int:
    """Reads an element of an integer tensor as a symbolic integer, for shapes and positions."""
    return int(x.select(dim, index).item())


_CONVOLUTION = (
    "Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, SymInt[] output_padding, SymInt groups, Scalar? output_min, Scalar? output_max"
)


@define(f"conv_with_clamp({_CONVOLUTION}) -> Tensor")
def conv_with_clamp(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    output_min: float | None,
    output_max: float | None,
) -> Tensor:
    """A convolution whose results are clamped."""
    result = torch.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    low = -torch.inf if output_min is None else _in_range(output_min, result.dtype)
    high = torch.inf if output_max is None else _in_range(output_max, result.dtype)
    return torch.clamp(result, low, high)


@define(f"conv_with_clamp.out({_CONVOLUTION}, *, Tensor(a!) out) -> Tensor(a!)")
def conv_with_clamp_out(*arguments: Any, out: Tensor) -> Tensor:
    """Writes the result to `out`, which is resized."""
    return _written(conv_with_clamp(*arguments), out)


def _written(result: Tensor, out: Tensor) -> Tensor:
    if out.dtype != result.dtype:
        raise TypeError(f"expected out to be {result.dtype}, found {out.dtype}")
    return out.resize_(result.shape).copy_(result)


def _in_range(number: float, dtype: torch.dtype) -> float:
    """Returns a number, or infinity if it exceeds the range of the dtype. The largest double means that there is no
    bound."""
    largest = torch.finfo(dtype).max
    return number if abs(number) <= largest else math.copysign(math.inf, number)


@define("grid_priors(Tensor self, int stride, float offset) -> Tensor")
def grid_priors(self: Tensor, stride: int, offset: float) -> Tensor:
    """[height * width, 2]: x and y of the points of a grid over the last two dimensions."""
    y, x = ((torch.arange(size, dtype=torch.float32, device=self.device) + offset) * stride for size in self.shape[-2:])
    return torch.stack((x.repeat(y.numel()), y.repeat_interleave(x.numel())), -1)


@define("grid_priors_out(Tensor self, int stride, float offset, *, Tensor(a!) out) -> Tensor(a!)")
def grid_priors_out(self: Tensor, stride: int, offset: float, *, out: Tensor) -> Tensor:
    """Writes the result to `out`, which is resized."""
    return _written(grid_priors(self, stride, offset), out)


@define("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor")
def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension, computed in float32."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * weight.float()).to(x.dtype)


@define("sdpa(Tensor q, Tensor k, Tensor v, Tensor? attn_mask = None, float? scale = None) -> Tensor")
def sdpa(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, scale: float | None = None) -> Tensor:
    """softmax(q @ k^T * scale + attn_mask) @ v."""
    scores = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    return torch.softmax(scores if attn_mask is None else scores + attn_mask, -1) @ v


@define("apply_rotary_emb(Tensor xq, Tensor xk, Tensor freqs_cos, Tensor freqs_sin) -> (Tensor, Tensor)")
def apply_rotary_emb(xq: Tensor, xk: Tensor, freqs_cos: Tensor, freqs_sin: Tensor) -> tuple[Tensor, Tensor]:
    """Rotates neighbouring pairs. xq and xk are [batch, positions, heads, width], the others [positions, width / 2]."""
    return _rotated_pairs(xq, freqs_cos, freqs_sin), _rotated_pairs(xk, freqs_cos, freqs_sin)


def _rotated_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    real, imaginary = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = cos[:, None].float(), sin[:, None].float()
    turned = (real * cos - imaginary * sin, real * sin + imaginary * cos)
    return torch.stack(turned, -1).flatten(-2).type_as(x)


@define(
    "apply_rotary_emb_hf(Tensor xq, Tensor xk, Tensor freqs_cos, Tensor freqs_sin, SymInt start_pos) "
    "-> (Tensor, Tensor)"
)
def apply_rotary_emb_hf(
    xq: Tensor, xk: Tensor, freqs_cos: Tensor, freqs_sin: Tensor, start_pos: int
) -> tuple[Tensor, Tensor]:
    """Rotates the first half with the second. xq and xk are [batch, positions, heads, width]; the tables have a row of
    up to width elements for each position, and are read from start_pos on."""
    count = xq.shape[1]
    cos, sin = (table[start_pos : start_pos + count, None].float() for table in (freqs_cos, freqs_sin))
    return _rotated_halves(xq, cos, sin), _rotated_halves(xk, cos, sin)


def _rotated_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    turned, rest = x[..., : cos.shape[-1]].float(), x[..., cos.shape[-1] :]
    first, second = turned.chunk(2, -1)
    return torch.cat(((turned * cos + torch.cat((-second, first), -1) * sin).type_as(x), rest), -1)


@define("apply_rotary_emb_interleaved(Tensor x, Tensor freqs_cis) -> Tensor", keep_whole=True)
def apply_rotary_emb_interleaved(x: Tensor, freqs_cis: Tensor) -> Tensor:
    """x [batch, positions, width] times the complex numbers of freqs_cis, which has positions * width elements: cosine
    and sine of each pair."""
    batch, positions, width = x.shape
    turned = torch.view_as_complex(x.float().reshape(batch, positions, width // 2, 2)) * torch.view_as_complex(
        freqs_cis.float().reshape(positions, width // 2, 2)
    )
    return torch.view_as_real(turned).reshape(x.shape).type_as(x)


@implement_meta("apply_rotary_emb_interleaved")
def _apply_rotary_emb_interleaved_meta(x: Tensor, freqs_cis: Tensor) -> Tensor:
    return torch.empty_like(x)


def nibbles(packed: Tensor, first_is_high: bool) -> Tensor:
    """Unpacks bytes to two numbers from -8 to 7 each, along the last dimension."""
    high, low = (packed >> 4).to(torch.int8) - 8, (packed & 15).to(torch.int8) - 8
    return torch.stack((high, low) if first_is_high else (low, high), -1).flatten(-2)


def _by_group(weights: Tensor, scales: Tensor, group_size: int) -> Tensor:
    """Weights [outputs, inputs] times scales [outputs, groups]."""
    expanded = scales[: weights.shape[0]].repeat_interleave(group_size, 1)[:, : weights.shape[1]]
    return weights[:, : expanded.shape[1]].to(scales.dtype) * expanded


@define("linear_qcs4w(Tensor self, Tensor weight, Tensor scales) -> Tensor")
def linear_qcs4w(self: Tensor, weight: Tensor, scales: Tensor) -> Tensor:
    """A linear layer with 4-bit weights [outputs, inputs / 2] and a scale for each output. The first weight of a byte
    is in its high bits."""
    return F.linear(self, by_output(nibbles(weight, True)[:, : self.shape[-1]], scales))


@define("linear_q8csw(Tensor self, Tensor weights, Tensor weight_scales, Tensor? bias = None) -> Tensor")
def linear_q8csw(self: Tensor, weights: Tensor, weight_scales: Tensor, bias: Tensor | None = None) -> Tensor:
    """A linear layer with int8 weights [outputs, inputs] and a scale for each output."""
    return F.linear(self, by_output(weights, weight_scales), cut(bias, weights.shape[0]))


@define(
    "linear_q4gsw(Tensor self, Tensor weights, Tensor weight_scales, int group_size, Tensor? bias = None) -> Tensor"
)
def linear_q4gsw(
    self: Tensor, weights: Tensor, weight_scales: Tensor, group_size: int, bias: Tensor | None = None
) -> Tensor:
    """A linear layer with 4-bit weights [outputs, inputs / 2], the first of a byte in its low bits, and scales
    [groups, outputs] of groups of inputs."""
    matrix = _by_group(nibbles(weights, False)[:, : self.shape[-1]], weight_scales.t(), group_size)
    return F.linear(self, matrix, cut(bias, weights.shape[0]))


@define(
    "linear_dq8ca_q4gsw(Tensor input, Tensor input_scales, Tensor input_zp, Tensor weights, Tensor weight_sums, "
    "Tensor weight_scales, int group_size, Tensor? bias = None) -> Tensor"
)
def linear_dq8ca_q4gsw(
    input: Tensor,
    input_scales: Tensor,
    input_zp: Tensor,
    weights: Tensor,
    weight_sums: Tensor,
    weight_scales: Tensor,
    group_size: int,
    bias: Tensor | None = None,
) -> Tensor:
    """Like `linear_q4gsw`, but rounds each row of the input to int8 with its own scale and zero point."""
    scale, zero = (t.reshape(*input.shape[:-1], 1).to(torch.float32) for t in (input_scales, input_zp))
    rounded = torch.clamp(torch.round(input / scale) + zero, -128, 127)
    floats = ((rounded - zero) * scale).to(input.dtype)
    return linear_q4gsw(floats, weights, weight_scales, group_size, bias)


@define(
    "embedding_q4gsw(Tensor weight, Tensor weight_scales, int group_size, Tensor indices, "
    "bool is_linear_weight = False) -> Tensor"
)
def embedding_q4gsw(
    weight: Tensor, weight_scales: Tensor, group_size: int, indices: Tensor, is_linear_weight: bool = False
) -> Tensor:
    """Rows of a table with 4-bit numbers [rows, width / 2] and scales [rows, groups]. The first number of a byte is in
    its high bits, but in its low ones where the table is also the weight of a linear layer."""
    rows = nibbles(weight, not is_linear_weight)
    scales = weight_scales.reshape(-1, rows.shape[1] // group_size).expand(rows.shape[0], -1)
    return F.embedding(indices, rows.float() * scales.float().repeat_interleave(group_size, 1))
