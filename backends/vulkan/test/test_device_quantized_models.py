# SPDX-License-Identifier: BSD-3-Clause
"""Quantised models: each becomes one delegate, whose results on the device are those of the quantised model in eager
PyTorch; weights are stored as integers in the file."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from device_program import DeviceProgram
from hand_built import numbers
from torch import nn

pytest.importorskip("torchao")
import lowered
from examples.mobilenet_v2.model import mobilenet_v2
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, quantize_

from bench.models import resnet18
from sdk.backends.vulkan.quantizer.vulkan_quantizer import VulkanQuantizer
from sdk.backends.vulkan.quantizer.vulkan_quantizer import get_symmetric_quantization_config as linear_config
from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from sdk.exir import EdgeProgramManager
from sdk.exir.lowered_backend_module import get_lowered_backend_modules

COMPAT = pytest.mark.parametrize("compat", [None, "1.4"])
HALF = pytest.mark.parametrize("half", [False, True], ids=["float", "half"])


def check(
    edge: EdgeProgramManager, model: nn.Module, *calls: tuple[torch.Tensor, ...], tolerance: float, mean: float = 1.0
) -> int:
    """Runs a program of one delegate on each of `calls` and returns the size of the file. `tolerance` is relative to
    the largest result, and `mean` limits the mean difference to this fraction of the tolerance."""
    assert not lowered.left(edge)
    assert len(get_lowered_backend_modules(edge.exported_program().graph_module)) == 1
    data = edge.to_executorch().buffer
    program = DeviceProgram(data)
    for inputs in calls:
        with torch.no_grad():
            expected = model(*inputs)
        allowed = tolerance * float(expected.abs().max())
        program.check(inputs, expected, 0.0, allowed, mean=allowed * mean)
    return len(data)


def layers() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(256, 192, bias=False), nn.Linear(192, 128), nn.Linear(128, 33)).eval()


WEIGHTS = 256 * 192 + 192 * 128 + 128 * 33
CONFIGS = {
    "8w": IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)),
    "4w": IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)),
    "8da4w": Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)),
}


@pytest.mark.sampled
@COMPAT
@HALF
@pytest.mark.parametrize("config", ["8w", "4w", "8da4w"])
def test_torchao(config: str, half: bool, compat: str | None) -> None:
    """VK-03, VK-07, VK-08, VK-19: weights quantised by torchao, for inputs of 1 to 6 rows."""
    model = layers()
    quantize_(model, CONFIGS[config])
    rows = {0: torch.export.Dim("rows", min=1, max=6)} if compat is None else None
    counts = (4, 1, 6) if compat is None else (4,)
    calls = [(numbers(count, 256),) for count in counts]
    options = {"force_fp16": half, "compat": compat}
    edge = lowered.lower(model, calls[0], (rows,) if rows else None, compile_options=options)
    # Rounding activations in another order changes single integers of 8da4w.
    size = check(edge, model, *calls, tolerance=3e-2 if half or config == "8da4w" else 1e-4, mean=0.2)
    assert size < WEIGHTS * (1.2 if config == "8w" else 0.85)


@pytest.mark.parametrize("config", ["8w", "8da4w"])
def test_nan_in_a_row_reaches_the_results_of_this_row(config: str) -> None:
    """A fused ReLU keeps NaN, and so does the choice of a row's scale."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
    quantize_(model, CONFIGS[config])
    x = numbers(3, 64)
    edge = lowered.lower(model, (x,))
    assert not lowered.left(edge)
    x[1, 5] = torch.nan
    with torch.no_grad():
        expected = model(x)
    assert expected[1].isnan().all() and not expected[[0, 2]].isnan().any()
    DeviceProgram(edge.to_executorch().buffer).check((x,), expected, 0.0, 2e-2)


def test_torchao_with_batches() -> None:
    model = layers()
    quantize_(model, CONFIGS["8da4w"])
    x = (numbers(2, 3, 256),)
    check(lowered.lower(model, x), model, x, tolerance=2e-2, mean=0.2)


@pytest.mark.sampled
@COMPAT
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("is_dynamic", [False, True], ids=["weights", "dynamic"])
def test_pt2e(bits: int, is_dynamic: bool, compat: str | None) -> None:
    """VK-03, VK-06, VK-08: weights quantised by PT2E with a scale for each output; activations are quantised on the
    GPU."""
    x = (numbers(5, 256),)
    quantizer = VulkanQuantizer().set_global(linear_config(is_dynamic=is_dynamic, weight_bits=bits))
    prepared = prepare_pt2e(torch.export.export(layers(), x).module(), quantizer)
    prepared(*x)
    model = convert_pt2e(prepared)
    edge = lowered.lower_program(torch.export.export(model, x), compile_options={"compat": compat})
    size = check(edge, model, x, tolerance=2e-2 if is_dynamic else 1e-4, mean=0.2)
    assert size < WEIGHTS * bits / 8 * 1.3 + 4096


