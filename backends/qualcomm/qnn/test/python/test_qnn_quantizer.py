# SPDX-License-Identifier: BSD-3-Clause
"""`QnnQuantizer`: what it annotates, and how near the results are to float32."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export
from torchao.quantization.pt2e import MinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

sys.path.insert(0, str(Path(__file__).resolve().parent))

from qnn_lowering import computed, lower, quantized, quantizer_of

from npu_models import MODELS, Function, model_of, snr, written
from sdk.backends.qualcomm.qnn.verify import ReferenceProgram
from sdk.backends.qualcomm.quantizer.observers.per_channel_param_observer import (
    PerChannelParamObserverWithLossEvaluation,
)
from sdk.backends.qualcomm.quantizer.quantizer import (
    ModuleQConfig,
    QnnQuantizer,
    QuantDtype,
    get_submodule_name_predicate,
    get_submodule_type_predicate,
)
from sdk.backends.qualcomm.serialization.qc_schema import QcomChipset, QnnExecuTorchBackendType
from sdk.exir.backend.utils import get_delegates, get_non_lowered_nodes

aten = torch.ops.aten

LEAST = {
    QuantDtype.use_16a16w: {"convolutional": 80, "vision": 80, "decoder": 24},
    QuantDtype.use_16a8w: {"convolutional": 50, "vision": 45, "decoder": 24},
    QuantDtype.use_16a4w: {"convolutional": 25, "vision": 30, "decoder": 19},
    QuantDtype.use_8a8w: {"convolutional": 44, "vision": 40, "decoder": 22},
    QuantDtype.use_8a4w: {"convolutional": 25, "vision": 30, "decoder": 19},
    QuantDtype.use_fp16a8w: {"convolutional": 50, "vision": 44, "decoder": 44},
    QuantDtype.use_16a2w: {"convolutional": 9, "vision": 7, "decoder": 5},
}
"""The signal-to-noise ratios in dB that the schemes reach for random weights."""


@pytest.mark.parametrize("scheme", LEAST, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("name", MODELS)
def test_the_interpreter_is_as_near_to_float32_as_the_scheme(name: str, scheme: QuantDtype, tmp_path: Path) -> None:
    """QNN-08: the model is one delegate, and the interpreter's signal-to-noise ratio is at most 1 dB below that of the
    quantised model in PyTorch."""
    model, inputs = model_of(name)
    simulated = quantized(model, inputs, quantizer_of(scheme))
    expected = model(*inputs)
    manager = lower(simulated, inputs)
    graph = manager.exported_program().graph_module.graph
    assert len(list(get_delegates(graph))) == 1 and not get_non_lowered_nodes(graph)
    found, same = snr(expected, computed(manager, inputs, tmp_path)), snr(expected, simulated(*inputs))
    print(f"{name} {scheme.name}: {found:.1f} dB, the scheme in PyTorch {same:.1f} dB")
    assert found >= same - 1 and found >= LEAST[scheme][name]


@pytest.mark.sampled
def test_mobilenet_v2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """QNN-08: the whole net is one partition, as near to float32 as the scheme. The images are small, and the weights
    are random."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[5]))
    model = importlib.import_module("examples.mobilenet_v2.model").mobilenet_v2()
    inputs = (torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0)),)
    simulated, expected = quantized(model, inputs), model(*inputs)
    manager = lower(simulated, inputs)
    graph = manager.exported_program().graph_module.graph
    assert len(list(get_delegates(graph))) == 1 and not get_non_lowered_nodes(graph)
    found, same = snr(expected, computed(manager, inputs, tmp_path)), snr(expected, simulated(*inputs))
    print(f"MobileNetV2 8a8w: {found:.1f} dB, the scheme in PyTorch {same:.1f} dB")
    assert found >= same - 1


def test_a_quantized_model_is_computed_in_integers(tmp_path: Path) -> None:
    model, inputs = model_of("convolutional")
    program = ReferenceProgram(written(lower(quantized(model, inputs), inputs), tmp_path))
    (delegate,) = program._methods["forward"]._delegates
    graph = delegate.of("forward")
    in_floats = [call.name for call, rule in zip(graph.graph.calls, graph._rules, strict=True) if rule is None]
    # The pooling's result has another scale than its operand.
    assert in_floats == ["quantize", "quantize", "dequantize"]


