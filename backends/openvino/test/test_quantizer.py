# SPDX-License-Identifier: BSD-3-Clause
"""The seven modes: what is quantised, and that OpenVINO computes what the quantised graph computes in eager."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from openvino_lowering import assert_close, lower
from torch import Tensor, nn
from torch.export import export

from sdk.backends.openvino.convert import to_model
from sdk.backends.openvino.quantizer import OpenVINOQuantizer, QuantizationMode, quantize_model
from sdk.exir import to_edge


class Net(nn.Module):
    """A convolution with a batch norm, a sum, and linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.second = nn.Conv2d(32, 32, 3, padding=1)
        self.inner, self.last = nn.Linear(32, 64), nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm(self.first(x)))
        x = x + self.second(x)
        return self.last(torch.nn.functional.gelu(self.inner(x.mean((2, 3)))))


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.inner, self.last = nn.Embedding(50, 64), nn.Linear(64, 64), nn.Linear(64, 50)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.last(torch.relu(self.inner(self.embedding(tokens))))


@pytest.fixture
def net() -> tuple[nn.Module, list[tuple[Tensor, ...]]]:
    torch.manual_seed(0)
    model = Net().eval()
    with torch.no_grad():
        model.norm.running_mean.normal_()
        model.norm.running_var.uniform_(0.5, 2)
    return model, [(torch.randn(4, 3, 16, 16),) for _ in range(8)]


def quantized(model: nn.Module, samples: list[Any], mode: QuantizationMode, **options: Any) -> Any:
    captured = export(model, samples[0]).module()
    return quantize_model(captured, samples, mode=mode, **options)


def operators(module: Any) -> list[str]:
    return [str(node.target) for node in module.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize("mode", QuantizationMode)
def test_openvino_computes_what_the_quantised_graph_computes(mode: QuantizationMode, net: Any) -> None:
    model, samples = net
    module = quantized(model, samples, mode)
    lowered = lower(module, samples[0])
    assert len(lowered.delegates) == 1, lowered.left()
    with torch.no_grad():
        (found,), eager, floats = lowered.run(*samples[0]), module(*samples[0]), model(*samples[0])
    scale = float(floats.abs().max())
    # One step of an activation may be rounded the other way. Nothing saturates on CPUs without VNNI.
    assert float((found - eager).abs().max()) < (1e-5 if mode.is_weights_only else 0.02) * scale
    assert float((found - floats).abs().max()) < (0.12 if mode.bits == 4 else 0.05) * scale


WITH_ACTIVATIONS = [mode for mode in QuantizationMode if not mode.is_weights_only]


@pytest.mark.parametrize("mode", WITH_ACTIVATIONS)
def test_weights_of_8_bits_are_right_where_sums_do_not_saturate(mode: QuantizationMode, net: Any) -> None:
    """Without the overflow fix, OpenVINO gives the results of the graph in eager mode: in floats on every CPU, and in
    integers on CPUs with VNNI. Other CPUs add pairs of products in int16, whose saturation gives errors of 16 % here;
    programs without the fix are not meant for them."""
    import openvino

    model, samples = net
    module = quantized(model, samples, mode, extra_quantizer_options={"overflow_fix": "disable"})
    edge = to_edge(export(module, samples[0]))
    # By default, OpenVINO on CPUs with VNNI also quantises activations that the graph leaves in floats.
    on_floats = {"INFERENCE_PRECISION_HINT": "f32", "LP_TRANSFORMS_MODE": "NO", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
    compiled = openvino.Core().compile_model(to_model(edge.exported_program()), "CPU", on_floats)
    with torch.no_grad():
        eager, floats = module(*samples[0]), model(*samples[0])
    scale = float(floats.abs().max())
    found = torch.from_numpy(compiled([samples[0][0].numpy()])[0])
    assert float((found - eager).abs().max()) < 1e-5 * scale
    if _has_vnni():
        (integers,) = lower(module, samples[0]).run(*samples[0])
        assert float((integers - eager).abs().max()) < 0.02 * scale
    # Without the fix, weights have one more bit, so the graph is closer to the float model.
    fixed = quantized(model, samples, mode)
    with torch.no_grad():
        assert (eager - floats).square().mean() < (fixed(*samples[0]) - floats).square().mean()


def _has_vnni() -> bool:
    """Whether the CPU, as far as oneDNN may use it, adds products of bytes in 32 bits; other processors than x86 do."""
    if os.environ.get("ONEDNN_MAX_CPU_ISA") in ("AVX2", "AVX512_CORE"):
        return False
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return platform.machine() != "x86_64" or re.search(r"\b(avx512_vnni|avx_vnni)\b", flags) is not None


@pytest.mark.parametrize("mode", QuantizationMode)
def test_programs_are_smaller(mode: QuantizationMode) -> None:
    """int8 weights have a fourth of the bytes, int4 weights an eighth."""
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(4))).eval()
    samples = [(torch.randn(4, 256),)]
    floats = len(lower(model, samples[0]).buffer)
    module = quantized(model, samples, mode, extra_quantizer_options={"all_layers": True} if mode.bits == 4 else None)
    size = len(lower(module, samples[0]).buffer)
    assert size < (0.27 if mode.bits == 4 else 0.4) * floats, size / floats


