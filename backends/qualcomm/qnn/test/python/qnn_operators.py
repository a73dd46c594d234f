# SPDX-License-Identifier: BSD-3-Clause
"""A call of each operator that QNN has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as f

from npu_models import Function


class Case(NamedTuple):
    """A model that calls an operator, and its inputs."""

    model: Callable[[], nn.Module]
    inputs: tuple[Tensor, ...]


IMAGE = torch.linspace(-2, 3, 4 * 4 * 6).reshape(1, 4, 4, 6)
ROWS = torch.linspace(-3, 3, 8).reshape(2, 4)
POSITIVE = ROWS.abs() + 0.5
FLAGS = ROWS > 0
INTEGERS = torch.arange(8, dtype=torch.int32).reshape(2, 4)
INDEX = torch.tensor([[0, 1, 1, 0]])
UNIT = ROWS / 4


def _calls(function: Any, *inputs: Tensor) -> Case:
    return Case(lambda: Function(function), inputs)


def _of_rows(*functions: Any) -> dict[str, Case]:
    return {function.__name__: _calls(function, ROWS) for function in functions}


CASES: dict[str, Case] = {
    **_of_rows(torch.abs, torch.ceil, torch.cos, torch.exp, torch.floor, torch.neg, torch.relu, torch.round),
    **_of_rows(torch.sigmoid, torch.sign, torch.sin, torch.tanh, torch.isinf, torch.isnan),
    **{n.__name__: _calls(n, POSITIVE) for n in (torch.log, torch.reciprocal, torch.rsqrt, torch.sqrt)},
    **{n.__name__: _calls(n, UNIT) for n in (torch.asin, torch.atan)},
    **_of_rows(f.elu, f.gelu, f.hardsigmoid, f.hardswish, f.hardtanh, f.leaky_relu, f.silu),
    **{
        n.__name__: _calls(n, ROWS, POSITIVE)
        for n in (torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, torch.eq, torch.ge,
                  torch.gt, torch.le, torch.lt, torch.ne)
    },
    **{n.__name__: _calls(n, INTEGERS, INTEGERS + 1) for n in (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor)},
    "floor_divide": _calls(torch.floor_divide, INTEGERS, INTEGERS + 1),
    "logical_and": _calls(torch.logical_and, FLAGS, ~FLAGS),
    "logical_not": _calls(torch.logical_not, FLAGS),
    "amax": _calls(lambda x: x.amax(-1), ROWS),
    "amin": _calls(lambda x: x.amin(-1), ROWS),
    "argmax": _calls(lambda x: x.argmax(-1), ROWS),
    "argmin": _calls(lambda x: x.argmin(-1), ROWS),
    "max.dim": _calls(lambda x: x.max(-1).values, ROWS),
    "min.dim": _calls(lambda x: x.min(-1).values, ROWS),
    "mean": _calls(lambda x: x.mean(-1), ROWS),
    "sum": _calls(lambda x: x.sum(-1), ROWS),
    "cumsum": _calls(lambda x: x.cumsum(1), ROWS),
    "topk": _calls(lambda x: x.topk(2).values, ROWS),
    "pow": _calls(torch.pow, POSITIVE, UNIT),
    "pow with a number": _calls(lambda x: x**2, ROWS),
    "add with a number": _calls(lambda x: x + 1.5, ROWS),
    "addmm": _calls(lambda x: torch.addmm(torch.ones(2), x, torch.ones(4, 2)), ROWS),
    "bmm": _calls(torch.bmm, ROWS[None], ROWS[None].mT.contiguous()),
    "matmul": _calls(torch.matmul, ROWS[None, None], ROWS.T.contiguous()[None, None]),
    "linear": Case(lambda: nn.Linear(4, 3), (ROWS,)),
    "conv1d": Case(lambda: nn.Conv1d(4, 3, 2), (IMAGE[0],)),
    "conv2d": Case(lambda: nn.Conv2d(4, 6, 3, (2, 1), (1, 0), groups=2), (IMAGE,)),
    "conv_transpose2d": Case(lambda: nn.ConvTranspose2d(4, 3, 3, 2, 1), (IMAGE,)),
    "batch_norm": Case(lambda: nn.BatchNorm2d(4), (IMAGE,)),
    "group_norm": Case(lambda: nn.GroupNorm(2, 4), (IMAGE,)),
    "instance_norm": Case(lambda: nn.InstanceNorm2d(4), (IMAGE,)),
    "layer_norm": Case(lambda: nn.LayerNorm(4), (ROWS,)),
    "rms_norm": Case(lambda: nn.RMSNorm(4, eps=1e-5), (ROWS,)),
    "prelu": Case(lambda: nn.PReLU(4), (IMAGE,)),
    "embedding": Case(lambda: nn.Embedding(4, 3), (INDEX,)),
    "softmax": _calls(lambda x: x.softmax(-1), ROWS),
    "log_softmax": _calls(lambda x: x.log_softmax(-1), ROWS),
    "adaptive_avg_pool2d": _calls(lambda x: f.adaptive_avg_pool2d(x, 2), IMAGE),
    "adaptive_max_pool2d": _calls(lambda x: f.adaptive_max_pool2d(x, 2), IMAGE),
    "avg_pool2d": _calls(lambda x: f.avg_pool2d(x, 2, ceil_mode=True), IMAGE),
    "avg_pool3d": _calls(lambda x: f.avg_pool3d(x, 2), IMAGE),
    "max_pool2d": _calls(lambda x: f.max_pool2d(x, 2), IMAGE),
    "cat": _calls(lambda a, b: torch.cat([a, b], -1), ROWS, POSITIVE),
    "stack": _calls(lambda a, b: torch.stack([a, b], -1), ROWS, POSITIVE),
    "channel_shuffle": _calls(lambda x: f.channel_shuffle(x, 2), IMAGE),
    "clamp": _calls(lambda x: x.clamp(-1, 2), ROWS),
    "constant_pad_nd": _calls(lambda x: f.pad(x, (1, 2, 3, 4), value=0.5), IMAGE),
    "expand": _calls(lambda x: x.expand(3, 4) * 2, ROWS[:1]),
    "flip": _calls(lambda x: x.flip(0), ROWS),
    "gather": _calls(lambda x: x.gather(0, INDEX), ROWS),
    "index": _calls(lambda x: x[torch.tensor([1, 0])], ROWS),
    "index_select": _calls(lambda x: x.index_select(0, torch.tensor([1, 0])), ROWS),
    "index_put": _calls(lambda x, y: x.index_put((torch.tensor([1]),), y), ROWS, POSITIVE[:1]),
    "scatter": _calls(lambda x, y: x.scatter(0, INDEX, y), ROWS, POSITIVE[:1]),
    "slice_scatter": _calls(lambda x, y: x.slice_scatter(y, 0, 1, 2), ROWS, POSITIVE[:1]),
    "grid_sampler": _calls(
        lambda x, y: f.grid_sample(x, y, align_corners=False), IMAGE, torch.linspace(-1, 1, 24).reshape(1, 3, 4, 2)
    ),
    "permute": _calls(lambda x: x.permute(0, 2, 3, 1) * 2, IMAGE),
    "pixel_shuffle": _calls(lambda x: f.pixel_shuffle(x, 2), IMAGE),
    "pixel_unshuffle": _calls(lambda x: f.pixel_unshuffle(x, 2), IMAGE),
    "repeat": _calls(lambda x: x.repeat(1, 2), ROWS),
    "reshape": _calls(lambda x: x.reshape(4, 2) * 2, ROWS),
    "select": _calls(lambda x: x.select(0, 1) * 2, ROWS),
    "slice": _calls(lambda x: x[:, 1:3] * 2, ROWS),
    "split": _calls(lambda x: x.split([1, 3], 1)[0] * 2, ROWS),
    "squeeze": _calls(lambda x: x.squeeze(0) * 2, ROWS[None]),
    "unsqueeze": _calls(lambda x: x.unsqueeze(0) * 2, ROWS),
    "to": _calls(lambda x: x.to(torch.int32) + 1, ROWS),
    "upsample_bicubic2d": _calls(lambda x: f.interpolate(x, scale_factor=2, mode="bicubic"), IMAGE),
    "upsample_bilinear2d": _calls(lambda x: f.interpolate(x, scale_factor=2, mode="bilinear"), IMAGE),
    "upsample_nearest2d": _calls(lambda x: f.interpolate(x, scale_factor=2), IMAGE),
    "where": _calls(lambda c, a, b: torch.where(c, a, b), FLAGS, ROWS, POSITIVE),
}  # fmt: skip
