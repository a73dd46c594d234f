# SPDX-License-Identifier: BSD-3-Clause
"""The settings of the quantizers, and models that are quantised in part."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from arm_lowering import BOTH, FP, assert_close, lower
from torch import Tensor, nn
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

from sdk.backends.arm.quantizer import (
    TOSAQuantizer,
    VgfQuantizer,
    arm_quantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from sdk.backends.arm.tosa import TOSAPartitioner
from sdk.backends.arm.vgf import VgfCompileSpec, VgfPartitioner

CONFIG = get_symmetric_quantization_config()
X = torch.randn(2, 8)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 8), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))


def _quantized(quantizer: TOSAQuantizer, model: nn.Module, *inputs: Tensor) -> Any:
    prepared = prepare_pt2e(export(model.eval(), inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def _counts(converted: Any) -> Counter[str]:
    names = (str(node.target).rpartition("aten.")[2] for node in converted.graph.nodes if node.op == "call_function")
    return Counter(name.partition(".default")[0].rpartition(".")[2] for name in names)


def test_weights_of_fifteen_numbers() -> None:
    """VGF-04: `get_symmetric_a8w4_quantization_config`, which is for training by default; for a
    quantizer that is composable and one that is not."""
    config = arm_quantizer.get_symmetric_a8w4_quantization_config(is_qat=False)
    quantizer = VgfQuantizer(VgfCompileSpec(), use_composable_quantizer=False).set_global(config)
    converted = _quantized(quantizer, Model(), X)
    weights = [each for each in converted.buffers() if each.dtype == torch.int8]
    assert len(weights) == 2 and all(int(each.abs().max()) == 7 for each in weights)
    prepared = prepare_qat_pt2e(
        export(Model(), (X,)).module(), _quantizer().set_global(arm_quantizer.get_symmetric_a8w4_quantization_config())
    )
    assert any("FakeQuant" in type(module).__name__ for module in prepared.modules())


def test_weights_of_four_bits_need_their_extension() -> None:
    """VGF-04: without it, TOSA has no int4, and the weights would have eight bits."""
    config = arm_quantizer.get_symmetric_a8w4_quantization_config()
    TOSAQuantizer("TOSA-1.0+INT+int4").set_global(config)
    for setter in ("set_global", "set_io"):
        with pytest.raises(
            ValueError, match=r"weights are int4, from -7 to 7, and TOSA-1.0\+INT has no extension \+int4"
        ):
            getattr(TOSAQuantizer("TOSA-1.0+INT"), setter)(config)


def _quantizer() -> VgfQuantizer:
    return VgfQuantizer(VgfCompileSpec())


def test_the_global_configuration() -> None:
    """VGF-04: `set_global` sets the configuration of the whole model; None leaves all in floats."""
    assert _counts(_quantized(_quantizer(), Model(), X))["quantize_per_tensor"] == 0
    assert _counts(_quantized(_quantizer().set_global(None), Model(), X))["quantize_per_tensor"] == 0
    counts = _counts(_quantized(_quantizer().set_global(CONFIG), Model(), X))
    assert (counts["quantize_per_tensor"], counts["dequantize_per_channel"]) == (4, 2)
    per_tensor = get_symmetric_quantization_config(is_per_channel=False)
    assert _counts(_quantized(_quantizer().set_global(per_tensor), Model(), X))["dequantize_per_channel"] == 0


@pytest.mark.parametrize(
    ("quantizer", "expected"),
    [
        (_quantizer().set_global(CONFIG).set_module_type(nn.Sigmoid, None), 3),
        (_quantizer().set_global(CONFIG).set_module_name("second.0", None), 4),
        (_quantizer().set_global(CONFIG).set_module_type(nn.Linear, None), 2),
        (_quantizer().set_module_type(nn.Sigmoid, CONFIG), 2),
        (_quantizer().set_module_name("first", CONFIG), 2),
        (_quantizer().set_module_name("first", CONFIG).set_module_type(nn.Linear, None), 2),
        (_quantizer().set_io(CONFIG), 2),
    ],
)
def test_the_most_specific_setting_applies(quantizer: TOSAQuantizer, expected: int) -> None:
    """VGF-04, VGF-05: parts of a model have their own settings, so this number of tensors is quantised."""
    assert _counts(_quantized(quantizer, Model(), X))["quantize_per_tensor"] == expected


def test_a_part_in_floats_is_in_the_same_delegate() -> None:
    """VGF-05: the sigmoid of the tutorial computes floats, between integers and the output."""

    class AddSigmoid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.sigmoid = nn.Sigmoid()

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return self.sigmoid(x + y)

    ones = (torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 1))
    quantizer = _quantizer().set_global(get_symmetric_quantization_config(is_per_channel=False))
    converted = _quantized(quantizer.set_module_type(nn.Sigmoid, None), AddSigmoid(), *ones)
    lowered = lower(converted, ones, BOTH)
    assert len(lowered.payloads) == 1
    assert lowered.operators["SIGMOID"] == 1 and lowered.operators["RESCALE"] == 3
    assert_close(lowered.run(*ones), converted(*ones))
    (payload,) = lower(converted, ones, partitioner=VgfPartitioner(VgfCompileSpec())).payloads
    assert payload.startswith(b"VGF1")


def test_numbers_become_tensors() -> None:
    """VGF-04: `transform_for_annotation` turns numbers in the graph into tensors, which can be quantised."""
    captured = export(Model(), (X,)).module()
    scaled = export(nn.Sequential(Model(), Scale()), (X,)).module()
    quantizer = _quantizer()
    assert quantizer.transform_for_annotation(captured) is captured
    quantizer.transform_for_annotation(scaled)
    (product,) = (node for node in scaled.graph.nodes if node.target is torch.ops.aten.mul.Tensor)
    assert all(isinstance(argument, torch.fx.Node) for argument in product.args)


class Scale(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 0.5


def test_training() -> None:
    """VGF-04: the configuration for prepare_qat_pt2e."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
    x = torch.randn(2, 3, 8, 8)
    quantizer = _quantizer().set_global(get_symmetric_quantization_config(is_qat=True))
    prepared = prepare_qat_pt2e(export(model.train(), (x,)).module(), quantizer)
    prepared(x).sum().backward()
    converted = convert_pt2e(prepared)
    lowered = lower(converted, (x,), BOTH)
    assert len(lowered.payloads) == 1 and lowered.operators["CONV2D"] == 1
    assert lowered.operators["RESCALE"] == 1
    assert_close(lowered.run(x), converted(x), 1e-2)


