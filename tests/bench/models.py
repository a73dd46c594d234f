# SPDX-License-Identifier: BSD-3-Clause
"""The models that are measured, at the sizes in which they are used."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.language import Decoder
from zoo.sequence import LastStep
from zoo.vision import VisionTransformer

MODELS = {
    "MobileNetV2": "examples/mobilenet_v2/model.py:mobilenet_v2",
    "ResNet18": "bench:resnet18",
    "ViT-tiny": "bench:vit_tiny",
    "MiniLM": "examples/minilm/model.py:sentence_encoder",
    "LSTM 2x50": "bench:lstm",
    "MLP": "bench:mlp",
    "KV decoder": "bench:decoder",
}
"""Label to what `load_model` takes."""

Made = tuple[nn.Module, tuple[Tensor, ...]]


class BasicBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.skip = nn.Sequential()
        if stride > 1 or inputs != outputs:
            self.skip = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
        return self.relu(y + self.skip(x))


def resnet18() -> Made:
    """He et al., 2015 (arXiv:1512.03385, table 1): 18 layers, 11.7 million weights."""
    channels, layers = 64, []
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [BasicBlock(channels, outputs, stride), BasicBlock(outputs, outputs, 1)]
        channels = outputs
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    return nn.Sequential(*stem, *layers, *head), (torch.randn(1, 3, 224, 224),)


def vit_tiny() -> Made:
    """Touvron et al., 2020 (arXiv:2012.12877, table 1), DeiT-Ti: 5.7 million weights."""
    model = VisionTransformer(dim=192, depth=12, heads=3, size=224, patch=16, classes=1000)
    return model, (torch.randn(1, 3, 224, 224),)


def lstm() -> Made:
    """Two layers over 50 steps, unrolled by the export."""
    return LastStep(nn.LSTM(64, 128, num_layers=2, batch_first=True)), (torch.randn(1, 50, 64),)


def mlp() -> Made:
    """Three layers on a batch of 32 images of digits: 0.7 million weights."""
    layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
    return nn.Sequential(*layers), (torch.randn(32, 784),)


def decoder() -> Made:
    """One token through six layers with a cache of 256 positions: 13 million weights."""
    model = Decoder(depth=6, width=288, heads=6, context=256, words=16000)
    return model, (torch.tensor([[3]]), torch.tensor([0]))
