# SPDX-License-Identifier: BSD-3-Clause
"""`NeuropilotQuantizer`: what it annotates, in which precision, and how near the results are to float32."""

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

from mediatek_lowering import computed, lower, quantized

from npu_models import MODELS, Block, model_of, snr
from sdk.backends.mediatek.quantizer import NeuropilotQuantizer, Precision, qconfig
from sdk.exir.backend.utils import get_delegates, get_non_lowered_nodes

QUANTIZE = "quantized_decomposed.quantize_per_tensor.default"
LEAST = {Precision.A16W16: 60, Precision.A16W8: 35, Precision.A16W4: 15, Precision.A8W8: 28, Precision.A8W4: 15}
"""The signal-to-noise ratio in dB that a scheme with this bit width reaches for random weights."""


@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("name", MODELS)
def test_the_interpreter_is_as_near_to_float32_as_the_scheme(name: str, precision: Precision, tmp_path: Path) -> None:
    """MTK-04: the interpreter's signal-to-noise ratio is at most 1 dB below that of the quantised model in PyTorch."""
    model, inputs = model_of(name)
    scheme = quantized(model, inputs, precision)
    expected = model(*inputs)
    found = snr(expected, computed(lower(scheme, inputs), inputs, tmp_path))
    print(f"{name} {precision.name}: {found:.1f} dB, the scheme in PyTorch {snr(expected, scheme(*inputs)):.1f} dB")
    assert found >= snr(expected, scheme(*inputs)) - 1 and found >= LEAST[precision]


@pytest.mark.sampled
@pytest.mark.parametrize("precision", [Precision.A8W8, Precision.A16W8])
def test_mobilenet_v2(precision: Precision, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MTK-04: the whole net is one partition, as near to float32 as the scheme. The images are small, and the weights
    are random."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[4]))
    model = importlib.import_module("examples.mobilenet_v2.model").mobilenet_v2()
    inputs = (torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0)),)
    scheme, expected = quantized(model, inputs, precision), model(*inputs)
    manager = lower(scheme, inputs)
    graph = manager.exported_program().graph_module.graph
    assert len(list(get_delegates(graph))) == 1 and not get_non_lowered_nodes(graph)
    found = snr(expected, computed(manager, inputs, tmp_path))
    print(
        f"MobileNetV2 {precision.name}: {found:.1f} dB, the scheme in PyTorch {snr(expected, scheme(*inputs)):.1f} dB"
    )
    assert found >= snr(expected, scheme(*inputs)) - 1


@pytest.mark.parametrize("precision", Precision)
def test_the_specifications_of_a_precision(precision: Precision) -> None:
    """MTK-04: a precision has the bit widths in its name; activations are symmetric with 16 bits, affine otherwise."""
    config = qconfig.get_quant_config(precision, True, False)
    assert config is qconfig.get_quant_config(precision, True, False)
    assert config == getattr(qconfig, f"get_{precision.name.lower()}_quant_config")(True, False)
    activations, weights = (int(each) for each in precision.name[1:].split("W"))
    assert config.activation.dtype == (torch.int16 if activations == 16 else torch.int8)
    assert config.weight.quant_max == 2 ** (weights - 1) - 1 and config.weight.quant_min == -(2 ** (weights - 1))
    assert config.weight.dtype == (torch.int16 if weights == 16 else torch.int8) and config.weight.ch_axis == 0
    symmetric = activations == 16
    assert config.activation.qscheme == (torch.per_tensor_symmetric if symmetric else torch.per_tensor_affine)
    assert (config.weight.qscheme == torch.per_channel_symmetric) == (symmetric and weights > 4)


def test_what_is_no_precision() -> None:
    with pytest.raises(ValueError, match="9"):
        NeuropilotQuantizer().setup_precision(9)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="9"):
        qconfig.get_quant_config(9)  # type: ignore[arg-type]


def readers_of(model: Any, name: str) -> list[str]:
    """The operators that read the results of calls of an operator."""
    return sorted(str(user.target) for node in model.graph.nodes if str(node.target) == name for user in node.users)


def test_activations_are_fused() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Conv2d(3, 4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.relu(self.layer(x))
            return torch.relu(y + y) * torch.nn.functional.gelu(y)

    scheme = quantized(Model().eval(), (torch.randn(1, 3, 4, 4),), Precision.A8W8)
    assert readers_of(scheme, "aten.conv2d.default") == ["aten.relu.default"]
    assert readers_of(scheme, "aten.add.Tensor") == ["aten.relu.default"]
    assert readers_of(scheme, "aten.relu.default") == [QUANTIZE, QUANTIZE]
    assert readers_of(scheme, "aten.gelu.default") == readers_of(scheme, "aten.mul.Tensor") == [QUANTIZE]


def test_a_norm_is_quantised_as_a_whole() -> None:
    """The squares and their mean stay floats. So does the sum of attention scores and a mask, whose range is
    infinite."""
    x = torch.randn(1, 4, 16)
    scheme = quantized(Block().eval(), (x,), Precision.A8W8)
    assert readers_of(scheme, "aten.rsqrt.default") == ["aten.mul.Tensor"] * 2
    assert readers_of(scheme, "aten.mean.dim") == ["aten.add.Tensor"] * 2
    squares = [
        node for node in scheme.graph.nodes if str(node.target) == "aten.mul.Tensor" and node.args[0] is node.args[1]
    ]
    assert len(squares) == 2 and all(str(user.target) == "aten.mean.dim" for node in squares for user in node.users)
    assert all(
        torch.isfinite(torch.tensor(node.args[1])) for node in scheme.graph.nodes if str(node.target) == QUANTIZE
    )


def test_quantisation_in_training() -> None:
    quantizer = NeuropilotQuantizer()
    quantizer._is_qat = True
    model, inputs = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), (torch.randn(2, 4),)
    prepared = prepare_qat_pt2e(export(model, inputs).module(), quantizer)
    prepared(*inputs).sum().backward()
    scheme = convert_pt2e(prepared)
    assert any(str(node.target) == QUANTIZE for node in scheme.graph.nodes)
