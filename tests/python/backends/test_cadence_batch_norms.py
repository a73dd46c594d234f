# SPDX-License-Identifier: BSD-3-Clause
"""Batch norms for cadence: folded into convolutions, with attributes as weights, after training with fake quantisation,
and the counters that training leaves."""

from __future__ import annotations

import copy
import functools
import operator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchao.quantization.pt2e import allow_exported_model_train_eval, move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

from sdk.backends.cadence.aot import compiler
from sdk.backends.cadence.aot.fuse_ops import FuseBatchNormWithConv, FuseQuantizedBatchNormWithConv
from sdk.backends.cadence.aot.pass_utils import count_node, get_compute_nodes_in_gm
from sdk.backends.cadence.aot.quantizer.passes.fuse_ops import FuseQATConvBN
from sdk.backends.cadence.aot.quantizer.pattern_utils import DQ_PER_TENSOR, Q_PER_TENSOR
from sdk.backends.cadence.aot.quantizer.quantizer import CadenceFusedConvReluQuantizer
from sdk.backends.cadence.aot.remove_ops import RemoveBNTrackingMutationsPass
from sdk.exir import to_edge
from sdk.exir.dialects._ops import ops as exir_ops

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:torchao.*", "ignore:.*quantized.*deprecated")
_aten, _quantized = exir_ops.edge.aten, exir_ops.edge.quantized


class _Root(nn.Module):
    """Four channels: a batch norm with statistics, and the weights of a convolution."""

    def __init__(self, **more: Any) -> None:
        super().__init__()
        values = torch.Generator().manual_seed(5)
        for name in ("gamma", "beta", "mean"):
            self.register_buffer(name, torch.randn(4, generator=values))
        self.register_buffer("var", torch.rand(4, generator=values) + 0.5)
        for name, value in more.items():
            if isinstance(value, Tensor):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)


