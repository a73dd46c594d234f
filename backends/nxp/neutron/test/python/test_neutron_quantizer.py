# SPDX-License-Identifier: BSD-3-Clause
"""`NeutronQuantizer`: what it annotates, and how near the results are to float32."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import export
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent))

from neutron_lowering import TARGET, computed, lower, quantized

from npu_models import MODELS, Function, model_of, snr
from sdk.backends.nxp.backend.neutron_target_spec import NeutronHWVersion, NeutronTargetSpec
from sdk.backends.nxp.quantizer import qconfig
from sdk.backends.nxp.quantizer.annotator import ANNOTATORS
from sdk.backends.nxp.quantizer.neutron_quantizer import NeutronQuantizer
from sdk.backends.nxp.quantizer.utils import calibrate_and_quantize
from sdk.exir.backend.utils import get_delegates, get_non_lowered_nodes

QUANTIZE = "quantized_decomposed.quantize_per_tensor.default"


@pytest.mark.parametrize("name", MODELS)
def test_the_interpreter_is_as_near_to_float32_as_the_scheme(name: str, tmp_path: Path) -> None:
    """NXP-07, NXP-08: the interpreter's signal-to-noise ratio is at most 1 dB below that of the quantised model in
    PyTorch."""
    model, inputs = model_of(name)
    scheme, expected = quantized(model, inputs), model(*inputs)
    found = snr(expected, computed(lower(scheme, inputs), inputs, tmp_path))
    print(f"{name}: {found:.1f} dB, the scheme in PyTorch {snr(expected, scheme(*inputs)):.1f} dB")
    assert found >= snr(expected, scheme(*inputs)) - 1 and found >= 20


@pytest.mark.sampled
def test_mobilenet_v2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NXP-01: the whole net is one partition, as near to float32 as the scheme. The images are small, and the weights
    are random."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[5]))
    model = importlib.import_module("examples.mobilenet_v2.model").mobilenet_v2()
    inputs = (torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0)),)
    scheme, expected = quantized(model, inputs), model(*inputs)
    manager = lower(scheme, inputs)
    graph = manager.exported_program().graph_module.graph
    left = [str(node.target) for node in get_non_lowered_nodes(graph)]
    assert len(list(get_delegates(graph))) == 1 and len(left) == 2, left  # the model's input and output
    found = snr(expected, computed(manager, inputs, tmp_path))
    print(f"MobileNetV2: {found:.1f} dB, the scheme in PyTorch {snr(expected, scheme(*inputs)):.1f} dB")
    assert found >= snr(expected, scheme(*inputs)) - 1


def test_the_specifications() -> None:
    """NXP-08: int8, static; activations with zero points and one scale, weights symmetric."""
    activation, weight, channels = qconfig.activation(False), qconfig.symmetric(False), qconfig.channels(False)
    assert (activation.dtype, activation.qscheme) == (torch.int8, torch.per_tensor_affine) and not activation.is_dynamic
    assert (weight.dtype, weight.qscheme, weight.quant_min) == (torch.int8, torch.per_tensor_symmetric, -127)
    # ExecuTorch's page says that each tensor has one scale; its release 1.4 has one for each channel of a convolution.
    assert (channels.qscheme, channels.ch_axis) == (torch.per_channel_symmetric, 0)


def test_a_target() -> None:
    """NXP-01, NXP-07: a target has the same properties with and without `converter_flavor`."""
    for target in (TARGET, NeutronTargetSpec(target="imxrt700", converter_flavor="SDK_25_09")):
        assert (target.get_name(), target.get_hw_version()) == ("imxrt700", NeutronHWVersion.N3)
        assert (target.get_num_units(), target.get_num_pipes(), target.get_num_macs()) == (1, 8, 8)
        assert not target.is_subsystem()
    with pytest.raises(ValueError, match="there is no target 'imx95' of Neutron; expected imxrt700"):
        NeutronTargetSpec("imx95")


def scales_of(scheme: Any, name: str) -> set[tuple[Any, ...]]:
    """The scales and zero points of the results of calls of an operator."""
    return {
        tuple(user.args[1:3])
        for node in scheme.graph.nodes
        if str(node.target) == name
        for user in node.users
        if str(user.target) == QUANTIZE
    }


def test_activation_functions_with_fixed_ranges() -> None:
    """NXP-08: sigmoid and tanh have their fixed ranges, whatever the calibration data are."""
    x = (torch.tensor([[-9.0, 0.0, 9.0]]),)
    assert scales_of(quantized(Function(torch.sigmoid), x), "aten.sigmoid.default") == {(1 / 256, -128)}
    assert scales_of(quantized(Function(torch.tanh), x), "aten.tanh.default") == {(1 / 128, 0)}


FIXED = {
    "neg": lambda x, y: -torch.sigmoid(x),
    "neg, moved": lambda x, y: -torch.sigmoid(x).reshape(8, 4).transpose(0, 1),
    "neg, tanh": lambda x, y: -torch.tanh(x),
    "exp": lambda x, y: torch.exp(torch.sigmoid(x)),
    "abs": lambda x, y: torch.abs(torch.tanh(x)),
    "clamp": lambda x, y: torch.sigmoid(x).clamp(min=2.0),
    "sum": lambda x, y: torch.softmax(x, -1).sum(1),
    "sum, sigmoid": lambda x, y: torch.sigmoid(x).sum(1, keepdim=True),
    "pad": lambda x, y: functional.pad(torch.sigmoid(x), (1, 1), value=3.0),
    "cat": lambda x, y: torch.cat([torch.sigmoid(x), 5 * y]),
    "cat, tanh behind": lambda x, y: torch.cat([5 * y, torch.tanh(x)]),
    "cat, nested": lambda x, y: torch.cat([torch.cat([torch.sigmoid(x), torch.tanh(y)]), 5 * y]),
    "cat, both": lambda x, y: torch.cat([torch.sigmoid(x), torch.sigmoid(y)]),
    "cat, two ranges": lambda x, y: torch.cat([torch.sigmoid(x), torch.tanh(y)]),
    "cat, sum": lambda x, y: -torch.cat([torch.sigmoid(x), torch.softmax(y, -1)]),
    "maximum": lambda x, y: torch.maximum(torch.sigmoid(x), 5 * y),
    "maximum, two ranges": lambda x, y: torch.maximum(torch.sigmoid(x), torch.tanh(y)),
    "minimum": lambda x, y: torch.minimum(torch.tanh(x), 5 * y),
}


@pytest.mark.parametrize("name", FIXED)
def test_results_beyond_a_fixed_range(name: str, tmp_path: Path) -> None:
    """NXP-07, NXP-08: an operand's fixed range does not limit the range of the results computed from it."""
    source = torch.Generator().manual_seed(5)
    inputs = (2 * torch.randn(4, 8, generator=source), 2 * torch.randn(4, 8, generator=source))
    model = Function(FIXED[name])
    expected, scheme = model(*inputs), quantized(model, inputs)
    most = 0.02 * max(1.0, float(expected.abs().max()))
    torch.testing.assert_close(scheme(*inputs), expected, atol=most, rtol=0)
    manager = lower(scheme, inputs)
    left = {str(node.target).partition(".")[0] for node in get_non_lowered_nodes(manager.exported_program().graph)}
    assert not any("aten" in each for each in left), left
    torch.testing.assert_close(computed(manager, inputs, tmp_path), expected, atol=most, rtol=0)


