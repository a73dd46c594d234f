# SPDX-License-Identifier: BSD-3-Clause
"""Models for cadence: quantised, fused into `cadence::quantized_*`, lowered at each optimisation level, and compared
with the model that has quantize and dequantize. Memory plans with several memories."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path

import pytest
import torch
from cadence_models import model_and_inputs
from torch import Tensor, nn
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from sdk.backends.cadence.aot import compiler
from sdk.backends.cadence.aot.compiler_utils import broadcastable, quantize_multiplier, quantize_tensor_multiplier
from sdk.backends.cadence.aot.pass_utils import get_compute_nodes_in_gm
from sdk.backends.cadence.aot.quantizer import quantizer as quantizers
from sdk.backends.cadence.aot.quantizer.patterns import Conv2dBNReluPattern0
from sdk.devtools import parse_etrecord

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:torchao.*")


_FUSED = {
    ("conv", "CadenceDefaultQuantizer"): {"quantized_conv2d_nchw", "quantized_linear", "quantized_relu",
                                          "quantized_max_pool2d_nchw"},
    ("conv", "CadenceFusedConvReluQuantizer"): {"quantized_conv2d_nchw", "quantized_linear",
                                                "quantized_max_pool2d_nchw"},
    ("conv", "CadenceWith16BitConvActivationsQuantizer"): {"quantized_conv2d_nchw"},
    ("keyword", "CadenceWakeWordQuantizer"): {"quantized_conv1d_ncl", "quantized_depthwise_conv1d_ncl",
                                              "quantized_add", "quantized_linear", "quantized_relu"},
    ("attention", "CadenceWithLayerNormQuantizer"): {"quantized_layer_norm", "quantized_linear", "quantized_matmul"},
    ("attention", "CadenceWithSoftmaxQuantizer"): {"quantized_softmax", "quantized_linear", "quantized_matmul"},
    ("attention", "CadenceWith16BitLinearActivationsQuantizer"): {"quantized_linear"},
    ("attention", "CadenceWith16BitMatmulActivationsQuantizer"): {"quantized_matmul"},
    ("conv", "CadenceNopQuantizer"): set(),
}  # fmt: skip


def _names(module: torch.fx.GraphModule) -> set[str]:
    return {str(packet).rsplit(".", 1)[-1] for packet in get_compute_nodes_in_gm(module)}


def _close(found: Tensor, expected: Tensor) -> None:
    """Asserts that results differ by at most two steps of int8 of the range: chains are rounded once, q/dq at each
    operator."""
    assert (found - expected).abs().max() <= 2.1 * (expected.max() - expected.min()) / 255


@pytest.mark.parametrize(("model_name", "quantizer_name"), _FUSED)
def test_chains_are_fused(model_name: str, quantizer_name: str) -> None:
    """CAD-04, QNT-16: every quantizer."""
    model, inputs = model_and_inputs(model_name)
    quantizer = getattr(quantizers, quantizer_name)()
    fake = compiler.get_fake_quant_model(model, inputs, quantizer)
    expected = fake(*inputs)
    program = compiler.apply_pre_edge_transform_passes(torch.export.export(fake, inputs, strict=True), quantizer)
    assert {name for name in _names(program.graph_module) if name.startswith("quantized_")} == _FUSED[
        (model_name, quantizer_name)
    ]
    _close(program.module()(*inputs), expected)


@functools.cache
def _quantized_result(name: str) -> Tensor:
    """Returns the result of the quantised model before Cadence's passes."""
    model, inputs = model_and_inputs(name)
    return compiler.quantize_and_export_to_edge(model, inputs).exported_program().module()(*inputs)


@pytest.mark.parametrize("opt_level", [0, 1, 2, 3, 4])
def test_optimisation_levels_keep_the_results(opt_level: int) -> None:
    """CAD-01, CAD-03."""
    for name in ("conv", "keyword"):
        model, inputs = model_and_inputs(name)
        lowered = compiler.export_to_cadence(model, inputs, opt_level=opt_level)
        torch.testing.assert_close(lowered.exported_program().module()(*inputs), model(*inputs))
        lowered = compiler.quantize_and_export_to_cadence(model, inputs, opt_level=opt_level)
        found = lowered.exported_program().module()(*inputs)
        assert (found - _quantized_result(name)).abs().max() < 1e-5
        typed = {each for each in _names(lowered.exported_program().graph_module) if "asym8s" in each}
        assert bool(typed) == (opt_level == 4)


def test_mixed_weights_of_8_bits() -> None:
    """CAD-04: int8 weights with float32 activations, in the layers whose shapes have kernels."""
    torch.manual_seed(0)
    linear = nn.Linear(8, 6).eval()
    x = torch.randn(1, 8)
    program = compiler.quantize_pt2(linear, (x,), quantizers.CadenceW8A32MixedQuantizer())
    assert "quantized_w8a32_linear" in _names(program.graph_module)
    assert (program.module()(x) - linear(x)).abs().max() < 0.05
    wide = compiler.quantize_pt2(linear, (torch.randn(4, 8),), quantizers.CadenceW8A32MixedQuantizer())
    assert "quantized_w8a32_linear" not in _names(wide.graph_module)
    conv, signal = nn.Conv1d(4, 8, 3).eval(), torch.randn(2, 4, 3)
    program = compiler.quantize_pt2(conv, (signal,), quantizers.CadenceW8A32MixedQuantizer())
    assert "quantized_w8a32_conv" in _names(program.graph_module)
    assert (program.module()(signal) - conv(signal)).abs().max() < 0.05


