# SPDX-License-Identifier: BSD-3-Clause
"""int8 models for a Cortex-M: quantised, lowered to the operators `cortex_m::*`, and run. The program gives each bit of
the operators' implementations in Python, and is within a step or two of PyTorch with quantize and dequantize."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from sdk.backends.cortex_m.edge import to_cortex_m
from sdk.backends.cortex_m.passes import CortexMPassManager
from sdk.backends.cortex_m.quantizer import CortexMQuantizer
from sdk.backends.cortex_m.target_config import CortexM, CortexMTargetConfig
from sdk.exir import EdgeProgramManager
from sdk.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:torchao.*")

_LAST = torch.channels_last


class ConvNet(nn.Module):
    """A residual block, pools, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU6())
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 1))
        self.head = nn.Linear(8 * 4 * 4, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = torch.relu(x + self.second(x))
        x = nn.functional.max_pool2d(x, 2)
        return torch.softmax(self.head(x.flatten(1)), 1)


class KeywordSpotter(nn.Module):
    """DS-CNN: a convolution, depthwise-separable blocks, a mean, a linear layer."""

    def __init__(self, width: int = 16, blocks: int = 2) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            nn.Conv2d(1, width, (10, 4), stride=2, padding=(5, 1)),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        ]
        for _ in range(blocks):
            layers += [nn.Conv2d(width, width, 3, padding=1, groups=width), nn.BatchNorm2d(width), nn.ReLU()]
            layers += [nn.Conv2d(width, width, 1), nn.BatchNorm2d(width), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 12))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Perceptron(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 30), nn.Tanh(), nn.Linear(30, 5))


class Attention(nn.Module):
    """Products of matrices, sums with numbers, sigmoids."""

    def __init__(self) -> None:
        super().__init__()
        self.queries, self.keys, self.values = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        scores = self.queries(x) @ self.keys(x).transpose(1, 2) * 0.35
        return torch.softmax(scores, -1) @ self.values(x) + torch.sigmoid(x) * x


