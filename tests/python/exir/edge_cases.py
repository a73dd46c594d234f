# SPDX-License-Identifier: BSD-3-Clause
"""Modules and functions whose lowering is checked against eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from sdk.exir.dialects.edge._ops import EdgeOpOverload
from zoo.function import Function


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.attention(x, x, x, need_weights=False)[0]


def _image() -> torch.Tensor:
    return torch.randn(1, 3, 8, 8)


def _matrix() -> torch.Tensor:
    return torch.randn(3, 4)


CASES: dict[str, Callable[[], tuple[nn.Module, tuple[Any, ...]]]] = {
    "conv1d": lambda: (nn.Conv1d(3, 4, 3), (torch.randn(1, 3, 9),)),
    "conv2d_same": lambda: (nn.Conv2d(3, 4, 3, padding="same"), (_image(),)),
    "conv2d_reflect": lambda: (nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), (_image(),)),
    "conv2d_unbatched": lambda: (nn.Conv2d(3, 4, 3), (torch.randn(3, 8, 8),)),
    "conv_transpose2d": lambda: (nn.ConvTranspose2d(3, 4, 3), (_image(),)),
    "batch_norm": lambda: (nn.BatchNorm2d(3), (_image(),)),
    "layer_norm": lambda: (nn.LayerNorm(8), (_image(),)),
    "group_norm": lambda: (nn.GroupNorm(3, 3), (_image(),)),
    "instance_norm": lambda: (nn.InstanceNorm2d(3), (_image(),)),
    "rms_norm": lambda: (nn.RMSNorm(8), (_image(),)),
    "activations": lambda: (
        Function(lambda x: (F.gelu(x), F.silu(x), F.hardswish(x), F.mish(x), F.elu(x), F.glu(x, -1), F.selu(x))),
        (_image(),),
    ),
    "transposed_with_itself": lambda: (
        Function(
            lambda x: (x.transpose(1, 1) * 2, x.transpose(-1, 1), x[0].t() + 1, x.t(), x.sum().transpose(0, -1) + 1)
        ),
        (_matrix(),),
    ),
    "pooling": lambda: (
        Function(
            lambda x: (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1), F.avg_pool1d(x[0], 2))
        ),
        (_image(),),
    ),
    "upsampling": lambda: (
        Function(lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, size=(5, 5), mode="bilinear"))),
        (_image(),),
    ),
    "padding": lambda: (
        Function(
            lambda x: (
                F.pad(x, (1, 1)),
                F.pad(x, (1, 1, 1, 1), mode="reflect"),
                F.pad(x, (1, 1, 1, 1), mode="circular"),
                F.pad(x, (1, 0, 2, 1), mode="replicate"),
                F.pad(x[0], (2, 1), mode="reflect"),
                F.pad(x[0], (2, 1), mode="replicate"),
            )
        ),
        (_image(),),
    ),
    "attention": lambda: (Function(lambda q: F.scaled_dot_product_attention(q, q, q)), (torch.randn(1, 2, 4, 8),)),
    "attention_causal": lambda: (
        Function(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True)),
        (torch.randn(1, 2, 4, 8),),
    ),
    "multi_head_attention": lambda: (SelfAttention(), (torch.randn(1, 3, 8),)),
    "transformer_layer": lambda: (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (torch.randn(1, 3, 8),)),
    "lstm": lambda: (nn.LSTM(4, 5, num_layers=2, bidirectional=True), (torch.randn(3, 1, 4),)),
    "gru": lambda: (nn.GRU(4, 5), (torch.randn(3, 1, 4),)),
    "lstm_cell": lambda: (nn.LSTMCell(4, 5), (torch.randn(2, 4),)),
    "products": lambda: (
        Function(lambda x, y: (x @ y, torch.einsum("bij,bjk->bik", x, y), torch.baddbmm(x, x, y), F.normalize(x))),
        (torch.randn(3, 8, 8), torch.randn(3, 8, 8)),
    ),
    "views": lambda: (
        Function(
            lambda x: (
                x.view(6),
                x.t().contiguous(),
                x.flatten().unflatten(0, (3, 2)),
                x.split(1),
                x[0, 1:],
                x.expand(4, 2, 3),
                x.unbind(0),
                x.transpose(0, 1).reshape(-1),
                x.diagonal(),
                x.chunk(2, 1),
                torch.stack([x, x]).permute(2, 0, 1),
                x.detach().clone(),
                x.double().float(),
            )
        ),
        (torch.randn(2, 3),),
    ),
    "reductions": lambda: (
        Function(lambda x: (x.sum(), x.mean(-1, keepdim=True), x.var(1), x.std(), x.amax(1), x.logsumexp(1), x.norm())),
        (_matrix(),),
    ),
    "mixed_dtypes": lambda: (
        Function(lambda x, y: (x + y, x * 2, x / 2, x * 2.5, x + True, 2 - y, x // 2, y**2, torch.where(x > 0, x, y))),
        (torch.tensor([1, 2], dtype=torch.int32), torch.randn(2)),
    ),
    "indexing": lambda: (
        Function(
            lambda x, i: (x[i], x.gather(0, i[:, None]), x.index_add(0, i, x[:2]), F.one_hot(i, 4), F.embedding(i, x))
        ),
        (_matrix(), torch.tensor([0, 2])),
    ),
    "in_place": lambda: (Function(lambda x: F.relu((x + 1).mul_(2).add_(x), inplace=True)), (torch.randn(3),)),
    "write_through_select": lambda: (Function(_write_column), (_matrix(),)),
    "write_through_chain": lambda: (Function(_write_chain), (_matrix(),)),
    "write_to_base_of_view": lambda: (Function(_write_base), (_matrix(),)),
    "write_in_region": lambda: (Function(_write_then_read_region), (torch.randn(2),)),
    "in_place_on_flattened": lambda: (
        nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Dropout(inplace=True), nn.ReLU(inplace=True)),
        (_image(),),
    ),
    "narrow": lambda: (Function(lambda x: (x.narrow(0, 1, 2), x.narrow(1, -2, 2))), (_matrix(),)),
    "narrow_to_nothing": lambda: (Function(lambda x: (x.narrow(0, 0, 0), x.narrow(1, -2, 0))), (_matrix(),)),
    "no_grad_region": lambda: (Function(_no_grad_region), (torch.randn(2),)),
    "nested_outputs": lambda: (Function(lambda x: {"a": [x + 1, None], "b": (x, x * 2)}), (torch.randn(2),)),
    "channels_last": lambda: (
        Function(lambda x: x.to(memory_format=torch.channels_last) + 1),
        (_image(),),
    ),
}


def _write_column(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, 0] = 1.0
    return y


def _write_chain(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x + 1
    row = y[1]
    row[1:3].mul_(10.0)
    return y * 2, row + 1


def _write_base(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x + 1
    view = y.view(-1)
    y.add_(5.0)
    return view * 2, y


def _no_grad_region(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x * 2
    return y + 1


class Cache(nn.Module):
    """A buffer that is partly overwritten at a position which is part of the input."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.ones(1, 8, 4))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        start = position.item()
        torch._check(start >= 0)
        torch._check(start < 8)
        self.keys.narrow(1, start, 1).copy_(x)
        return self.keys * 2


def _write_then_read_region(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x + 1
    with torch.no_grad():
        z = y
    z.add_(3.0)
    return y * 2, z


def targets(program):
    """The ATen operators that a program calls, in order."""
    found = [n.target for n in program.graph.nodes if n.op == "call_function"]
    return [t._op if isinstance(t, EdgeOpOverload) else t for t in found]
