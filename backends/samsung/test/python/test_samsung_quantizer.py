# SPDX-License-Identifier: BSD-3-Clause
"""`EnnQuantizer`: what it annotates, and how near the results are to float32."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

sys.path.insert(0, str(Path(__file__).resolve().parent))

from samsung_lowering import computed, lower, quantized

from npu_models import MODELS, Function, model_of, snr, written
from sdk.backends.samsung.quantizer import EnnQuantizer, Precision, qconfig
from sdk.backends.samsung.utils.export_utils import quantize_module
from sdk.backends.samsung.verify import ReferenceProgram
from sdk.exir.backend.utils import get_delegates, get_non_lowered_nodes

QUANTIZE = "quantized_decomposed.quantize_per_tensor.default"
LEAST = {"convolutional": 40, "vision": 38, "decoder": 24}
"""The signal-to-noise ratio in dB that 8 bits reach for random weights."""


@pytest.mark.parametrize("is_per_channel", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_the_interpreter_is_as_near_to_float32_as_the_scheme(name: str, is_per_channel: bool, tmp_path: Path) -> None:
    """EXY-03: the interpreter's signal-to-noise ratio is at most 1 dB below that of the quantised model in PyTorch."""
    model, inputs = model_of(name)
    scheme = quantized(model, inputs, is_per_channel)
    expected = model(*inputs)
    found = snr(expected, computed(lower(scheme, inputs), inputs, tmp_path))
    print(f"{name} A8W8: {found:.1f} dB, the scheme in PyTorch {snr(expected, scheme(*inputs)):.1f} dB")
    assert found >= snr(expected, scheme(*inputs)) - 1 and found >= LEAST[name]


@pytest.mark.sampled
def test_mobilenet_v2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EXY-03: the whole net is one partition, as near to float32 as the scheme. The images are small, and the weights
    are random."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[4]))
    model = importlib.import_module("examples.mobilenet_v2.model").mobilenet_v2()
    inputs = (torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0)),)
    scheme, expected = quantized(model, inputs), model(*inputs)
    manager = lower(scheme, inputs)
    graph = manager.exported_program().graph_module.graph
    assert len(list(get_delegates(graph))) == 1 and not get_non_lowered_nodes(graph)
    found = snr(expected, computed(manager, inputs, tmp_path))
    print(f"MobileNetV2 A8W8: {found:.1f} dB, the scheme in PyTorch {snr(expected, scheme(*inputs)):.1f} dB")
    assert found >= snr(expected, scheme(*inputs)) - 1


def test_a_quantized_model_is_computed_in_integers(tmp_path: Path) -> None:
    model, inputs = model_of("convolutional")
    program = ReferenceProgram(written(lower(quantized(model, inputs), inputs), tmp_path))
    (delegate,) = program._methods["forward"]._delegates
    in_floats = [call.name for call, rule in zip(delegate.graph.calls, delegate._rules, strict=True) if rule is None]
    # The residual connection gets the scale of the sum that it is an operand of.
    assert in_floats == ["quantize", "quantize", "dequantize"]


def test_the_calls_of_the_page() -> None:
    """EXY-03, EXY-04: names of precisions as in ExecuTorch's page. There is one precision, with 8 bits."""
    quantizer = EnnQuantizer()
    quantizer.set_quant_params("A8W8", True, False)
    assert (quantizer._precision, quantizer._is_per_channel, quantizer._is_qat) == (Precision.A8W8, True, False)
    assert list(Precision) == [Precision.A8W8] and Precision.A8W8 == 3
    for wrong in ("A16W16", "FP16", 8):
        with pytest.raises(ValueError, match=r"there is no precision .* of Samsung; expected A8W8"):
            quantizer.set_quant_params(wrong)
        with pytest.raises(ValueError, match="there is no precision"):
            qconfig.get_quant_config(wrong)  # type: ignore[arg-type]


