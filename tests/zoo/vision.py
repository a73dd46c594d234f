# SPDX-License-Identifier: BSD-3-Clause
"""Convolutional networks and a vision transformer."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.case import Method, case


class ConvBlock(nn.Sequential):
    """Convolution, batch norm with non-trivial statistics, activation."""

    def __init__(self, inp: int, out: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> None:
        norm = nn.BatchNorm2d(out)
        nn.init.uniform_(norm.running_mean, -0.2, 0.2)
        nn.init.uniform_(norm.running_var, 0.5, 1.5)
        super().__init__(
            nn.Conv2d(inp, out, kernel, stride, kernel // 2, groups=groups, bias=False), norm, nn.ReLU6(inplace=True)
        )


class Residual(nn.Module):
    def __init__(self, inp: int, out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(ConvBlock(inp, out, 3, stride), nn.Conv2d(out, out, 3, padding=1))
        self.skip = nn.Conv2d(inp, out, 1, stride) if stride > 1 or inp != out else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.body(x) + self.skip(x))


class InvertedResidual(nn.Module):
    """The MobileNetV2 block: expand, depthwise, project (Sandler et al., 2018)."""

    def __init__(self, inp: int, out: int, stride: int, expand: int) -> None:
        super().__init__()
        hidden = inp * expand
        layers: list[nn.Module] = [ConvBlock(inp, hidden, 1)] if expand != 1 else []
        layers += [
            ConvBlock(hidden, hidden, 3, stride, groups=hidden),
            nn.Conv2d(hidden, out, 1, bias=False),
            nn.BatchNorm2d(out),
        ]
        self.body = nn.Sequential(*layers)
        self.residual = stride == 1 and inp == out

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) if self.residual else self.body(x)


class UNet(nn.Module):
    """Down, up and skip connections: pooling, transposed convolution, bilinear and nearest upsampling, cat."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.down = ConvBlock(3, 8), ConvBlock(8, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.leave = nn.Conv2d(24, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        high = self.enter(x)
        low = self.down(F.max_pool2d(high, 2))
        smooth = F.interpolate(low, scale_factor=2, mode="bilinear", align_corners=False)[:, :8]
        coarse = F.interpolate(low, scale_factor=2, mode="nearest")[:, 8:]
        return self.leave(torch.cat([self.up(low) + smooth, high, coarse], dim=1))


class SeparableConvs(nn.Module):
    """One-, two- and three-dimensional convolutions with groups, dilation and uneven strides."""

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Conv1d(4, 8, 5, padding=2, groups=2)
        self.plane = nn.Conv2d(2, 6, (3, 5), stride=(1, 2), padding=(2, 4), dilation=2, bias=False)
        self.volume = nn.Conv3d(1, 3, 3, padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        line = torch.tanh(self.line(x))
        plane = F.leaky_relu(self.plane(line.view(1, 2, 4, -1)))
        return line, plane, F.elu(self.volume(plane.unsqueeze(1)))


class PatchEmbed(nn.Module):
    def __init__(self, dim: int, patch: int, tokens: int) -> None:
        super().__init__()
        self.project = nn.Conv2d(3, dim, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, dim))
        self.position = nn.Parameter(torch.randn(1, tokens + 1, dim) * 0.02)

    def forward(self, x: Tensor) -> Tensor:
        x = self.project(x).flatten(2).transpose(1, 2)
        return torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.position


class VisionTransformer(nn.Module):
    def __init__(
        self, dim: int = 48, depth: int = 2, heads: int = 3, size: int = 32, patch: int = 8, classes: int = 10
    ) -> None:
        super().__init__()
        self.embed = PatchEmbed(dim, patch, (size // patch) ** 2)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm1": nn.LayerNorm(dim),
                    "attention": nn.MultiheadAttention(dim, heads, batch_first=True),
                    "norm2": nn.LayerNorm(dim),
                    "mlp": nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)),
                }
            )
            for _ in range(depth)
        )
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        for block in self.blocks:
            y = block["norm1"](x)
            x = x + block["attention"](y, y, y, need_weights=False)[0]
            x = x + block["mlp"](block["norm2"](x))
        return self.head(self.norm(x)[:, 0])


def images(count: int, size: int, channels: int = 3) -> list[tuple[Tensor]]:
    return [(torch.randn(1, channels, size, size),) for _ in range(count)]


@case
def resnet() -> Method:
    model = nn.Sequential(
        ConvBlock(3, 8, 7, 2), nn.MaxPool2d(3, 2, 1), Residual(8, 8, 1), Residual(8, 16, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10), nn.Softmax(dim=-1),
    )  # fmt: skip
    return Method(model, images(2, 32))


@case
def mobilenet() -> Method:
    model = nn.Sequential(
        ConvBlock(3, 8, 3, 2),
        InvertedResidual(8, 8, 1, 1), InvertedResidual(8, 16, 2, 6), InvertedResidual(16, 16, 1, 6),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(16, 10),
    )  # fmt: skip
    return Method(model, images(2, 32))


@case
def unet() -> Method:
    return Method(UNet(), images(2, 16))


@case
def convs_1d_2d_3d() -> Method:
    return Method(SeparableConvs(), [(torch.randn(1, 4, 12),), (torch.randn(1, 4, 12),)])


@case
def autoencoder() -> Method:
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, 2, 1), nn.GroupNorm(2, 4), nn.SiLU(), nn.Conv2d(4, 8, 3, 2, 1), nn.Hardswish(),
        nn.ConvTranspose2d(8, 4, 3, 2, 1, output_padding=1), nn.Hardsigmoid(), nn.AvgPool2d(2), nn.PixelShuffle(2),
    )  # fmt: skip
    return Method(model, images(2, 16, channels=1))


@case
def vit() -> Method:
    return Method(VisionTransformer(), images(2, 32))
