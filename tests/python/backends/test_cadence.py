# SPDX-License-Identifier: BSD-3-Clause
"""Models for cadence: quantised, fused into `cadence::quantized_*`, lowered at each optimisation level, and compared
with the model that has quantize and dequantize. Memory plans with several memories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from sdk.backends.cadence.aot import compiler
from sdk.backends.cadence.aot.compiler_utils import broadcastable, quantize_multiplier, quantize_tensor_multiplier
from sdk.backends.cadence.aot.memory_planning import (
    CadenceMemoryPlanning,
    find_peak_memory_usage,
    find_peak_memory_usages_per_memory,
)
from sdk.backends.cadence.aot.pass_utils import get_compute_nodes_in_gm
from sdk.backends.cadence.aot.quantizer import quantizer as quantizers
from sdk.backends.cadence.aot.quantizer.patterns import Conv2dBNReluPattern0
from sdk.backends.cadence.aot.utils import MemoryConfig, MemoryPlanningAlgoFailure
from sdk.devtools import parse_etrecord
from sdk.exir import ExecutorchBackendConfig

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:torchao.*")


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, groups=8)
        self.head = nn.Linear(8 * 3 * 3, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.max_pool2d(torch.relu(self.first(x)), 2)
        return self.head(torch.relu(self.second(x)).flatten(1))


class Keyword(nn.Module):
    """A convolution over time, a sum and a concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(8, 8, 3, padding=1)
        self.depth = nn.Conv1d(8, 8, 3, padding=1, groups=8)
        self.head = nn.Linear(16 * 12, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.conv(x))
        return self.head(torch.cat((y + self.depth(y), y), 1).flatten(1))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.query, self.key = nn.Linear(16, 8), nn.Linear(16, 8, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x)
        return torch.softmax(self.query(x) @ self.key(x).transpose(1, 2), -1)


_MODELS: dict[str, tuple[type[nn.Module], tuple[int, ...]]] = {
    "conv": (ConvNet, (1, 3, 10, 10)),
    "keyword": (Keyword, (1, 8, 12)),
    "attention": (Attention, (2, 5, 16)),
}
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


def _model(name: str) -> tuple[nn.Module, tuple[Tensor]]:
    kind, shape = _MODELS[name]
    torch.manual_seed(3)
    return kind().eval(), (torch.randn(shape),)


def _names(module: torch.fx.GraphModule) -> set[str]:
    return {str(packet).rsplit(".", 1)[-1] for packet in get_compute_nodes_in_gm(module)}


def _close(found: Tensor, expected: Tensor) -> None:
    """Within two steps of int8 of the range: chains are rounded once where q/dq rounds at each operator."""
    assert (found - expected).abs().max() <= 2.1 * (expected.max() - expected.min()) / 255


@pytest.mark.parametrize(("model_name", "quantizer_name"), _FUSED)
def test_chains_are_fused(model_name: str, quantizer_name: str) -> None:
    """CAD-04, QNT-16: every quantizer."""
    model, inputs = _model(model_name)
    quantizer = getattr(quantizers, quantizer_name)()
    fake = compiler.get_fake_quant_model(model, inputs, quantizer)
    expected = fake(*inputs)
    program = compiler.apply_pre_edge_transform_passes(torch.export.export(fake, inputs, strict=True), quantizer)
    assert {name for name in _names(program.graph_module) if name.startswith("quantized_")} == _FUSED[
        (model_name, quantizer_name)
    ]
    _close(program.module()(*inputs), expected)


@pytest.mark.parametrize("opt_level", [0, 1, 2, 3, 4])
def test_optimisation_levels_keep_the_results(opt_level: int) -> None:
    """CAD-01, CAD-03."""
    for name in ("conv", "keyword"):
        model, inputs = _model(name)
        lowered = compiler.export_to_cadence(model, inputs, opt_level=opt_level)
        torch.testing.assert_close(lowered.exported_program().module()(*inputs), model(*inputs))
        edge = compiler.quantize_and_export_to_edge(model, inputs)
        expected = edge.exported_program().module()(*inputs)
        lowered = compiler.quantize_and_export_to_cadence(model, inputs, opt_level=opt_level)
        found = lowered.exported_program().module()(*inputs)
        assert (found - expected).abs().max() < 1e-5
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