def test_the_specifications() -> None:
    """EXY-03, EXY-04: int8 activations with zero points; weights symmetric if each channel has a scale."""
    config = qconfig.get_quant_config(Precision.A8W8, True)
    activation = config.input_activation
    assert activation is config.output_activation and activation is not None and config.weight is not None
    assert (activation.dtype, activation.qscheme) == (torch.int8, torch.per_tensor_affine)
    assert (config.weight.dtype, config.weight.qscheme) == (torch.int8, torch.per_channel_symmetric)
    assert config.weight.ch_axis == 0 and config.bias is None
    tensor = qconfig.get_quant_config(Precision.A8W8, False).weight
    assert tensor is not None and tensor.qscheme == torch.per_tensor_affine
    with pytest.raises(ValueError, match="must be symmetric"):
        qconfig.get_a8w8_enn_quant_config(True, wei_symmetric=False)


def scales_of(scheme: Any, name: str) -> set[tuple[Any, ...]]:
    """The scales and zero points of the results of calls of an operator."""
    return {
        tuple(user.args[1:3])
        for node in scheme.graph.nodes
        if str(node.target) == name
        for user in node.users
        if str(user.target) == QUANTIZE
    }


def test_a_product_shares_its_scale_with_its_operands() -> None:
    a, b = torch.tensor([[-1.0, 4.0]]), torch.tensor([[2.0, 3.0]])
    scheme = quantized(Function(lambda a, b: torch.relu(a) * torch.relu(b)), (a, b))
    assert len(scales_of(scheme, "aten.relu.default") | scales_of(scheme, "aten.mul.Tensor")) == 1
    scheme = quantized(Function(lambda a, b: (a + b) + torch.relu(b)), (a, b))
    assert len(scales_of(scheme, "aten.add.Tensor")) == 2


def test_activations_are_fused() -> None:
    layer = torch.nn.Conv2d(3, 4, 1).eval()
    scheme = quantized(
        torch.nn.Sequential(layer, torch.nn.ReLU6(), torch.nn.Hardtanh(-1, 1)).eval(), (torch.randn(1, 3, 4, 4),)
    )
    (convolution,) = [node for node in scheme.graph.nodes if str(node.target) == "aten.conv2d.default"]
    assert [str(user.target) for user in convolution.users] == ["aten.hardtanh.default"]
    assert len(scales_of(scheme, "aten.hardtanh.default")) == 2


def test_a_sigmoid_has_its_range() -> None:
    """The result of a sigmoid has the range 0 to 1, whatever the calibration data are."""
    scheme = quantized(Function(torch.sigmoid), (torch.tensor([-9.0, 0.0, 9.0]),))
    assert scales_of(scheme, "aten.sigmoid.default") == {(1 / 256, -128)}
    torch.testing.assert_close(scheme(torch.tensor([-9.0, 0.0, 9.0])), torch.tensor([0, 0.5, 255 / 256]))


def test_annotations_of_users_come_last() -> None:
    seen: list[Any] = []
    quantizer = EnnQuantizer()
    quantizer.add_custom_quant_annotations([seen.append])
    module = export(torch.nn.ReLU(), (torch.ones(2),)).module()
    assert quantizer.annotate(module) is module and seen == [module]


def test_a_module_is_quantised_in_one_call() -> None:
    """Attention is decomposed, so that its products are quantised, too."""
    model, inputs = model_of("vision")
    scheme = quantize_module(model, inputs, [inputs], Precision.A8W8)
    names = [str(node.target) for node in scheme.graph.nodes]  # type: ignore[union-attr]
    assert (
        not any("scaled_dot_product" in name for name in names)
        and sum("mm" in name or "matmul" in name for name in names) == 2
    )
    assert snr(model(*inputs), scheme(*inputs)) > 38


def test_quantisation_in_training() -> None:
    quantizer = EnnQuantizer()
    quantizer.setup_quant_params(Precision.A8W8, True, True)
    model, inputs = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), (torch.randn(2, 4),)
    prepared = prepare_qat_pt2e(export(model, inputs).module(), quantizer)
    prepared(*inputs).sum().backward()
    scheme = convert_pt2e(prepared)
    assert any(str(node.target) == QUANTIZE for node in scheme.graph.nodes)