class Images(nn.Module):
    """A transposed convolution, padding, a padded mean, hardswish, extremes."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1)
        self.conv = nn.Conv2d(4, 5, 3, dilation=2)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.pad(self.up(x), (1, 2, 0, 1), value=0.5)
        x = nn.functional.hardswish(self.conv(x))
        x = nn.functional.avg_pool2d(x, 3, 2, padding=1)
        return torch.maximum(torch.minimum(x, x * 0.5), x.clamp(-0.2, 0.3))


MODELS: dict[str, tuple[Any, tuple[int, ...], set[str]]] = {
    "conv net": (
        ConvNet,
        (1, 3, 16, 16),
        {"quantized_conv2d", "quantized_add", "quantized_max_pool2d", "quantized_linear", "softmax"},
    ),
    "keyword spotter": (
        KeywordSpotter,
        (1, 1, 49, 10),
        {"quantized_conv2d", "quantized_depthwise_conv2d", "quantized_avg_pool2d", "quantized_linear"},
    ),
    "perceptron": (Perceptron, (2, 20), {"quantized_linear", "quantized_activation"}),
    "attention": (
        Attention,
        (2, 5, 8),
        {
            *("quantized_linear", "quantized_batch_matmul", "quantized_mul", "quantized_add", "softmax", "transpose"),
            "quantized_activation",
        },
    ),
    "images": (
        Images,
        (1, 3, 9, 10),
        {
            *("quantized_transpose_conv2d", "quantized_conv2d", "pad", "quantized_activation", "quantized_avg_pool2d"),
            *("minimum", "maximum", "quantized_mul"),
        },
    ),
}
EDGES = {"quantize_per_tensor", "dequantize_per_tensor"}
OTHERS = {"executorch_prim::et_view", "dim_order_ops::_clone_dim_order"}
"""Flattening an image in the format channels_last moves its elements."""


def _inputs(shape: tuple[int, ...], seed: int = 0) -> tuple[Tensor]:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return (x.to(memory_format=_LAST) if len(shape) == 4 else x,)


def _quantized(model: nn.Module, shape: tuple[int, ...]) -> Any:
    captured = torch.export.export(model, _inputs(shape)).module()
    prepared = prepare_pt2e(captured, CortexMQuantizer())
    for seed in range(4):
        prepared(*_inputs(shape, seed))
    return convert_pt2e(prepared)


def _model(name: str) -> tuple[nn.Module, tuple[int, ...]]:
    torch.manual_seed(0)
    kind, shape, _ = MODELS[name]
    model = kind().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
    return model.to(memory_format=_LAST) if len(shape) == 4 else model, shape


def _operators(manager: EdgeProgramManager) -> Counter[str]:
    return Counter(
        str(node.target._schema.name)
        for node in manager.exported_program().graph.nodes
        if node.op == "call_function" and hasattr(node.target, "_schema")
    )


@pytest.mark.parametrize("target", ["cortex-m55", "cortex-m4"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_runs_on_the_kernels_to_the_last_bit(name: str, target: str) -> None:
    model, shape = _model(name)
    quantized = _quantized(model, shape)
    manager = to_cortex_m(
        torch.export.export(quantized, _inputs(shape)), target_config=CortexMTargetConfig.from_target_string(target)
    )
    found = _operators(manager)
    expected = {f"cortex_m::{each}" for each in MODELS[name][2] | EDGES}
    assert {each for each in found if each.startswith("cortex_m::")} == expected
    assert {each for each in found if "quantized_decomposed" in each} == set()
    assert found["cortex_m::quantize_per_tensor"] == found["cortex_m::dequantize_per_tensor"] == 1, found

    program = manager.to_executorch()
    kernels = {operator.name for operator in program.executorch_program.execution_plan[0].operators}
    assert {each for each in kernels if not each.startswith("cortex_m::")} <= OTHERS, kernels
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    lowered = manager.exported_program().module()
    for seed in range(10, 15):
        inputs = _inputs(shape, seed)
        (result,) = method.execute(list(inputs))
        assert torch.equal(result, lowered(*inputs))
        reference, real = quantized(*inputs), model(*inputs)
        steps = _step(manager)
        assert (result - reference).abs().max() <= 2.01 * steps, (result, reference)
        assert (result - real).abs().mean() <= 0.1 * real.abs().max()


def _step(manager: EdgeProgramManager) -> float:
    (last,) = manager.exported_program().graph.output_node().args[0]
    assert "dequantize" in last.name
    return float(last.args[1])


def test_weights_are_summed_up_for_helium_only() -> None:
    model, shape = _model("perceptron")
    program = torch.export.export(_quantized(model, shape), _inputs(shape))
    for cpu, is_summed in ((CortexM.M55, True), (CortexM.M4, False), (CortexM.M0, False)):
        manager = to_cortex_m(program, target_config=CortexMTargetConfig(cpu))
        linears = [n for n in manager.exported_program().graph.nodes if "quantized_linear" in str(n.target)]
        assert linears and all((n.args[3] is not None) == is_summed for n in linears)
        assert all((n.args[2] is not None) != is_summed for n in linears)


def test_images_that_are_not_channels_last_stay_in_floats(caplog: pytest.LogCaptureFixture) -> None:
    model, _ = _model("conv net")
    inputs = (torch.randn(1, 3, 16, 16),)
    prepared = prepare_pt2e(
        torch.export.export(model.to(memory_format=torch.contiguous_format), inputs).module(), CortexMQuantizer()
    )
    prepared(*inputs)
    quantized = convert_pt2e(prepared)
    manager = to_cortex_m(torch.export.export(quantized, inputs))
    assert "channels_last" in caplog.text
    found = _operators(manager)
    assert "cortex_m::quantized_conv2d" not in found and found["cortex_m::quantized_linear"] == 1
    (result,) = Runtime.get().load_program(manager.to_executorch().buffer).load_method("forward").execute(list(inputs))
    assert (result - quantized(*inputs)).abs().max() <= 2.01 * _step(manager)


def test_what_the_manager_takes() -> None:
    with pytest.raises(ValueError, match="needs a real ExportedProgram, got None"):
        CortexMPassManager(None).transform()
    program = torch.export.export(nn.ReLU(), (torch.randn(2),))
    with pytest.raises(ValueError, match="pass classes, not instances"):
        CortexMPassManager(program, passes=[CortexMPassManager.pass_list[0]()]).transform()  # type: ignore[list-item]


def test_targets() -> None:
    assert CortexMTargetConfig.from_target_string("cortex-m0plus").cpu == CortexM.M0PLUS
    for cpu in CortexM:
        assert CortexMTargetConfig.from_target_string(CortexMTargetConfig(cpu).target_string).cpu == cpu
    with pytest.raises(ValueError, match="Unsupported Cortex-M target string: 'cortex-m9'"):
        CortexMTargetConfig.from_target_string("cortex-m9")
    with pytest.raises(ValueError, match="must start with 'cortex-m'"):
        CortexMTargetConfig.from_target_string("m4")
    best = CortexMTargetConfig(CortexM.M55).backend
    assert best.name == "MVE" and CortexMTargetConfig(CortexM.M4).backend.name == "DSP"
    with pytest.raises(ValueError, match="Backend MVE is not supported on M4"):
        CortexMTargetConfig(CortexM.M4, best)