def test_relu_is_fused_only_if_limits_are_its() -> None:
    """A zero point above the least integer keeps negative numbers, which ReLU must remove."""

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
    model, inputs = _model("attention")
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
    assert broadcastable([2, 3], [3]) and broadcastable([2, 3], [2, 1]) and broadcastable([], [3])
    assert not broadcastable([2, 3], [2]) and not broadcastable([3], [2, 3])


def _planned(config: MemoryConfig, mem_algo: int, **options: Any) -> torch.fx.GraphModule:
    model, inputs = _model("conv")
    lowered = compiler.export_to_cadence(model, inputs)
    planning = CadenceMemoryPlanning(config, opt_level=1, mem_algo=mem_algo, **options)
    program = lowered.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    return program.exported_program()


@pytest.mark.parametrize("mem_algo", [0, 1])
def test_plans_use_the_fastest_memory_first(mem_algo: int) -> None:
    """A small fast memory takes what fits; the rest is in the second one."""
    config = MemoryConfig([2048, 1 << 20], memory_alignments=[4, 16])
    program = _planned(config, mem_algo)
    what = (program.graph_module, program.graph_signature, True, True)
    used = find_peak_memory_usages_per_memory(*what)
    assert 0 < used[0] <= 2048 and 0 < used[1] <= 1 << 20
    peak, _ = find_peak_memory_usage(*what)
    assert max(used) <= peak + 16 * 40 and peak <= sum(used)
    alone = _planned(MemoryConfig([1 << 20]), mem_algo)
    (one,) = find_peak_memory_usages_per_memory(alone.graph_module, alone.graph_signature, True, True)
    assert one <= sum(used) + 2048


def test_a_memory_that_is_too_small_is_named() -> None:
    config = MemoryConfig([128, 1024], memory_names=["dtcm", "sram"])
    with pytest.raises(MemoryPlanningAlgoFailure, match=r"Cannot fit a tensor of \d+ bytes .*dtcm: 128, sram: 1024"):
        _planned(config, 0)
    with pytest.raises(ValueError, match="mem_algo: expected 0 to 1, found 2"):
        CadenceMemoryPlanning(config, opt_level=1, mem_algo=2)


def test_constraints_choose_memories() -> None:
    """A tensor that is pinned lies where it must, one that is blocked lies elsewhere."""

    class Pin:
        def __init__(self, constraints: Any) -> None:
            self.constraints = constraints

        def __call__(self, module: torch.fx.GraphModule) -> None:
            nodes = [node for node in module.graph.nodes if node.op == "call_function" and "conv2d" in str(node.target)]
            self.constraints.add_absolute_placement_constraint(nodes[0], 2, 64)
            self.constraints.add_mem_id_to_blocklist(nodes[1].meta["spec"], 1)

    config = MemoryConfig([1 << 20, 1 << 20])
    program = _planned(config, 0, additional_constraint_gen_passes=[Pin])
    convs = [node.meta["spec"] for node in program.graph.nodes if "conv2d" in str(node.target)]
    assert (convs[0].mem_id, convs[0].mem_offset) == (2, 64)
    assert convs[1].mem_id == 2


def test_records_are_written(tmp_path: Path) -> None:
    """CAD-03: a program with its ETRecord."""
    model, inputs = _model("conv")
    program = compiler.export_to_executorch_gen_etrecord(model, inputs, output_dir=str(tmp_path))
    assert program.buffer[4:8] == b"ET12"
    assert parse_etrecord(str(tmp_path / "etrecord.bin")).edge_dialect_program is not None