def _graph(root: nn.Module, convolution: Any, weights: list[str], tail: tuple[Any, ...], norm: Any,
           order: list[str], numbers: tuple[Any, ...], several: bool) -> torch.fx.GraphModule:  # fmt: skip
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    conv = graph.call_function(convolution, (x, *[graph.get_attr(name) for name in weights], *tail))
    found = graph.call_function(norm, (conv, *[graph.get_attr(name) for name in order], *numbers))
    graph.output(graph.call_function(operator.getitem, (found, 0)) if several else found)
    return torch.fx.GraphModule(root, graph)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_attributes_are_folded(transposed: bool, has_bias: bool, groups: int) -> None:
    weight = torch.randn(6, 4 // groups, 3) if transposed else torch.randn(4, 6 // groups, 3)
    root = _Root(weight=weight, bias=torch.randn(4))
    weights = ["weight", "bias"] if has_bias else ["weight"]
    tail = (*(() if has_bias else (None,)), [1], [1], [1], transposed, [0], groups)
    order, numbers = ["gamma", "beta", "mean", "var"], (False, 0.1, 1e-3)
    norm = _aten.native_batch_norm.default
    module = _graph(root, _aten.convolution.default, weights, tail, norm, order, numbers, True)
    x = torch.randn(2, 6, 7)
    expected = module(x)
    assert FuseBatchNormWithConv()(module).modified
    assert count_node(module, norm) == 0
    torch.testing.assert_close(module(x), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("per_channel", [False, True])
def test_packed_weights_are_folded(per_channel: bool) -> None:
    """The weights keep their scale, so that results differ by the rounding of the weights."""
    weight = torch.randn(4, 3, 3, 3) / 4
    scales = weight.abs().amax((1, 2, 3)) / 30  # the batch norm multiplies weights by up to 4
    if per_channel:
        integers = torch.quantize_per_channel(weight, scales, torch.zeros(4, dtype=torch.long), 0, torch.qint8)
    else:
        integers = torch.quantize_per_tensor(weight, scales.max().item(), 0, torch.qint8)
    packed = torch.ops.quantized.conv2d_prepack(integers, torch.randn(4), [1, 1], [1, 1], [1, 1], 1)
    root = _Root(packed=packed)
    norm, order = _quantized.batch_norm2d.default, ["gamma", "beta", "mean", "var"]
    tail = (0.1, 128)  # no result in front of the batch norm is clamped
    module = _graph(root, _quantized.conv2d.new, ["packed"], tail, norm, order, (1e-3, *tail), False)
    x = torch.quantize_per_tensor(torch.randn(1, 3, 6, 6), 0.05, 0, torch.quint8)
    expected = module(x).dequantize()
    (conv,) = module.graph.find_nodes(op="call_function", target=_quantized.conv2d.new)
    assert FuseQuantizedBatchNormWithConv().maybe_remove_or_replace(conv)
    module.recompile()
    assert count_node(module, norm) == 0
    assert (module(x).dequantize() - expected).abs().max() < 0.5


class _Block(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=bias)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.norm(self.conv(x)))


def _trained(model: nn.Module, x: Tensor) -> tuple[torch.export.ExportedProgram, Tensor]:
    quantizer = CadenceFusedConvReluQuantizer(is_qat=True)
    prepared = prepare_qat_pt2e(torch.export.export(model.train(), (x,), strict=True).module(), quantizer)
    allow_exported_model_train_eval(prepared)
    for _ in range(5):
        prepared(x)
    move_exported_model_to_eval(prepared)
    converted = convert_pt2e(prepared)
    expected = converted(x)
    program = torch.export.export(converted, (x,))
    return compiler.apply_pre_edge_transform_passes(program, quantizer), expected


@pytest.mark.slow  # torchao traces the patterns of trained layers
@pytest.mark.parametrize("bias", [False, True])
def test_trained_models_are_fused(bias: bool) -> None:
    """CAD-04: training with fake quantisation, and a batch norm that is folded."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8)
    program, expected = _trained(_Block(bias), x)
    lowered = compiler._lower_ep_to_cadence(program).exported_program()
    names = [str(packet) for packet in get_compute_nodes_in_gm(lowered.graph_module)]
    assert any("quantized_conv2d" in name for name in names) and not any("batch_norm" in name for name in names)
    step = (expected.max() - expected.min()) / 255
    assert (lowered.module()(x) - expected).abs().max() <= 3 * step


class _Divided(nn.Module):
    """A quantised convolution whose result is divided before the batch norm, as fake-quantised training leaves it."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(4)
        self.register_buffer("weight", torch.randint(-90, 90, (4, 3, 1, 1), dtype=torch.int8))
        self.register_buffer("divisor", torch.full((4, 1, 1), _SCALE))
        self.register_buffer("bias", torch.arange(4.0).reshape(1, 4, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        quantize, dequantize = Q_PER_TENSOR, DQ_PER_TENSOR
        limits = (0, -128, 127, torch.int8)
        x = dequantize(quantize(x, 0.03, *limits), 0.03, *limits)
        conv = nn.functional.conv2d(x, dequantize(self.weight, 0.01, *limits))
        rounded = dequantize(quantize(conv, 0.05, *limits), 0.05, *limits)
        return self.norm(rounded / self.divisor + self.bias)


_SCALE = (1 + nn.BatchNorm2d(4).eps) ** -0.5
"""The scale of a new batch norm."""


@functools.cache
def _divided() -> tuple[torch.export.ExportedProgram, Tensor, Tensor]:
    """The program, an input and the result. Tests that change the program restore it."""
    torch.manual_seed(0)
    model, x = _Divided().eval(), torch.randn(2, 3, 4, 4)
    return torch.export.export(model, (x,)), x, model(x)


def _folds(program: torch.export.ExportedProgram) -> bool:
    return bool(FuseQATConvBN(program)(program.graph_module).modified)


@pytest.mark.parametrize("shape", [(4, 4), (4,), (1, 1, 4, 1), (1, 4, 4, 4), (1, 1, 4, 1, 1)])
def test_only_divisors_of_channels_are_folded(shape: tuple[int, ...]) -> None:
    """CAD-04: a table of divisors over rows and columns is not the scale of a batch norm."""
    program, *_ = _divided()
    saved = program.state_dict["divisor"]
    program.state_dict["divisor"] = torch.full(shape, _SCALE)
    assert not _folds(program)
    program.state_dict["divisor"] = saved


@pytest.mark.parametrize("at", range(5))
def test_what_others_read_is_not_folded(at: int) -> None:
    """Folding would change the value of each node between the convolution and the batch norm for its other users."""
    program, *_ = _divided()
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    first = next(i for i, node in enumerate(nodes) if node.target == torch.ops.aten.conv2d.default)
    with program.graph.inserting_before(program.graph.output_node()):
        reader = program.graph.call_function(torch.ops.aten.neg.default, (nodes[first + at],))
    assert not _folds(program)
    program.graph.erase_node(reader)


def test_divided_convolutions_are_folded() -> None:
    """CAD-04: the result is rounded as the model rounds it, and the bias in steps of 0.0003."""
    shared, x, expected = _divided()
    program = copy.deepcopy(shared)
    assert _folds(program)
    assert (program.module()(x) - expected).abs().max() < 0.06


class _FloatBias(nn.Module):
    """The operators that torchao leaves of a batch norm after a convolution that was trained without a bias."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-90, 90, (4, 3, 1, 1), dtype=torch.int8))
        self.register_buffer("bias", torch.randn(4))

    def forward(self, x: Tensor, rounded: bool) -> Tensor:
        limits = (0, -128, 127, torch.int8)
        x = DQ_PER_TENSOR(Q_PER_TENSOR(x, 0.03, *limits), 0.03, *limits)
        found = nn.functional.conv2d(x, DQ_PER_TENSOR(self.weight, 0.01, *limits), self.bias).relu()
        limits = (-128, *limits[1:])
        return DQ_PER_TENSOR(Q_PER_TENSOR(found, 0.05, *limits), 0.05, *limits) if rounded else found


def test_biases_of_floats_are_quantised() -> None:
    """CAD-04: the convolution's operator takes a bias of int32. If the result stays in floats, the bias does, too."""
    torch.manual_seed(0)
    model, x = _FloatBias().eval(), torch.randn(2, 3, 4, 4)
    program = torch.export.export(model, (x, True))
    lowered = compiler.apply_pre_edge_transform_passes(program, CadenceFusedConvReluQuantizer())
    targets = [str(node.target) for node in lowered.graph.nodes if node.op == "call_function"]
    assert any("quantized_conv2d" in t for t in targets) and not any("relu" in t for t in targets), targets
    assert (lowered.module()(x, True) - model(x, True)).abs().max() <= 0.05 + 1e-6
    assert not _folds(torch.export.export(model, (x, False)))


def test_counters_are_removed() -> None:
    torch.manual_seed(0)
    model = _Block(True).train()
    program = to_edge(torch.export.export(model, (torch.randn(2, 3, 8, 8),), strict=True)).exported_program()
    assert any("num_batches_tracked" in name for name in program.graph_signature.buffers_to_mutate.values())
    result = RemoveBNTrackingMutationsPass()(program)
    signature = result.exported_program.graph_signature
    assert result.modified
    assert not any("num_batches_tracked" in str(spec.target) for spec in signature.input_specs)
    assert not any("num_batches_tracked" in name for name in signature.buffers_to_mutate.values())
    assert signature.buffers_to_mutate  # the statistics are still updated
    assert not RemoveBNTrackingMutationsPass()(result.exported_program).modified
