# SPDX-License-Identifier: BSD-3-Clause
"""Operators and models that Vela compiles for an Ethos-U55 and U65."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from arm_lowering import Call
from torch import Tensor, nn

from person_detection import SHAPE, PersonDetection

Model = tuple[nn.Module, tuple[Tensor, ...]]


def _of(function: Any, *shapes: tuple[int, ...], scale: float = 1.0) -> Callable[[], Model]:
    module = function if isinstance(function, nn.Module) else Call(function)
    return lambda: (module, tuple(torch.randn(shape) * scale for shape in shapes))


OPERATORS: dict[str, Callable[[], Model]] = {
    "convolution": _of(nn.Conv2d(3, 8, 3), (1, 3, 9, 9)),
    "pointwise": _of(nn.Conv2d(16, 24, 1), (1, 16, 5, 7)),
    "strided": _of(nn.Conv2d(40, 70, 3, padding=1, stride=2), (1, 40, 11, 9)),
    "dilated": _of(nn.Conv2d(4, 8, 3, dilation=2), (1, 4, 11, 9)),
    "wide": _of(nn.Conv2d(33, 17, (1, 9), padding=(0, 4)), (1, 33, 3, 20)),
    "large": _of(nn.Conv2d(2, 3, 11, padding=5), (1, 2, 13, 12)),
    "one_dimension": _of(nn.Conv1d(6, 8, 3, padding=1), (1, 6, 12)),
    "depthwise_of_one_dimension": _of(nn.Conv1d(6, 6, 3, groups=6), (1, 6, 12)),
    "grouped": _of(nn.Conv2d(8, 12, 3, groups=2), (1, 8, 7, 7)),
    "depthwise": _of(nn.Conv2d(16, 16, 3, groups=16, padding=1), (1, 16, 8, 8)),
    "depthwise_strided": _of(nn.Conv2d(20, 20, 5, groups=20, stride=2), (1, 20, 11, 11)),
    "linear": _of(nn.Linear(20, 30), (4, 20)),
    "linear_without_bias": _of(nn.Linear(130, 7, bias=False), (1, 130)),
    "relu": _of(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()), (1, 3, 9, 9)),
    "relu6": _of(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU6()), (1, 3, 9, 9)),
    "max_pool": _of(nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(3, 2, 1)), (1, 3, 10, 10)),
    "avg_pool": _of(nn.Sequential(nn.Conv2d(3, 8, 3), nn.AvgPool2d(3)), (1, 3, 11, 11)),
    "avg_pool_padded": _of(
        nn.Sequential(nn.Conv2d(3, 8, 3), nn.AvgPool2d(3, 2, 1, count_include_pad=False)), (1, 3, 11, 11)
    ),
    "adaptive_pool": _of(nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1)), (1, 3, 11, 11)),
    "transposed": _of(nn.ConvTranspose2d(4, 6, 3, stride=2), (1, 4, 5, 5)),
    "upsample": _of(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Upsample(scale_factor=2)), (1, 3, 7, 7)),
    "add": _of(lambda a, b: a + 3 * b, (1, 8, 5, 5), (1, 8, 5, 5)),
    "add_broadcast": _of(lambda a, b: a + b, (1, 8, 5, 5), (1, 8, 1, 5)),
    "add_number": _of(lambda a: a + 1.5, (2, 3, 4)),
    "sub": _of(lambda a, b: 4 * a - b, (1, 8, 5, 5), (1, 8, 1, 1)),
    "sub_reversed": _of(lambda a, b: b - a, (1, 8, 5, 5), (1, 1, 5, 1)),
    "sub_from_a_number": _of(lambda a: 1.5 - a, (2, 3, 4, 2, 16)),
    "sub_from_one_element": _of(lambda a, b: b - a, (2, 3, 4, 2, 16), (1, 1, 1, 1, 1)),
    "mul": _of(lambda a, b: a * b, (1, 8, 5, 5), (1, 8, 5, 5)),
    "mul_number": _of(lambda a: a * 0.3, (1, 8, 5, 5)),
    "mul_broadcast": _of(lambda a, b: a * b, (2, 6, 16), (2, 6, 1)),
    "maximum": _of(torch.maximum, (1, 8, 5, 6), (1, 8, 5, 6)),
    "minimum": _of(torch.minimum, (1, 8, 5, 6), (1, 8, 5, 6), scale=2.0),
    "abs": _of(torch.abs, (1, 8, 5, 6)),
    "neg": _of(lambda x: -x, (3, 17)),
    "clamp": _of(lambda x: x.clamp(-0.5, 1.0), (3, 17)),
    "sigmoid": _of(torch.sigmoid, (1, 8, 5, 5), scale=3.0),
    "tanh": _of(torch.tanh, (1, 8, 5, 5)),
    "exp": _of(torch.exp, (1, 8, 5)),
    "gelu": _of(F.gelu, (4, 33)),
    "silu": _of(F.silu, (4, 33)),
    "leaky_relu": _of(nn.LeakyReLU(0.1), (1, 8, 5, 5)),
    "hardswish": _of(nn.Hardswish(), (1, 8, 5, 5), scale=3.0),
    "elu": _of(nn.ELU(), (5, 9)),
    "rsqrt": _of(lambda x: torch.rsqrt(x * x + 0.1), (2, 6, 16)),
    "softmax": _of(lambda x: F.softmax(x, -1), (1, 8, 5, 10)),
    "softmax_of_long_rows": _of(lambda x: F.softmax(x, -1), (2, 3, 80)),
    "softmax_of_five_dimensions": _of(lambda x: F.softmax(x, -1), (8, 1, 4, 1, 16)),
    "softmax_of_five_sizes": _of(lambda x: F.softmax(x, -1), (2, 3, 2, 4, 16)),
    "softmax_of_many_rows": _of(lambda x: F.softmax(x, -1), (32, 16)),
    "softmax_of_short_rows": _of(lambda x: F.softmax(x, -1), (64, 8)),
    "softmax_of_one_row": _of(lambda x: F.softmax(x, -1), (16,)),
    "softmax_of_two": _of(lambda x: F.softmax(x, -1), (3, 2)),
    "log_softmax": _of(lambda x: F.log_softmax(x, -1), (3, 10)),
    "layer_norm": _of(nn.LayerNorm(16), (2, 6, 16)),
    "layer_norm_of_five_dimensions": _of(nn.LayerNorm(16), (2, 3, 4, 2, 16)),
    "mean": _of(lambda x: x.mean((2, 3)), (1, 8, 5, 10)),
    "mean_last": _of(lambda x: x.mean(-1, keepdim=True), (2, 6, 16)),
    "mean_of_a_sequence": _of(lambda x: x.mean(1), (2, 6, 16)),
    "mean_of_columns": _of(nn.Sequential(nn.Conv2d(3, 8, 3), Call(lambda x: x.mean(3))), (1, 3, 9, 12)),
    "mean_of_a_large_image": _of(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.AdaptiveAvgPool2d(1)), (1, 3, 67, 9)),
    "sum": _of(lambda x: x.sum(-1), (1, 8, 5, 10)),
    "sum_of_a_sequence": _of(lambda x: x.sum(1), (1, 65, 7)),
    "cat": _of(lambda a, b: torch.cat([a, b], 1), (1, 8, 5, 5), (1, 3, 5, 5)),
    "permute": _of(lambda x: x.permute(0, 2, 3, 1) + 1, (1, 8, 5, 6)),
    "reshape": _of(lambda x: (x + 1).reshape(4, 10), (1, 8, 5)),
    "slice": _of(lambda x: x[:, 1:6:2] * 2, (1, 8, 5, 4)),
    "slice_of_batches": _of(lambda x: (x + 1)[:, :, 1:4] * 2, (4, 5, 6, 7)),
    "pad": _of(lambda x: F.pad(x * 2, (1, 2, 0, 1)), (1, 3, 4, 5)),
    "expand": _of(lambda x: x.expand(1, 6, 5) * 2, (1, 1, 5)),
    "bmm": _of(torch.bmm, (2, 4, 8), (2, 8, 5)),
    "depthwise_multiplied": _of(nn.Conv2d(6, 12, 3, groups=6, padding=1), (1, 6, 9, 7)),
    "depthwise_dilated": _of(nn.Conv2d(9, 9, 3, groups=9, dilation=2), (1, 9, 9, 8)),
    "batch_of_two": _of(nn.Conv2d(3, 8, 3, padding=1), (2, 3, 6, 5)),
    "batch_norm": _of(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()), (1, 3, 9, 9)),
    "linear_of_three_dimensions": _of(nn.Linear(24, 17), (2, 5, 24)),
    "max_pool_alone": _of(nn.MaxPool2d(2), (1, 8, 10, 10)),
    "relu_alone": _of(F.relu, (1, 8, 5, 6)),
    "hardtanh": _of(nn.Hardtanh(-0.7, 0.9), (1, 8, 5, 6)),
    "hardsigmoid": _of(nn.Hardsigmoid(), (1, 8, 5, 6), scale=3.0),
    "square": _of(lambda x: x * x, (3, 17)),
    "softplus": _of(F.softplus, (4, 33)),
    "stack": _of(lambda a, b: torch.stack([a, 2 * b], 1), (2, 5, 6), (2, 5, 6)),
    "transpose": _of(lambda x: (x + 1).transpose(1, 2), (2, 5, 8)),
    "transpose_of_rows": _of(lambda x: (x + 1).transpose(1, 2), (1, 16, 70)),
    "transpose_of_an_image": _of(lambda x: (x + 1).permute(0, 2, 3, 1), (1, 3, 40, 50)),
    "repeat": _of(lambda x: (x * 2).repeat(1, 2, 1), (1, 4, 6)),
    "split": _of(lambda x: torch.add(*(x + 1).split(3, 1)), (1, 6, 5)),
    "pixel_shuffle": _of(lambda x: F.pixel_shuffle(x * 2, 2), (1, 8, 3, 4)),
}

ONLY_8_BITS = ("transposed", "hardswish", "bmm", "exp", "hardsigmoid", "layer_norm_of_five_dimensions")
"""Models that have no delegate with int16 activations, or one that Vela cannot compile."""


class InvertedResidual(nn.Sequential):
    """A block of MobileNetV2."""

    def __init__(self, channels: int) -> None:
        wide = 6 * channels
        super().__init__(
            nn.Conv2d(channels, wide, 1),
            nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide),
            nn.ReLU6(),
            nn.Conv2d(wide, channels, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + super().forward(x)


def _transformer() -> Model:
    block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, activation="relu", batch_first=True)
    return block, (torch.randn(1, 6, 16),)


def _mobilenet_v2() -> Model:
    """Full width and depth, for images of 64 x 64."""
    from examples.mobilenet_v2.model import mobilenet_v2

    return mobilenet_v2().eval(), (torch.randn(1, 3, 64, 64),)


MODELS: dict[str, Callable[[], Model]] = {
    "mobile": _of(
        nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU6(), InvertedResidual(16), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(16, 10),
        ),
        (1, 3, 32, 32),
    ),
    "keywords": _of(
        nn.Sequential(
            nn.Conv2d(1, 16, (10, 4), stride=2, padding=(5, 1)), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.ReLU(), nn.Conv2d(16, 16, 1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 12), nn.Softmax(-1),
        ),
        (1, 1, 49, 10),
    ),
    "transformer": _transformer,
}  # fmt: skip

LARGE_MODELS: dict[str, Callable[[], Model]] = {
    "person_detection": lambda: (PersonDetection(), (torch.randn(SHAPE),)),
    "mobilenet_v2": _mobilenet_v2,
}