def test_dynamic_activations() -> None:
    """The weights are int8, and scales of activations are computed when the model runs: kernels compute such layers."""
    quantizer = _quantizer().set_global(get_symmetric_quantization_config(is_dynamic=True))
    converted = _quantized(quantizer, Model(), X)
    lowered = lower(converted, (X,), BOTH)
    assert any("quantize_per_tensor.tensor" in reason for reason in lowered.left().values())
    assert_close(lowered.run(X), converted(X))


class Rows(nn.Module):
    """Writes a row of its state, and reads it through a view."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.state[0] = x
        return self.state.sum(0)


class Total(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.total.add_(x)
        return self.total.view(-1) * 2


class Tied(nn.Module):
    """Reads one weight as an embedding and as the transpose of a linear layer's."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 4))

    def forward(self, ids: Tensor) -> Tensor:
        return nn.functional.embedding(ids, self.w) @ self.w.t()


class Shared(nn.Module):
    """Reads all of a weight through a view, and a part of it."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 4))

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.w.t())[:, :3] @ self.w[:3]


@pytest.mark.parametrize("model", [Rows, Total])
def test_views_of_state_are_not_constants(model: type[nn.Module]) -> None:
    inputs = [torch.randn(3) if model is Rows else torch.randn(2, 3) for _ in range(3)]
    eager, prepared = model(), prepare_pt2e(export(model(), (inputs[0],), strict=True).module(), _quantizer())
    for x in inputs:
        torch.testing.assert_close(prepared(x), eager(x))
    converted = convert_pt2e(prepare_pt2e(export(model(), (inputs[0],), strict=True).module(), TOSAQuantizer(BOTH)))
    eager = model()
    for x in inputs:
        torch.testing.assert_close(converted(x), eager(x))


@pytest.mark.parametrize(("model", "inputs"), [(Tied, torch.tensor([[0, 3, 7]])), (Shared, torch.randn(2, 4))])
def test_a_weight_that_is_read_whole_stays_one(model: type[nn.Module], inputs: Tensor) -> None:
    for prepare in (prepare_pt2e, prepare_qat_pt2e):
        prepared = prepare(export(model().eval(), (inputs,), strict=True).module(), _quantizer())
        assert [tuple(weight.shape) for weight in prepared.parameters()] == [(8, 4)]


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        return torch.cond(x.sum() > 0, lambda y: torch.sigmoid(y), lambda y: torch.tanh(y), (y,))


def test_branches_are_quantised() -> None:
    """VGF-04: quantize_with_submodules, with a sample for each branch."""
    captured = export(Branches().eval(), (X,)).module()
    ones = torch.ones(2, 8)
    quantizer = _quantizer().set_global(CONFIG)
    converted = quantizer.quantize_with_submodules(captured, [(ones,), (-ones,)])
    branches = [module for name, module in converted.named_children() if "true" in name or "false" in name]
    assert len(branches) == 2
    for branch in branches:
        assert _counts(branch)["quantize_per_tensor"] == 2
    assert converted(ones).shape == converted(-ones).shape == (2, 8)


def test_wrong_settings_are_errors() -> None:
    with pytest.raises(ValueError, match=r"has no integers; add \+INT to quantise for it"):
        TOSAQuantizer(FP)
    with pytest.raises(TypeError, match="expected a QuantizationConfig, as get_symmetric_quantization_config"):
        _quantizer().set_global("int8")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"activations are int16, and TOSA-1\.0\+FP\+INT has no extension \+int16"):
        TOSAQuantizer(BOTH).set_global(get_symmetric_a16w8_quantization_config())


def test_the_names_of_the_original() -> None:
    assert arm_quantizer.get_symmetric_quantization_config is get_symmetric_quantization_config
    assert issubclass(VgfQuantizer, TOSAQuantizer) and issubclass(VgfPartitioner, TOSAPartitioner)
