# SPDX-License-Identifier: BSD-3-Clause
"""`CoreMLQuantizer`: models quantised by torchao's PT2E are computed as eager computes the quantised model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from lowering import FP16, FP32, ct, difference, lower
from torch.nn import functional
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.utils import unwrap_tensor_subclass

from sdk.backends.apple.coreml.quantizer import CoreMLQuantizer
from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

LinearQuantizerConfig = ct.optimize.torch.quantization.LinearQuantizerConfig
ModuleLinearQuantizerConfig = ct.optimize.torch.quantization.ModuleLinearQuantizerConfig


class Network(torch.nn.Module):
    """A convolution with a batch norm, a depthwise and a transposed convolution, an addition, a matrix multiplication,
    pools and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(16)
        self.depthwise = torch.nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.up = torch.nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.last = torch.nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.first(x)))
        y = functional.max_pool2d(y + torch.sigmoid(self.depthwise(y)), 2)
        y = functional.hardswish(self.up(y))
        y = torch.matmul(y, y.transpose(-1, -2)) * 0.5
        return self.last(functional.adaptive_avg_pool2d(y, 1).flatten(1))


def _config(**options: Any) -> Any:
    return ModuleLinearQuantizerConfig(
        **{
            "quantization_scheme": "symmetric",
            "activation_dtype": torch.quint8,
            "weight_dtype": torch.qint8,
            "weight_per_channel": True,
            **options,
        }
    )


def _quantized(model: torch.nn.Module, x: torch.Tensor, config: Any, count: int = 4) -> torch.nn.Module:
    prepared = prepare_pt2e(torch.export.export(model.eval(), (x,)).module(), CoreMLQuantizer(config))
    for _ in range(count):
        prepared(torch.randn_like(x))
    return convert_pt2e(prepared)