class Images(nn.Module):
    """Each kind of int8 layer: convolutions, depthwise, pointwise, transposed; sums, clamps and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.skip = nn.Conv2d(3, 16, 3, padding=1, stride=2), nn.Conv2d(16, 12, 1)
        self.depthwise = nn.Conv2d(16, 16, 3, padding=1, groups=16, bias=False)
        self.pointwise, self.grouped = nn.Conv2d(16, 12, 1), nn.Conv2d(12, 12, 3, groups=3, dilation=2, padding=2)
        self.transposed = nn.ConvTranspose2d(12, 8, 3, stride=2, padding=1, output_padding=1)
        self.shuffle, self.head = nn.PixelShuffle(2), nn.Linear(2, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        y = self.skip(x)
        x = self.pointwise(nn.functional.relu6(self.depthwise(x)))
        x = torch.relu(self.grouped(x + y))
        x = self.shuffle(self.transposed(x))
        return self.head(x.mean((2, 3)))


@COMPAT
@pytest.mark.parametrize("by_channel", [True, False], ids=["channels", "tensor"])
def test_static_int8(by_channel: bool, compat: str | None) -> None:
    """VK-03, VK-19: layers between int8 tensors become one operator each."""
    torch.manual_seed(0)
    images = [(numbers(1, 3, 17, 22, seed=seed),) for seed in range(4)]
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=by_channel))
    prepared = prepare_pt2e(torch.export.export(Images().eval(), images[0]).module(), quantizer)
    for inputs in images:
        prepared(*inputs)
    model = convert_pt2e(prepared)
    edge = lowered.lower_program(torch.export.export(model, images[0]), compile_options={"compat": compat})
    called = lowered.names(edge)
    for name in ("conv2d", "conv2d_dw", "conv2d_pw", "conv2d_transposed", "add", "linear"):
        assert f"et_vk.q8ta_{name}.default" in called, name
    assert "aten.convolution.default" not in called and "aten.linear.default" not in called
    # A step of the result is 1 / 255 of its range; sums in another order move single roundings by one step.
    check(edge, model, *images, tolerance=3 / 255)


def decibels(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The signal-to-noise ratio in dB, with `expected` as the signal."""
    return float(20 * torch.log10(expected.norm() / (found - expected).norm()))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mobilenet_v2", "resnet18"])
def test_static_int8_of_full_size(name: str) -> None:
    """VK-03, VK-19: all convolutions and additions in int8. A value that eager rounds up and the device rounds down
    differs by a step, which affects all later layers. So the device must be as close to eager as eager is to itself
    with an input that is larger by one millionth."""
    torch.manual_seed(0)
    model = mobilenet_v2() if name == "mobilenet_v2" else resnet18()[0]
    images = [(numbers(1, 3, 224, 224, seed=seed),) for seed in range(2)]
    # Batch norms get the statistics of these images, so that numbers stay in proportion through all layers.
    for norm in (module for module in model.modules() if isinstance(module, nn.BatchNorm2d)):
        norm.momentum = 1.0
    model.train()(torch.cat([x for (x,) in images]))
    model.eval()
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(model, images[0]).module(), quantizer)
    for inputs in images:
        prepared(*inputs)
    quantized = convert_pt2e(prepared)
    edge = lowered.lower_program(torch.export.export(quantized, images[0]))
    called = lowered.names(edge)
    assert "aten.convolution.default" not in called and "aten.linear.default" not in called
    assert not lowered.left(edge)
    program = DeviceProgram(edge.to_executorch().buffer)
    for (x,) in images:
        with torch.no_grad():
            expected, near, exact = quantized(x), quantized(x * (1 + 1e-6)), model(x)
        found = program.loaded.forward([x])[0]
        assert decibels(found, expected) > decibels(near, expected) - 6
        assert decibels(found, exact) > decibels(expected, exact) - 2


def test_quantised_table() -> None:
    """VK-19: rows of a table of 4-bit integers, which stay packed."""

    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.out = nn.Embedding(500, 128), nn.Linear(128, 4)

        def forward(self, tokens: torch.Tensor) -> Any:
            return self.out(self.table(tokens))

    torch.manual_seed(0)
    model = Table().eval()
    config = IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32))
    quantize_(model, config, lambda module, _: isinstance(module, nn.Embedding))
    tokens = (torch.tensor([[0, 499, 7], [3, 3, 250]]),)
    edge = lowered.lower(model, tokens)
    assert "et_vk.embedding_q4gsw.default" in lowered.names(edge)
    assert check(edge, model, tokens, tolerance=1e-5) < 500 * 128 * 0.75