def test_blocks_of_weights(tmp_path: Path) -> None:
    """QNN-08: a scale for each block is nearer to float32 than one for each channel."""
    torch.manual_seed(0)
    model, inputs = nn.Conv2d(64, 8, 1).eval(), (torch.randn(1, 64, 4, 4),)
    with torch.no_grad():
        model.weight[:, :16] *= 20
    expected = model(*inputs)
    channels, blocks = quantizer_of(QuantDtype.use_16a4w), quantizer_of(QuantDtype.use_16a4w_block)
    blocks.set_block_size_map({"conv2d": (1, 16, 1, 1)})
    simulated = quantized(model, inputs, blocks)
    found = snr(expected, computed(lower(simulated, inputs), inputs, tmp_path))
    assert found >= snr(expected, simulated(*inputs)) - 1
    assert found > snr(expected, quantized(model, inputs, channels)(*inputs)) + 3
    with pytest.raises(ValueError, match=r"conv2d has the blocks \(1, 16, 1, 1\), and the scheme use_16a4w, which has"):
        channels.set_block_size_map({"conv2d": (1, 16, 1, 1)})
        quantized(model, inputs, channels)
    blocks.set_block_size_map({"conv2d": (1, 48, 1, 1)})
    with pytest.raises(ValueError, match="do not divide a weight"):
        quantized(model, inputs, blocks)


def test_two_layers_have_their_own_blocks() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(32, 32, 1), nn.Conv2d(32, 8, 1)).eval()
    quantizer = quantizer_of(QuantDtype.use_16a4w_block)
    quantizer.set_block_size_map({"conv2d": (1, 8, 1, 1), "conv2d_1": (1, 16, 1, 1)})
    simulated = quantized(model, (torch.randn(1, 32, 2, 2),), quantizer)
    sizes = [list(n.args[1]) for n in simulated.graph.nodes if "dequantize_affine" in str(n.target)]
    assert sizes == [[1, 8, 1, 1], [1, 16, 1, 1]]


def annotated(model: nn.Module, inputs: tuple[Any, ...], quantizer: QnnQuantizer) -> Any:
    return prepare_pt2e(export(model, inputs, strict=True).module(), quantizer).graph


def results(model: nn.Module, inputs: tuple[Any, ...], quantizer: QnnQuantizer | None = None) -> dict[str, Any]:
    """The scale, zero point and dtype of the result of each call, by its name."""
    graph = quantized(model, inputs, quantizer).graph
    return {
        node.name: (*user.args[1:3], user.args[5])
        for node in graph.nodes
        for user in node.users
        if "quantize_per_tensor" in str(user.target) and "dequantize" not in str(user.target)
    }


def test_nodes_and_operators_stay_float() -> None:
    """QNN-08"""
    model, inputs = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)).eval(), (torch.randn(2, 4),)
    quantizer = quantizer_of()
    quantizer.add_discard_nodes(["linear_1"])
    found = results(model, inputs, quantizer)
    assert {"linear", "relu"} <= found.keys() and "linear_1" not in found
    quantizer = quantizer_of()
    quantizer.add_discard_ops([aten.linear.default])
    assert "linear_1" not in results(model, inputs, quantizer)
    with pytest.raises(ValueError, match="is not among the operators that are quantised"):
        quantizer.add_discard_ops([aten.linear.default])