SCHEMES = {
    "symmetric": {},
    "affine": {"quantization_scheme": "affine"},
    "per-tensor": {"weight_per_channel": False},
    "affine-per-tensor": {"quantization_scheme": "affine", "weight_per_channel": False},
    "unsigned-weights": {"weight_dtype": torch.quint8, "quantization_scheme": "affine"},
    "min-max": {"activation_observer": "min_max", "weight_observer": "min_max"},
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("activation", [torch.quint8, torch.float32], ids=["static", "weights"])
def test_schemes(name: str, activation: torch.dtype) -> None:
    """CML-14, CML-15, CML-16, QNT-16: models with int8 weights, with or without int8 activations, become one delegate
    whose weights stay quantised, for iOS 17."""
    torch.manual_seed(0)
    model, x = Network(), torch.randn(2, 3, 16, 16)
    config = LinearQuantizerConfig(global_config=_config(activation_dtype=activation, **SCHEMES[name]))
    quantized = _quantized(model, x, config)
    expected = quantized(x)
    assert 0 < difference([expected], model(x)) < 0.1
    static = activation == torch.quint8
    lowered = lower(quantized, (x,), FP32)
    assert not lowered.outside, lowered.refusals
    (program,) = lowered.programs.values()
    assert program.model.spec.specificationVersion == ct.target.iOS17.value
    assert ("quantize" in lowered.operations) == static
    compressed = [name for name in lowered.operations if name.startswith("constexpr")]
    assert compressed and sum(lowered.operations[name] for name in compressed) == 4
    assert difference(lowered.run(x), expected) < 1e-6
    # float16 may round an activation to an adjacent integer: one step of the last result, which has 255 in its range.
    limit = float(expected.max() - expected.min()) / 100 if static else 5e-3
    assert difference(lower(quantized, (x,), FP16).run(x), expected) < limit


def test_activation_functions_are_inside_of_the_operator_before() -> None:
    """CML-14: results of ReLUs and sigmoids use the whole range of uint8; an activation is quantised once."""
    x = torch.randn(2, 3, 16, 16)
    quantized = _quantized(Network(), x, LinearQuantizerConfig(global_config=_config()))
    calls = [node for node in quantized.graph.nodes if node.op == "call_function"]
    made = [node for node in calls if "quantize_per_tensor" in str(node.target) and "dequant" not in str(node.target)]
    zeros = {str(node.args[0].target): node.args[2] for node in made}
    assert zeros["aten.relu.default"] == 0 and zeros["aten.sigmoid.default"] == 0
    assert zeros["aten.hardswish.default"] == 128 and zeros["aten.linear.default"] == 128
    assert not any("conv" in name or "batch_norm" in name for name in zeros)
    sources = [node.args[0] for node in made]
    assert len(sources) == len(set(sources))


def test_parts_of_the_model() -> None:
    """CML-14: the configuration for a module's name takes precedence over that for its type, and both over the global
    one; None leaves a module in float."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
            self.c = torch.nn.Conv1d(2, 2, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.b(self.a(self.c(x)))

    def quantised(config: Any) -> int:
        model = _quantized(Model(), torch.randn(3, 2, 8), config)
        return sum("dequantize_per_channel" in str(node.target) for node in model.graph.nodes)

    weights = _config(activation_dtype=torch.float32)
    assert quantised(LinearQuantizerConfig(global_config=weights)) == 3
    assert quantised(LinearQuantizerConfig(global_config=weights, module_name_configs={"a": None})) == 2
    assert quantised(LinearQuantizerConfig(module_type_configs={torch.nn.Linear: weights})) == 2
    assert (
        quantised(
            LinearQuantizerConfig(
                global_config=weights,
                module_type_configs={torch.nn.Linear: None},
                module_name_configs={"b": weights},
            )
        )
        == 2
    )


@pytest.mark.slow  # torchao looks for each of its patterns in the graph
def test_training() -> None:
    """CML-14: a model that was trained with fake quantisation, with the batch norm inside of the convolution."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
    x = torch.randn(4, 3, 8, 8)
    quantizer = CoreMLQuantizer(LinearQuantizerConfig(global_config=_config()))
    prepared = prepare_qat_pt2e(torch.export.export(model, (x,)).module(), quantizer)
    optimizer = torch.optim.SGD(prepared.parameters(), 0.01)
    for _ in range(3):
        optimizer.zero_grad()
        prepared(x).square().mean().backward()
        optimizer.step()
    quantized = convert_pt2e(prepared)
    lowered = lower(quantized, (x,), FP32)
    assert not lowered.outside, lowered.refusals
    assert lowered.operations["quantize"] == 2 and "batch_norm" not in lowered.operations
    assert difference(lowered.run(x), quantized(x)) < 1e-6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weight_dtype": "qint4"}, "weights have 4 bits; PT2E has 8"),
        ({"algorithm": "learnable"}, "algorithm is 'learnable'"),
        ({"weight_observer": "ema_min_max"}, "weight_observer is ema_min_max; expected one of min_max"),
    ],
)
def test_what_the_flow_does_not_have(options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CoreMLQuantizer(LinearQuantizerConfig(global_config=_config(**options)))
    with pytest.raises(TypeError, match="expected a coremltools"):
        CoreMLQuantizer({"global_config": None})


def test_dynamic_quantisation_is_refused_in_words() -> None:
    """CML-16: models that torchao's `quantize_` or PT2E quantised dynamically stay outside, with a reason; with
    `lower_full_graph` this is an error."""
    x = torch.randn(3, 64)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64)).eval()
    config = get_symmetric_quantization_config(is_dynamic=True)
    prepared = prepare_pt2e(torch.export.export(model, (x,)).module(), XNNPACKQuantizer().set_global(config))
    prepared(x)
    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int8))
    for dynamic in (convert_pt2e(prepared), unwrap_tensor_subclass(model)):
        lowered = lower(dynamic, (x,), FP32)
        reasons = str(lowered.refusals)
        assert "Core ML has no dynamic quantisation" in reasons, reasons
        with pytest.raises(ValueError, match="Core ML has no dynamic quantisation"):
            lower(dynamic, (x,), FP32, lower_full_graph=True)
