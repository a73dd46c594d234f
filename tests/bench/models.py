# SPDX-License-Identifier: BSD-3-Clause
"""The models that are measured, at realistic sizes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.worker import load_model
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
"""For each label, the argument of `load_model`."""

PEER_MODELS = {
    "MobileNetV2": MODELS["MobileNetV2"],
    "ResNet18": MODELS["ResNet18"],
    "ResNet50": "bench:resnet50",
    "ViT-tiny": MODELS["ViT-tiny"],
    "MiniLM, 128 tokens": "bench:minilm_128",
    "decoder, prefill 64": "bench:decoder_prefill",
    "decoder, one token": "bench:decoder",
    "MLP, batch of 32": "bench:mlp",
    "LSTM 2x50": MODELS["LSTM 2x50"],
    "speech detector": "bench:speech_detector",
}
"""The models that `scripts/bench --peers` measures."""

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


class Product(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a @ b


def matmul_512() -> Made:
    """Two square matrices: 268 million multiplications."""
    return Product(), (torch.randn(512, 512), torch.randn(512, 512))


def resnet18() -> Made:
    """He et al., 2015 (arXiv:1512.03385, table 1): 18 layers, 11.7 million weights."""
    channels, layers = 64, []
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [BasicBlock(channels, outputs, stride), BasicBlock(outputs, outputs, 1)]
        channels = outputs
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    return nn.Sequential(*stem, *layers, *head), (torch.randn(1, 3, 224, 224),)


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            *(nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)),
            *(nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)),
            *(nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)),
        )
        self.relu = nn.ReLU(inplace=True)
        self.skip = nn.Sequential()
        if stride > 1 or inputs != outputs:
            self.skip = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.body(x) + self.skip(x))


def resnet50() -> Made:
    """He et al., 2015 (arXiv:1512.03385, table 1), with the stride in the 3x3: 50 layers, 25.6 million weights."""
    channels, layers = 64, []
    for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for index in range(depth):
            layers.append(Bottleneck(channels, width, stride if index == 0 else 1))
            channels = 4 * width
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)]
    return nn.Sequential(*stem, *layers, *head), (torch.randn(1, 3, 224, 224),)


def vit_tiny() -> Made:
    """Touvron et al., 2020 (arXiv:2012.12877, table 1), DeiT-Ti: 5.7 million weights."""
    model = VisionTransformer(dim=192, depth=12, heads=3, size=224, patch=16, classes=1000)
    return model, (torch.randn(1, 3, 224, 224),)


def minilm_128() -> Made:
    """The trained sentence encoder on 128 tokens without padding."""
    model, _ = load_model(MODELS["MiniLM"])
    return model, (torch.randint(1000, 20000, (1, 128)), torch.ones(1, 128, dtype=torch.long))


def lstm() -> Made:
    """Two layers over 50 steps, unrolled by the export."""
    return LastStep(nn.LSTM(64, 128, num_layers=2, batch_first=True)), (torch.randn(1, 50, 64),)


def mlp() -> Made:
    """Three layers on a batch of 32 images of digits: 0.7 million weights."""
    layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
    return nn.Sequential(*layers), (torch.randn(32, 784),)


def decoder() -> Made:
    """One token through six layers with a cache of 256 positions; the model has 13 million weights."""
    model = Decoder(depth=6, width=288, heads=6, context=256, words=16000)
    return model, (torch.tensor([[3]]), torch.tensor([0]))


def decoder_prefill() -> Made:
    """The same decoder on the first 64 tokens in one call."""
    model, _ = decoder()
    return model, (torch.randint(0, 16000, (1, 64)), torch.arange(64))


class SpeechDetector(nn.Module):
    """Speech or not, in the architecture of silero-VAD 5 at 16 kHz, with random weights: magnitudes of a short-time
    Fourier transform (a convolution with 256 samples by 128), four convolutions, an LSTM cell of 128, one output.

    Samples (1, 64 + 512) and state (2, 1, 128) to the probability (1, 1) and the next state.
    """

    def __init__(self) -> None:
        super().__init__()
        time, frequency = torch.arange(256), torch.arange(129)
        angle = 2 * torch.pi * torch.outer(frequency, time) / 256
        basis = torch.cat([angle.cos(), -angle.sin()]) * torch.hann_window(256)
        self.register_buffer("basis", basis.unsqueeze(1))
        sizes = ((129, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1))
        layers = [(nn.Conv1d(inputs, outputs, 3, stride, 1), nn.ReLU()) for inputs, outputs, stride in sizes]
        self.encoder = nn.Sequential(*(layer for pair in layers for layer in pair))
        self.cell = nn.LSTMCell(128, 128)
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(128, 1, 1), nn.Sigmoid())

    def forward(self, samples: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        padded = F.pad(samples.unsqueeze(1), (0, 64), mode="reflect")
        real, imaginary = F.conv1d(padded, self.basis, stride=128).chunk(2, dim=1)
        features = self.encoder((real.square() + imaginary.square()).sqrt())
        hidden, memory = self.cell(features[:, :, -1], (state[0], state[1]))
        return self.head(hidden.unsqueeze(-1)).squeeze(-1), torch.stack([hidden, memory])


def speech_detector() -> Made:
    return SpeechDetector(), (torch.randn(1, 576), torch.zeros(2, 1, 128))


def peak_product() -> Made:
    """The GEMM whose speed is the machine's peak: 2.1 billion operations on matrices that the caches hold."""
    return nn.Linear(1024, 1024), (torch.randn(1024, 1024),)
