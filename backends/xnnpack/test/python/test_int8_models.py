# SPDX-License-Identifier: BSD-3-Clause
"""Whole models in int8: the runtime computes the same as the quantised graph in PyTorch eager.

Tolerance. Both multiply a sum of integer products by the same scales and round to the nearest integer; eager does it in
float32 from dequantised numbers, the kernels from the integers. Where a scaled sum is halfway between two integers,
within the error of float32, their results may differ by one step of that layer's scale. One operand that differs by a
step changes the next sum by a small part of a step, so that the differences do not add up over layers: one step at the
end is allowed. Outputs after a function on floats have no steps; their noise has to be 40 dB below them. The runtime's
quantisation error may be at most 3 dB above that of the graph.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from test_quantized import Inputs, lower, quantize
from torch import nn
from torchao.quantization.utils import compute_error

from bench.models import BasicBlock, Bottleneck, Made, SpeechDetector, mlp
from sdk.backends.graph.quantized import is_dequantize
from sdk.runtime import Runtime
from zoo.language import Decoder, Encoder
from zoo.sequence import LastStep
from zoo.vision import InvertedResidual, VisionTransformer

IMAGE = (torch.linspace(-3, 3, 3 * 48 * 48).mul(11).sin().reshape(1, 3, 48, 48),)


def stem(channels: int) -> list[nn.Module]:
    return [nn.Conv2d(3, channels, 3, 2, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]


def head(channels: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)]


def mobilenet() -> Made:
    blocks = [InvertedResidual(8, 8, 1, 6), InvertedResidual(8, 12, 2, 6), InvertedResidual(12, 12, 1, 6)]
    return nn.Sequential(*stem(8), *blocks, *head(12)), IMAGE


def resnet() -> Made:
    """A block of ResNet18 and two of ResNet50."""
    blocks = [BasicBlock(8, 16, 2), Bottleneck(16, 8, 2), Bottleneck(32, 8, 1)]
    return nn.Sequential(*stem(8), nn.MaxPool2d(3, 2, 1), *blocks, *head(32)), IMAGE


def encoder() -> Made:
    mask = torch.ones(2, 10, dtype=torch.long)
    mask[1, 6:] = 0
    return Encoder(), (torch.randint(0, 64, (2, 10)), mask)


MODELS: dict[str, Callable[[], Made]] = {
    "mobilenet": mobilenet,
    "resnet": resnet,
    "vision transformer": lambda: (VisionTransformer(), (torch.randn(1, 3, 32, 32),)),
    "encoder": encoder,
    "decoder, prefill": lambda: (Decoder(depth=1), (torch.randint(0, 64, (1, 8)), torch.arange(8))),
    "decoder, one token": lambda: (Decoder(depth=1), (torch.tensor([[3]]), torch.tensor([0]))),
    "mlp": mlp,
    "lstm": lambda: (LastStep(nn.LSTM(16, 24, num_layers=2, batch_first=True)), (torch.randn(1, 6, 16),)),
    "gru": lambda: (nn.GRU(16, 24, bidirectional=True), (torch.randn(5, 2, 16), torch.randn(2, 2, 24))),
    "speech detector": lambda: (SpeechDetector(), (torch.randn(1, 576), torch.zeros(2, 1, 128))),
}


def steps_of(quantized: nn.Module) -> list[float | None]:
    """The scale of each output; None for one that is not dequantised."""
    results = quantized.graph.output_node().args[0]
    return [float(node.args[1]) if is_dequantize(node) else None for node in results]


def outputs(model: nn.Module, inputs: Inputs) -> list[torch.Tensor]:
    """Returns the outputs of a copy of the model, because a cache keeps its contents."""
    results = copy.deepcopy(model)(*inputs)
    return list(results) if isinstance(results, (list, tuple)) else [results]


@pytest.mark.sampled
@torch.no_grad()
@pytest.mark.parametrize("name", MODELS)
def test_the_runtime_is_the_quantised_graph(name: str) -> None:
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean, 0, 0.2)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    quantized = quantize(model, inputs, is_per_channel=True)
    method = Runtime.get().load_program(lower(quantized, inputs).to_executorch().buffer).load_method("forward")
    everything = zip(
        method.execute(inputs),
        outputs(quantized, inputs),
        outputs(model.eval(), inputs),
        steps_of(quantized),
        strict=True,
    )
    for found, reference, exact, step in everything:
        result = torch.as_tensor(found)
        if step is not None:
            assert float((result - reference).abs().max()) <= 1.01 * step
        else:
            assert compute_error(reference, result) > 40
        assert compute_error(exact, result) > compute_error(exact, reference) - 3