def test_a_product_has_calibrated_scales() -> None:
    """ExecuTorch clips the operands of a multiplication at 0.5; here they keep their own ranges."""
    a, b = torch.tensor([[-1.0, 4.0]]), torch.tensor([[2.0, 3.0]])
    torch.testing.assert_close(quantized(Function(torch.mul), (a, b))(a, b), a * b, atol=0.1, rtol=0)


def test_nothing_is_quantised_between_a_layer_and_its_activation_function() -> None:
    for function in (torch.nn.ReLU(), torch.nn.ReLU6(), torch.nn.Hardtanh(0.0, 6.0)):
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), function).eval()
        scheme = quantized(model, (torch.randn(1, 3, 4, 4),))
        assert not scales_of(scheme, "aten.conv2d.default")
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.Sigmoid()).eval()
    assert len(scales_of(quantized(model, (torch.randn(1, 3, 4, 4),)), "aten.conv2d.default")) == 1


@pytest.mark.parametrize("has_norm", [False, pytest.param(True, marks=pytest.mark.slow)])  # torchao traces its patterns
def test_training(has_norm: bool) -> None:
    """NXP-07: `train_fn` gets the prepared model; without it, ranges are calibrated."""
    norm = torch.nn.BatchNorm2d(4) if has_norm else torch.nn.Identity()
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), norm, torch.nn.ReLU())
    inputs = (torch.randn(2, 3, 6, 6),)
    seen: list[Any] = []

    def train(module: torch.fx.GraphModule) -> None:
        seen.append(module)
        module(*inputs).sum().backward()

    for function in (train, None):
        quantizer = NeutronQuantizer(TARGET, is_qat=True)
        scheme = calibrate_and_quantize(export(model, inputs), [inputs], quantizer, True, function)
        assert any(str(node.target) == QUANTIZE for node in scheme.graph.nodes)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("quantizer_is_qat", "is_qat", "message"),
    [
        (False, False, "train_fn is given, but is_qat is False"),
        (True, False, "train_fn is given, but is_qat is False"),
        (False, True, "is_qat is True, and the quantizer was made with is_qat=False"),
    ],
)
def test_a_function_that_could_not_train_is_refused(quantizer_is_qat: bool, is_qat: bool, message: str) -> None:
    def train(module: torch.fx.GraphModule) -> None:
        raise AssertionError("called")

    inputs = (torch.randn(2, 3),)
    quantizer = NeutronQuantizer(TARGET, is_qat=quantizer_is_qat)
    with pytest.raises(ValueError, match=message):
        calibrate_and_quantize(export(torch.nn.ReLU(), inputs), [inputs], quantizer, is_qat, train)


def test_the_operators_of_the_release() -> None:
    """NXP-09: the 48 operators of release 1.4, with all of their forms."""
    names = {str(operator).split(".")[1].rstrip("_") for operator in ANNOTATORS}
    assert len(names) >= 44 and {"conv_transpose2d", "bmm", "prelu", "upsample_nearest2d", "log"} <= names
    assert NeutronQuantizer.get_supported_operators() == list(ANNOTATORS)
