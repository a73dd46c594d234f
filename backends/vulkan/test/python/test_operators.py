# SPDX-License-Identifier: BSD-3-Clause
"""Operators lowered for Vulkan, run by their definitions in PyTorch, against the model in eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lowered
import pytest
import torch
from torch.nn import functional as F

x = torch.linspace(-2, 2, 2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
y = torch.linspace(0.5, 3, 5)
i = torch.arange(-3, 9, dtype=torch.int32).reshape(3, 4)
b = i > 1
weight = torch.linspace(-1, 1, 35).reshape(7, 5)

# The operators that are called, the function, its inputs.
CALLS: list[tuple[str, Callable[..., Any], tuple[torch.Tensor, ...]]] = [
    ("abs", torch.abs, (x,)),
    ("cos", torch.cos, (x,)),
    ("exp", torch.exp, (x,)),
    ("gelu", F.gelu, (x,)),
    ("gelu", lambda a: F.gelu(a, approximate="tanh"), (x,)),
    ("where", F.hardshrink, (x,)),
    ("hardswish", F.hardswish, (x * 3,)),
    ("hardtanh", lambda a: F.hardtanh(a, -0.5, 0.25), (x,)),
    ("hardtanh", F.relu6, (x,)),
    ("neg", torch.neg, (x,)),
    ("relu", F.relu, (x,)),
    ("sigmoid", torch.sigmoid, (x,)),
    ("sin", torch.sin, (x,)),
    ("sqrt", torch.sqrt, (x.abs(),)),
    ("rsqrt", torch.rsqrt, (x.abs() + 0.1,)),
    ("tanh", torch.tanh, (x,)),
    ("round", torch.round, (x * 3,)),
    ("leaky_relu", lambda a: F.leaky_relu(a, 0.2), (x,)),
    ("floor", torch.floor, (x * 3,)),
    ("ceil", torch.ceil, (x * 3,)),
    ("trunc", torch.trunc, (x * 3,)),
    ("log", torch.log, (x.abs() + 0.1,)),
    ("reciprocal", torch.reciprocal, (y,)),
    ("erf", torch.erf, (x,)),
    ("tan", torch.tan, (x * 0.5,)),
    ("clamp", F.hardsigmoid, (x * 3,)),
    ("sigmoid", F.silu, (x,)),
    ("elu", F.elu, (x,)),
    ("sign", torch.sign, (x,)),
    ("sign", torch.sign, (i,)),
    ("maximum", torch.maximum, (x, y)),
    ("ne.Tensor", torch.ne, (i, i.flip(0))),
    ("bitwise_xor", torch.bitwise_xor, (b, ~b)),
    ("any.dim", lambda a: a.any(1), (b,)),
    ("any", lambda a: a.any(), (b,)),
    ("var", lambda a: a.var(-1), (x,)),
    ("var", lambda a: a.var((1, 2), correction=0, keepdim=True), (x,)),
    ("_adaptive_avg_pool2d", lambda a: F.adaptive_avg_pool2d(a, (2, 5)), (x,)),
    ("view_copy", lambda a: F.pixel_unshuffle(a[:, :, :, :4], 2), (x,)),
    ("clamp", lambda a: torch.clamp(a, -1, 0.5), (x,)),
    ("clamp", lambda a: torch.clamp(a, min=0), (i,)),
    ("clamp", lambda a: torch.clamp(a, max=2), (i.long(),)),
    ("add", lambda a, c: a + c, (x, y)),
    ("add", lambda a, c: torch.add(a, c, alpha=2), (x, x)),
    ("add", lambda a: a + 1.5, (x,)),
    ("add", lambda a, c: a + c, (i, i.long())),
    ("_to_copy", lambda a, c: a + c, (x, i[:, :, None])),
    ("sub", lambda a, c: a - c, (x, y)),
    ("mul", lambda a: a * 3, (x,)),
    ("mul", lambda a, c: a * c, (i, i)),
    ("div", lambda a, c: a / c, (x, y)),
    ("div", lambda a: a / 4, (i,)),
    ("div.Tensor_mode", lambda a, c: torch.div(a, c, rounding_mode="floor"), (x, y)),
    ("minimum", torch.minimum, (x, y)),
    ("pow.Tensor_Tensor", torch.pow, (x.abs(), y)),
    ("pow.Tensor_Scalar", lambda a: a**2.5, (x.abs(),)),
    ("eq.Tensor", torch.eq, (i, i.flip(0))),
    ("lt.Tensor", torch.lt, (x, y)),
    ("le.Tensor", torch.le, (x, y)),
    ("gt.Tensor", torch.gt, (x, y)),
    ("ge.Tensor", torch.ge, (x, y)),
    ("eq.Scalar", lambda a: a == 2, (i,)),
    ("ne.Scalar", lambda a: a != 2, (i,)),
    ("lt.Scalar", lambda a: a < 0.5, (x,)),
    ("le.Scalar", lambda a: a <= 0.5, (x,)),
    ("ge.Scalar", lambda a: a >= 0.5, (x,)),
    ("gt.Scalar", lambda a: a > 0.5, (x,)),
    ("bitwise_and", torch.bitwise_and, (b, ~b)),
    ("bitwise_or", torch.bitwise_or, (b, ~b)),
    ("bitwise_not", torch.bitwise_not, (b,)),
    ("logical_and", torch.logical_and, (b, ~b)),
    ("logical_or", torch.logical_or, (b, ~b)),
    ("logical_not", torch.logical_not, (b,)),
    ("where", lambda c, p, q: torch.where(c, p, q), (x > 0, x, y)),
    ("where", lambda p: torch.where(p > 0, p, 2.0), (x,)),
    ("_to_copy", lambda a: a.to(torch.int32), (x,)),
    ("_to_copy", lambda a: a.to(torch.float32), (b,)),
    ("_to_copy", lambda a: a.half(), (x,)),
    ("_softmax", lambda a: torch.softmax(a, -1), (x,)),
    ("_softmax", lambda a: torch.softmax(a, 1), (x,)),
    ("_log_softmax", lambda a: torch.log_softmax(a, -1), (x,)),
    ("bmm", torch.bmm, (x[0], x[0].transpose(1, 2))),
    ("bmm", torch.matmul, (x, x.transpose(2, 3))),
    ("mm", torch.mm, (x[0, 0], x[0, 1].t())),
    ("linear", lambda a: F.linear(a, weight, y[:1].expand(7)), (x,)),
    ("linear", lambda a: F.linear(a, weight), (x[0, 0],)),
    ("mm", lambda a, w: F.linear(a, w), (x, weight)),
    ("mean.dim", lambda a: a.mean((2, 3), True), (x,)),
    ("mean.dim", lambda a: a.mean(-1), (x,)),
    ("mean.dim", lambda a: a.mean((2, 3)), (x,)),
    ("sum.dim_IntList", lambda a: a.sum(1), (x,)),
    ("sum.dim_IntList", lambda a: a.sum(), (x,)),
    ("amax", lambda a: a.amax((0, 2)), (x,)),
    ("amin", lambda a: a.amin(-1, True), (x,)),
    ("argmax", lambda a: a.argmax(-1), (x,)),
    ("argmax", lambda a: a.argmax(1, True), (x,)),
    ("argmin", lambda a: a.argmin(), (x,)),
    ("argmin", lambda a: a.argmin(0), (x,)),
    ("avg_pool2d", lambda a: F.avg_pool2d(a, 2, 1, 1, count_include_pad=False), (x,)),
    ("max_pool2d_with_indices", lambda a: F.max_pool2d(a, 3, 2, 1), (x,)),
    ("convolution", lambda a: F.conv2d(a, x.flip(0)[:, :, :3, :3] * 0.3, None, 1, 1), (x[:1],)),
    ("convolution", lambda a: F.conv2d(a, x[0, :, None, :3, :3], y[:3], 2, 1, 1, 3), (x[:1],)),
    ("convolution", lambda a: F.conv_transpose2d(a, x[0, :, None, :3, :3], y[:3], 2, 1, 1, 3), (x[:1],)),
    ("convolution", lambda a: F.conv1d(a, x[:, 0, :4, :3], y[:2], 1, 1), (x[0],)),
    ("upsample_nearest2d.vec", lambda a: F.interpolate(a, scale_factor=2), (x,)),
    ("upsample_bilinear2d.vec", lambda a: F.interpolate(a, (7, 9), mode="bilinear"), (x,)),
    ("pixel_shuffle", lambda a: F.pixel_shuffle(a.reshape(1, 12, 2, 5), 2), (x,)),
    (
        "grid_sampler_2d",
        lambda a, g: F.grid_sample(a, g, padding_mode="border", align_corners=True),
        (x, x[:, :2, :, :2].tanh()),
    ),
    ("native_group_norm", lambda a: F.group_norm(a.reshape(2, 6, 2, 5), 3, torch.ones(6), torch.zeros(6)), (x,)),
    ("native_layer_norm", lambda a: F.layer_norm(a, (5,), y, y), (x,)),
    ("permute_copy", lambda a: a.permute(0, 2, 3, 1), (x,)),
    ("view_copy", lambda a: a.reshape(6, 20), (x,)),
    ("squeeze_copy", lambda a: a[:, :1].squeeze(1) * 2, (x,)),
    ("unsqueeze_copy", lambda a: a.unsqueeze(2), (x[0],)),
    ("gather", lambda a, n: a.gather(1, n), (x[0, 0], i.abs().long()[:, :3] % 5)),
    ("select_copy", lambda a: a.select(1, 2), (x,)),
    ("slice_copy", lambda a: a[:, 1:, ::2], (x,)),
    ("split_with_sizes_copy", lambda a: a.split([1, 3], 2), (x,)),
    ("expand_copy", lambda a: a.expand(3, 4, 5), (x[0, :, :1],)),
    ("cat", lambda a, c: torch.cat((a, c, a), 1), (x, x[:, :1])),
    ("flip", lambda a: a.flip(1, 3), (x,)),
    ("index_select", lambda a: a.index_select(1, torch.tensor([2, 0])), (x,)),
    ("index.Tensor", lambda a, n: a[n], (y, i.abs().long() % 5)),
    ("constant_pad_nd", lambda a: F.pad(a, (1, 2, 0, 1), value=0.5), (x,)),
    ("repeat", lambda a: a.repeat(1, 2, 1, 3), (x,)),
    ("add", lambda a: a + torch.full((5,), 2.0), (x,)),
    ("full_like", lambda a: a + torch.full_like(a, 0.5), (x,)),
    ("embedding", lambda n: F.embedding(n, weight), (i.abs().long() % 7,)),
    ("embedding", lambda n: F.embedding(n, weight), (i.abs() % 7,)),
    ("rms_norm", lambda a: F.rms_norm(a, (5,), y, 1e-5), (x,)),
    ("bmm", lambda a: F.scaled_dot_product_attention(a, a, a), (x,)),
    ("bmm", lambda a: F.scaled_dot_product_attention(a, a, a, is_causal=True), (x,)),
    ("bmm", lambda a: F.scaled_dot_product_attention(a, a, a, scale=0.3), (x[0],)),
    ("where", lambda a, m: F.scaled_dot_product_attention(a, a, a, m), (x, torch.eye(4, dtype=torch.bool))),
    ("amax", lambda a, m: F.scaled_dot_product_attention(a, a, a, m), (x, torch.zeros(4, 4, dtype=torch.bool))),
    ("add", lambda a, m: F.scaled_dot_product_attention(a, a, a, m), (x, x[0, 0, :, :4])),
]


@torch.no_grad()
def grid_priors(a: torch.Tensor) -> torch.Tensor:
    return torch.ops.et_vk.grid_priors(a, 8, 0.5)


CALLS.append(("grid_priors", grid_priors, (x,)))


class Calls(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


IDS = [f"{number}-{name}" for number, (name, _, _) in enumerate(CALLS)]


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "function", "inputs"), CALLS, ids=IDS)
def test_operator(name: str, function: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> None:
    """Each operator is delegated whole and gives eager's result (VK-04, VK-05)."""
    program = lowered.lower(Calls(function), inputs)
    assert lowered.left(program) == {}
    assert any(name in call for call in lowered.names(program)), lowered.names(program)
    lowered.check(program, Calls(function), inputs)


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "function", "inputs"), CALLS[::3], ids=IDS[::3])
def test_operator_in_half(name: str, function: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> None:
    """With force_fp16, floats are float16 inside and float32 outside (VK-02)."""
    program = lowered.lower(Calls(function), inputs, compile_options={"force_fp16": True})
    for runner in lowered.runners(program):
        tensors = [v.value for v in runner.graph.values if isinstance(v.value, lowered.schema.VkTensor)]
        assert all(tensor.datatype != lowered.schema.VkDataType.FLOAT32 for tensor in tensors)
    lowered.check(program, Calls(function), inputs, tolerance=2e-2)


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "function", "inputs"), CALLS[1::3], ids=IDS[1::3])
def test_compatible_operator(name: str, function: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> None:
    """Calls that the original's runtime does not support stay outside with a reason; the results are eager's."""
    program = lowered.lower(Calls(function), inputs, compile_options={"compat": "1.4"})
    assert all(lowered.left(program).values())
    lowered.check(program, Calls(function), inputs)