def test_modes_differ_in_their_activations(net: Any) -> None:
    model, samples = net
    found = {}
    for mode in (QuantizationMode.INT8_SYM, QuantizationMode.INT8_MIXED, QuantizationMode.INT8_TRANSFORMER):
        module = quantized(model, samples, mode)
        calls = [n for n in module.graph.nodes if "quantized_decomposed.quantize_per_tensor" in str(n.target)]
        found[mode] = (len(calls), {int(n.args[2]) for n in calls})
    symmetric, mixed, transformer = found.values()
    assert symmetric[1] == {0} and mixed[1] != {0}
    assert transformer[0] < mixed[0]  # the sum stays in floats


@pytest.mark.parametrize("mode", [QuantizationMode.INT4WO_SYM, QuantizationMode.INT4WO_ASYM])
def test_embeddings_and_the_last_layer_keep_int8_unless_told_otherwise(mode: QuantizationMode) -> None:
    torch.manual_seed(0)
    model, samples = Words().eval(), [(torch.randint(0, 50, (2, 7)),)]
    names = dict(quantized(model, samples, mode).named_buffers())
    assert sorted(n for n in names if n.endswith("_int4")) == ["inner_weight_int4"]
    assert sorted(n for n in names if n.endswith("_int8")) == ["embedding_weight_int8", "last_weight_int8"]
    everything = quantized(model, samples, mode, extra_quantizer_options={"all_layers": True, "group_size": -1})
    assert len([n for n, _ in everything.named_buffers() if n.endswith("_int4")]) == 3
    lowered = lower(everything, samples[0])
    assert_close(lowered.run(*samples[0]), everything(*samples[0]))


def test_ignored_parts_stay_in_floats(net: Any) -> None:
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    model, samples = net

    def layers(**scope: Any) -> int:
        quantizer = OpenVINOQuantizer(mode=QuantizationMode.INT8WO_SYM)
        quantizer.set_ignored_scope(**scope)
        prepared = prepare_pt2e(export(model, samples[0]).module(), quantizer)
        prepared(*samples[0])
        return len([n for n, _ in convert_pt2e(prepared).named_buffers() if n.endswith("_int8")])

    assert layers() == 4
    assert layers(types=["conv2d"]) == 2
    assert layers(names=["linear"]) == 3
    assert layers(patterns=["linear.*"]) == 2
    assert layers(subgraphs=[(["conv2d_1"], ["linear"])]) == 2
    assert layers(names=["no_such_node"], validate=False) == 4
    with pytest.raises(ValueError, match="'no_such_node' matches no node"):
        layers(names=["no_such_node"])


def test_bias_correction_moves_the_mean_back(net: Any) -> None:
    model, samples = net
    captured = export(model, samples[0]).module()
    off, on = (
        quantize_model(captured, samples, mode=QuantizationMode.INT8_MIXED, fast_bias_correction=flag)
        for flag in (None, True)
    )
    with torch.no_grad():
        floats = torch.cat([model(*sample) for sample in samples]).mean(0)
        errors = [(torch.cat([m(*s) for s in samples]).mean(0) - floats).abs().mean() for m in (off, on)]
    assert errors[1] < 0.7 * errors[0]


def test_what_nncf_alone_has_is_refused(net: Any) -> None:
    model, samples = net
    captured = export(model, samples[0]).module()
    for options in ({"smooth_quant": True}, {"fast_bias_correction": False}):
        with pytest.raises(ValueError, match="nncf"):
            quantize_model(captured, samples, **options)
    with pytest.raises(ValueError, match="calibration_dataset is empty"):
        quantize_model(captured, [])
    with pytest.raises(TypeError, match="no option ratio"):
        quantize_model(captured, samples, ratio=0.8)
    with pytest.raises(ValueError, match="overflow_fix is 'first_layer_only'; expected 'enable' or 'disable'"):
        OpenVINOQuantizer(overflow_fix="first_layer_only")
    with pytest.raises(ValueError, match="group_size is 0"):
        OpenVINOQuantizer(mode=QuantizationMode.INT4WO_SYM, group_size=0)