class Nested(nn.Module):
    """Two submodules."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Sequential(nn.Linear(4, 4)), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x))


@pytest.mark.parametrize(
    "predicate", [get_submodule_name_predicate("first"), get_submodule_type_predicate("Sequential")]
)
def test_submodules_have_their_own_scheme(predicate: Any) -> None:
    """QNN-08"""
    quantizer = quantizer_of()
    quantizer.set_submodule_qconfig_list([(predicate, ModuleQConfig(QuantDtype.use_16a8w))])
    found = results(Nested().eval(), (torch.randn(2, 4),), quantizer)
    assert found["linear"][2] is torch.int32 and found["linear_1"][2] is torch.uint8


def test_annotations_of_users_come_last() -> None:
    """QNN-08"""
    seen: list[Any] = []
    quantizer = quantizer_of()
    quantizer.add_custom_quant_annotations([seen.append])
    module = export(nn.ReLU(), (torch.ones(2),), strict=True).module()
    assert quantizer.annotate(module) is module and seen == [module]


def test_results_with_fixed_ranges() -> None:
    """A sigmoid has the range 0 to 1, a 16-bit tanh -1 to 1, whatever is calibrated."""
    x = (torch.tensor([-0.5, 0.5]),)
    assert results(Function(torch.sigmoid), x)["sigmoid"][:2] == (1 / 256, 0)
    wide = quantizer_of(QuantDtype.use_16a8w)
    assert results(Function(torch.sigmoid), x, wide)["sigmoid"][:2] == (1 / 65536, 0)
    assert results(Function(torch.tanh), x, wide)["tanh"][:2] == (1 / 32768, 32768)


def test_the_parts_of_a_concatenation_have_its_range() -> None:
    found = results(
        Function(lambda a, b: torch.cat([torch.relu(a), torch.relu(b)])),
        (torch.tensor([1.0]), torch.tensor([100.0])),
    )
    assert found["relu"] == found["relu_1"] == found["cat"]
    assert found["cat"][0] == pytest.approx(100 / 255)


def test_moved_elements_keep_their_scale() -> None:
    found = results(Function(lambda a: torch.relu(a).reshape(2, 2).transpose(0, 1)), (torch.arange(4.0),))
    assert found["relu"] == found["reshape"] == found["transpose"]


def test_numbers_are_quantised(tmp_path: Path) -> None:
    model, x = Function(lambda a: torch.nn.functional.silu(a * 2.0) / 4 + 1), (torch.linspace(-2, 2, 16),)
    simulated = quantized(model, x)
    names = {str(node.target) for node in simulated.graph.nodes}
    assert not names & {"aten.silu.default", "aten.mul.Scalar"}
    assert snr(model(*x), computed(lower(simulated, x), x, tmp_path)) > 35


def test_a_norm_is_one_call() -> None:
    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.rand(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))

    simulated = quantized(Norm().eval(), (torch.randn(2, 8),))
    assert [n for n in simulated.graph.nodes if str(n.target) == "aten.rms_norm.default"]
    assert not [n for n in simulated.graph.nodes if str(n.target) == "aten.rsqrt.default"]


def test_a_norm_with_a_factor_of_its_epsilon(tmp_path: Path) -> None:
    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.linspace(0.5, 1, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            mean = x.pow(2).mean(-1, keepdim=True)
            return self.weight * (x * torch.rsqrt(torch.add(mean, 0.5, alpha=4)))

    model, x = Norm().eval(), (torch.linspace(-1, 1, 16).reshape(2, 8),)
    simulated = quantized(model, x)
    (norm,) = [n for n in simulated.graph.nodes if str(n.target) == "aten.rms_norm.default"]
    assert norm.args[3] == 2.0
    assert snr(model(*x), computed(lower(simulated, x), x, tmp_path)) > 35


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: torch.add(a, b, alpha=3),
        lambda a, b: torch.sub(a, b, alpha=3),
        lambda a, b: torch.rsub(a, b, alpha=3),
        lambda a, b: torch.rsub(a, 2.0, alpha=3) + b,
        lambda a, b: torch.ops.aten.add.Scalar(a, 2.0, 3) + b,
        lambda a, b: torch.ops.aten.sub.Scalar(a, 2.0, 3) + b,
        lambda a, b: (a * 2).add_(b, alpha=3),
    ],
)
def test_sums_with_factors(function: Any, tmp_path: Path) -> None:
    model, x = Function(function), (torch.linspace(-2, 2, 16), torch.linspace(1, -1, 16))
    assert snr(model(*x), computed(lower(quantized(model, x), x), x, tmp_path)) > 35


def test_infinite_masks_become_finite() -> None:
    mask = torch.full((4, 4), -torch.inf).triu(1)

    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mask", mask.clone())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(x + self.mask, -1)

    model, x = Masked().eval(), (torch.randn(4, 4, generator=torch.Generator().manual_seed(0)),)
    expected = model(*x)
    assert quantized(model, x)(*x).isfinite().all()
    assert snr(expected, quantized(model, x, quantizer_of(QuantDtype.use_16a16w))(*x)) > 40


def test_schemes_that_a_chip_lacks_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    """QNN-08: blockwise weights need an HTP of V69, int16 weights with int16 activations V73."""
    model, inputs = nn.Conv2d(16, 8, 1).eval(), (torch.randn(1, 16, 2, 2),)
    for chip, scheme, message in (
        (QcomChipset.SA8295, QuantDtype.use_16a4w_block, "need an HTP of V69 or later; the SA8295 has V68"),
        (QcomChipset.SM8450, QuantDtype.use_16a16w, "need an HTP of V73 or later; the SM8450 has V69"),
    ):
        quantizer = QnnQuantizer(soc_model=chip)
        quantizer.set_default_quant_config(scheme, is_conv_per_channel=True)
        if scheme is QuantDtype.use_16a4w_block:
            quantizer.set_block_size_map({"conv2d": (1, 8, 1, 1)})
        with pytest.raises(ValueError, match=message):
            annotated(model, inputs, quantizer)
        quantizer.strict = False
        annotated(model, inputs, quantizer)
        assert message in caplog.text


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(RuntimeError, match="no scheme 'use_8a4w' of Qualcomm in training; expected one of use_fp16a8w"):
        ModuleQConfig(QuantDtype.use_8a4w, is_qat=True)
    with pytest.raises(ValueError, match="has no rules for"):
        QnnQuantizer(QnnExecuTorchBackendType.kLpaiBackend)
    with pytest.raises(ValueError, match="expected one of QCM6490"):
        QnnQuantizer(soc_model=QcomChipset.UNKNOWN_SM)


@pytest.mark.parametrize(
    "scheme", [QuantDtype.use_8a8w, QuantDtype.use_16a8w, QuantDtype.use_16a4w, QuantDtype.use_fp16a8w]
)
@pytest.mark.parametrize("is_per_channel", [True, False])
def test_quantisation_in_training(scheme: QuantDtype, is_per_channel: bool) -> None:
    """QNN-08"""
    quantizer = QnnQuantizer()
    quantizer.set_default_quant_config(
        scheme, is_qat=True, is_conv_per_channel=is_per_channel, is_linear_per_channel=is_per_channel
    )
    torch.manual_seed(0)
    model, inputs = nn.Sequential(nn.Linear(8, 8), nn.Sigmoid(), nn.Linear(8, 4)), (torch.randn(4, 8),)
    prepared = prepare_qat_pt2e(export(model, inputs, strict=True).module(), quantizer)
    prepared(*inputs).sum().backward()
    assert snr(model(*inputs), convert_pt2e(prepared)(*inputs)) > 8


def test_activations_may_be_symmetric_and_have_other_observers() -> None:
    quantizer = QnnQuantizer()
    quantizer.set_default_quant_config(QuantDtype.use_8a8w, act_symmetric=True, act_observer=MinMaxObserver)
    assert results(Function(torch.neg), (torch.tensor([-1.0, 3.0]),), quantizer)["neg"][1] == 128


def test_clipped_weights_have_less_error() -> None:
    torch.manual_seed(0)
    weight = torch.randn(4, 256)
    weight[0, 0] = 20
    observer = PerChannelParamObserverWithLossEvaluation(quant_min=-7, quant_max=7)
    clipped = observer(weight)
    scale, zero_point = observer.calculate_qparams()
    assert scale[0] < 20 / 7 and not zero_point.any()
    plain = torch.fake_quantize_per_channel_affine(weight, weight.abs().amax(1) / 7, torch.zeros(4).int(), 0, -7, 7)
    assert (clipped - weight).square().mean() < (plain - weight).square().mean()


def test_embeddings() -> None:
    """A table of embeddings has one scale, or one for each row."""
    ids = (torch.tensor([[0, 2]]),)
    quantizer = QnnQuantizer()
    quantizer.set_default_quant_config(QuantDtype.use_16a8w, is_embedding_per_channel=True)
    for given, kind in ((quantizer_of(), "per_tensor"), (quantizer, "per_channel")):
        graph = quantized(nn.Embedding(4, 8).eval(), ids, given).graph
        (table,) = [n for n in graph.nodes if str(n.target) == "aten.embedding.default"]
        assert kind in str(table.args[0].target)