class _Sum(nn.Module):
    """Adds up its inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("sum", torch.zeros(1, 4))

    def forward(self, x: Tensor) -> Tensor:
        total = self.sum + x
        self.sum.copy_(total)
        return total


def test_calibration_keeps_the_state() -> None:
    """The program starts from the model's values, not from those after calibration."""
    model, inputs = _Sum().eval(), (torch.tensor([[1.0, 2.0, 3.0, -4.0]]),)
    program = compiler.quantize_pt2(
        model, inputs, quantizers.CadenceWakeWordQuantizer(), calibration_data=[inputs, inputs]
    )
    assert model.sum.abs().max() == 0 and program.state_dict["sum"].abs().max() == 0
    module = program.module()
    for calls in (1, 2):
        assert (module(*inputs) - calls * inputs[0]).abs().max() < 0.1


def test_relu_is_fused_only_if_limits_are_its() -> None:
    """A ReLU is fused only if the zero point is the smallest integer. Otherwise the range contains negative numbers,
    which ReLU must remove."""

    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 1)

        def forward(self, x: Tensor) -> Tensor:
            y = torch.relu(self.conv(x))
            return torch.cat((y, x), 1)  # one scale for both

    torch.manual_seed(0)
    x = torch.randn(1, 3, 4, 4)
    quantizer = quantizers.CadenceFusedConvReluQuantizer()
    model = Shared().eval()
    fake = compiler.get_fake_quant_model(model, (x,), quantizer)
    expected = fake(x)
    program = compiler.apply_pre_edge_transform_passes(torch.export.export(fake, (x,), strict=True), quantizer)
    _close(program.module()(x), expected)


def test_a_batch_norm_is_never_dropped() -> None:
    assert Conv2dBNReluPattern0().fuse(None, None) is None  # type: ignore[arg-type]


def test_operators_that_exports_keep() -> None:
    kept = quantizers.CadenceRmsNormNopQuantizer().get_ops_to_preserve_from_decomposition()
    assert kept == [torch.ops.aten.rms_norm.default]
    nested = quantizers.CadenceQuantizer([quantizers.CadenceWithLayerNormQuantizer()])
    assert torch.ops.aten.layer_norm.default in nested.get_ops_to_preserve_from_decomposition()
    names = [name for name in vars(quantizers) if name.startswith("Cadence") and name.endswith("Quantizer")]
    assert len(names) >= 13  # the eleven, and their two bases


def test_annotations_have_the_bits_of_the_quantizer() -> None:
    model, inputs = model_and_inputs("attention")
    program = compiler.trace(model, inputs, ops_to_keep=[torch.ops.aten.linear.default])
    module = program.module()
    quantizers.CadenceWith16BitLinearActivationsQuantizer().annotate(module)
    found = [node.meta[Q_ANNOTATION_KEY] for node in module.graph.nodes if Q_ANNOTATION_KEY in node.meta]
    assert [each.output_qspec.dtype for each in found] == [torch.int16, torch.int16]


@pytest.mark.parametrize("scale", [0.5, 1.0, 0.9999999999, 1e-5, 3.7, 2.0**-20])
def test_multipliers(scale: float) -> None:
    multiplier, shift = quantize_multiplier(scale)
    assert 2**30 <= multiplier < 2**31
    assert multiplier / 2**31 * 2.0**shift == pytest.approx(scale, rel=1e-9)
    multipliers, shifts = quantize_tensor_multiplier(torch.full((2, 1), scale))
    assert multipliers.shape == shifts.shape == (2, 1)


def test_broadcasting() -> None:
    assert broadcastable([2, 3], [3]) and broadcastable([2, 3], [2, 1]) and broadcastable([3], [])
    assert not broadcastable([2, 3], [2]) and not broadcastable([3], [2, 3]) and not broadcastable([], [3])
    for wanted, given in itertools.product(((), (1,), (3,), (1, 3), (2, 1), (2, 3)), repeat=2):
        try:
            found = torch.broadcast_shapes(wanted, given) == wanted
        except RuntimeError:
            found = False
        assert broadcastable(wanted, given) is found


def test_records_are_written(tmp_path: Path) -> None:
    """CAD-03: a program with its ETRecord."""
    model, inputs = model_and_inputs("conv")
    program = compiler.export_to_executorch_gen_etrecord(model, inputs, output_dir=str(tmp_path))
    assert program.buffer[4:8] == b"ET12"
    assert parse_etrecord(str(tmp_path / "etrecord.bin")).edge_dialect_program is not None
