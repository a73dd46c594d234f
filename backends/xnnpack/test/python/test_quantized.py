# SPDX-License-Identifier: BSD-3-Clause
"""Quantised models lowered to XNNPACK: what is delegated, and that the outputs are those of the quantised graph in
PyTorch eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.utils import compute_error
from torchao.utils import unwrap_tensor_subclass
from xnnpack_payloads import graphs, kinds

from sdk.backends.transforms.duplicate_dynamic_quant_chain import DuplicateDynamicQuantChainPass
from sdk.backends.xnnpack.operators.elementwise import SumConfig
from sdk.backends.xnnpack.partition.config import ConfigPrecisionType
from sdk.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)
from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.backend.utils import get_non_lowered_nodes, get_refusals
from sdk.runtime import Runtime

Inputs = tuple[torch.Tensor, ...]

IMAGE = (torch.linspace(-3, 3, 4 * 8 * 8).mul(7).sin().reshape(1, 4, 8, 8),)
IMAGE_OF_COLOURS = (IMAGE[0][:, :3],)
ROWS = (torch.linspace(-4, 4, 6 * 64).mul(5).sin().reshape(6, 64),)


class Residual(nn.Module):
    """A block of ResNet, with its norms."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.second(torch.relu(self.first(x)))) + x)


class Inverted(nn.Module):
    """A block of MobileNetV2, with the network's head."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for conv in (nn.Conv2d(4, 12, 1), nn.Conv2d(12, 12, 3, padding=1, groups=12), nn.Conv2d(12, 4, 1)):
            layers += [conv, nn.BatchNorm2d(conv.out_channels), nn.ReLU6()]
        self.layers, self.pool, self.head = nn.Sequential(*layers[:-1]), nn.AdaptiveAvgPool2d(1), nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.pool(x + self.layers(x)).flatten(1))


class Attention(nn.Module):
    """Attention with one head, whose matrix multiplications are in floats."""

    def __init__(self) -> None:
        super().__init__()
        self.projections, self.out = nn.ModuleList(nn.Linear(64, 64) for _ in range(3)), nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = (project(x) for project in self.projections)
        return self.out((query @ key.t() / 8).softmax(-1) @ value)


class Joined(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.up = nn.Conv2d(4, 4, 1), nn.ConvTranspose2d(8, 4, 2, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.max_pool2d(torch.cat([self.conv(x), x * 0.5], 1), 2)
        return self.up(nn.functional.hardtanh(x) * x.mean([2, 3], keepdim=True))


class Functions(nn.Module):
    """Functions between two layers become tables of 256 results."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        functions: list[Callable[..., Any]] = [torch.sigmoid, torch.tanh, nn.functional.gelu, nn.functional.elu]
        functions += [nn.functional.leaky_relu]
        for function, layer in zip(functions, self.layers, strict=False):
            x = function(layer(x) * 3)
        return self.layers[-1](x)


def quantize(model: nn.Module, inputs: Inputs, **how: bool) -> nn.Module:
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**how))  # type: ignore[arg-type]
    prepared = prepare_pt2e(export(model.eval(), inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def lower(model: nn.Module, inputs: Inputs, partitioner: XnnpackPartitioner | None = None) -> EdgeProgramManager:
    return to_edge_transform_and_lower(export(model, inputs), partitioner=[partitioner or XnnpackPartitioner()])


def run(lowered: EdgeProgramManager, inputs: Inputs) -> torch.Tensor:
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    return torch.as_tensor(method.execute(inputs)[0])


def is_as_quantized(found: torch.Tensor, wanted: torch.Tensor, quanta: int = 2) -> bool:
    """Whether the results of a model that ends with a quantize differ by at most `quanta` steps of its scale."""
    steps = wanted.unique()
    step = float((steps[1:] - steps[:-1]).min())
    return float((found - wanted).abs().max()) <= (quanta + 0.01) * step


def averaged() -> nn.Module:
    layers = (nn.Conv2d(4, 8, 3, padding=1), nn.ReLU(), nn.AvgPool2d(3, 2), nn.Conv2d(8, 4, 1), nn.AvgPool2d(2))
    return nn.Sequential(*layers)


STATIC: dict[str, tuple[Callable[[], nn.Module], Inputs, list[str]]] = {
    "residual": (Residual, IMAGE, ["Convert", "StaticTranspose", "Conv2d", "Conv2d", "Add", "Convert"]),
    "inverted": (Inverted, IMAGE, ["Conv2d", "DepthwiseConv2d", "Conv2d", "Add", "GlobalAvgPooling2d"]),
    "attention": (Attention, ROWS, ["FullyConnected", "BatchMatrixMultiply", "Softmax"]),
    "mlp": (lambda: nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8)), ROWS, ["FullyConnected"]),
    "joined": (Joined, IMAGE, ["Concatenate2", "MaxPooling2d", "Multiply", "ConvTranspose2d"]),
    "average pools": (averaged, IMAGE, ["Conv2d", "DepthwiseConv2d"]),
    "functions": (Functions, ROWS, ["Sigmoid", "Tanh", "Gelu", "ELU", "LeakyReLU"]),
}


@pytest.mark.sampled
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("name", STATIC)
def test_static(name: str, per_channel: bool) -> None:
    """The model is one delegate with the integers of the graph."""
    torch.manual_seed(0)
    make, inputs, expected = STATIC[name]
    model = make().eval()
    quantized = quantize(model, inputs, is_per_channel=per_channel)
    lowered = lower(quantized, inputs)
    (graph,) = graphs(lowered)
    assert not get_non_lowered_nodes(lowered.exported_program().graph)
    assert set(expected) <= set(kinds(graph))
    found, wanted = run(lowered, inputs), quantized(*inputs)
    assert is_as_quantized(found, wanted)
    assert compute_error(model(*inputs), found) > 20


def test_no_floats_are_left_between_layers() -> None:
    """Every activation of the residual block is part of the layer before it, and only the ends convert."""
    torch.manual_seed(0)
    (graph,) = graphs(lower(quantize(Residual(), IMAGE, is_per_channel=True), IMAGE))
    assert kinds(graph) == ["Convert", "StaticTranspose", "Conv2d", "Conv2d", "Add", "StaticTranspose", "Convert"]


def test_means_over_windows_are_sums_of_integers() -> None:
    """XNN-09: XNNPACK has average pools only for floats. The divisor of an average that does not count its padding is
    not constant."""
    torch.manual_seed(0)
    (graph,) = graphs(lower(quantize(averaged(), IMAGE, is_per_channel=True), IMAGE))
    convolutions = ["Conv2d", "DepthwiseConv2d"] * 2
    assert kinds(graph) == ["StaticTranspose", "Convert", *convolutions, "StaticTranspose", "Convert"]
    padded = nn.Sequential(nn.Conv2d(4, 4, 1), nn.AvgPool2d(3, 2, 1, count_include_pad=False))
    quantized = quantize(padded, IMAGE, is_per_channel=True)
    lowered = lower(quantized, IMAGE)
    assert "AvgPooling2d" in kinds(graphs(lowered)[0])
    assert is_as_quantized(run(lowered, IMAGE), quantized(*IMAGE))


def test_zeros_around_a_quantised_image_are_part_of_the_mean() -> None:
    """XNN-09: the zeros are stored as the zero point of the scale, which is not the integer 0 after a ReLU."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.AvgPool2d(3, 2, 1), nn.Conv2d(8, 4, 1))
    quantized = quantize(model, IMAGE, is_per_channel=True)
    lowered = lower(quantized, IMAGE)
    (graph,) = graphs(lowered)
    assert kinds(graph) == [
        "StaticTranspose",
        "Convert",
        "Conv2d",
        "DepthwiseConv2d",
        "Conv2d",
        "StaticTranspose",
        "Convert",
    ]
    assert is_as_quantized(run(lowered, IMAGE), quantized(*IMAGE))


def test_windows_that_are_larger_than_the_image() -> None:
    """XNN-09: such a window is reduced to the part that reads the image, and keeps its scales."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(4, 8, 3, padding=9, dilation=9), nn.ReLU(), nn.Conv2d(8, 4, 3, padding=5, dilation=5)
    )
    quantized = quantize(model, IMAGE, is_per_channel=True)
    lowered = lower(quantized, IMAGE)
    (graph,) = graphs(lowered)
    windows = [node.xnode_union.kernel_height for node in graph.xnodes if hasattr(node.xnode_union, "kernel_height")]
    assert windows == [1, 3]
    assert is_as_quantized(run(lowered, IMAGE), quantized(*IMAGE))


@pytest.mark.parametrize("window", [5, 7])
def test_wide_depthwise_convolutions_compute_in_floats(window: int) -> None:
    """XNN-09: XNNPACK has int8 kernels for windows of up to 25 elements; larger windows would take several times as
    long."""
    torch.manual_seed(0)
    middle = nn.Conv2d(19, 19, window, padding=window // 2, groups=19)
    model = nn.Sequential(nn.Conv2d(4, 19, 1), middle, nn.Conv2d(19, 4, 1))
    quantized = quantize(model, IMAGE, is_per_channel=True)
    lowered = lower(quantized, IMAGE)
    (graph,) = graphs(lowered)
    conversions = ["Convert"] * (2 if window == 7 else 0)
    between = [*conversions[:1], "DepthwiseConv2d", *conversions[1:]]
    assert kinds(graph) == ["StaticTranspose", "Convert", "Conv2d", *between, "Conv2d", "StaticTranspose", "Convert"]
    assert is_as_quantized(run(lowered, IMAGE), quantized(*IMAGE))


@pytest.mark.parametrize("name", ["attention", "mlp", "residual"])
def test_dynamic(name: str) -> None:
    """XNN-09: a scale for each row, so at least as close to the model as the graph with one for all."""
    torch.manual_seed(0)
    make, inputs, _ = STATIC[name]
    model = make().eval()
    quantized = quantize(model, inputs, is_per_channel=True, is_dynamic=True)
    lowered = lower(quantized, inputs)
    (graph,) = graphs(lowered)
    assert "Convert" in kinds(graph) and not get_non_lowered_nodes(lowered.exported_program().graph)
    wanted = model(*inputs)
    assert compute_error(wanted, run(lowered, inputs)) > compute_error(wanted, quantized(*inputs)) - 1


@pytest.mark.parametrize("granularity", [PerGroup(32), PerAxis(0)], ids=str)
@pytest.mark.parametrize("bits", [torch.int4, torch.int8], ids=str)
def test_linear_weights_of_torchao(granularity: Any, bits: torch.dtype) -> None:
    """XNN-11, QNT-07: layers that the kernels lack (int8 groups) stay outside, and their results are right."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32, bias=False)).eval()
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=bits, weight_granularity=granularity)
    quantize_(model, config)
    unwrap_tensor_subclass(model)
    lowered = lower(model, ROWS)
    found, wanted = run(lowered, ROWS), model(*ROWS)
    assert compute_error(wanted, found) > 40  # scales of groups have 8 bits in the kernels
    if bits == torch.int4 or isinstance(granularity, PerAxis):
        (graph,) = graphs(lowered)
        assert kinds(graph).count("FullyConnected") == 2 and not get_non_lowered_nodes(lowered.exported_program().graph)


def test_precisions() -> None:
    """XNN-02: nodes of other precisions stay outside, and the program computes the same."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8), nn.Softmax(-1))
    quantized = quantize(model, ROWS, is_per_channel=True)
    nodes = {}
    for precision in ConfigPrecisionType:
        lowered = lower(quantized, ROWS, XnnpackPartitioner(config_precisions=precision))
        nodes[precision] = {kind for graph in graphs(lowered) for kind in kinds(graph)}
        torch.testing.assert_close(run(lowered, ROWS), quantized(*ROWS), rtol=0, atol=0.02)
    assert nodes[ConfigPrecisionType.STATIC_QUANT] >= {"FullyConnected", "Convert"}
    assert "Softmax" not in nodes[ConfigPrecisionType.STATIC_QUANT]
    assert nodes[ConfigPrecisionType.FP32] == {"Softmax"} and not nodes[ConfigPrecisionType.DYNAMIC_QUANT]
    dynamic = quantize(model, ROWS, is_per_channel=True, is_dynamic=True)
    (*parts,) = graphs(lower(dynamic, ROWS, XnnpackDynamicallyQuantizedPartitioner()))
    assert {kind for graph in parts for kind in kinds(graph)} == {"FullyConnected", "Convert"}


def test_an_operator_for_each_delegate() -> None:
    """XNN-02, per_op_mode: the delegates hand each other floats or integers, and compute the same."""
    torch.manual_seed(0)
    quantized = quantize(Inverted(), IMAGE, is_per_channel=True)
    lowered = lower(quantized, IMAGE, XnnpackPartitioner(per_op_mode=True))
    assert len(graphs(lowered)) > 3
    assert is_as_quantized(run(lowered, IMAGE), quantized(*IMAGE))


def test_a_delegate_takes_a_layer_with_quantised_input_weight_and_output() -> None:
    """QNT-10: in the graph, a quantised layer is a float layer between dequantize and quantize. Computed from the
    integers and scales of these nodes, it gives the same integers; the delegate differs by at most one step."""
    torch.manual_seed(0)
    quantized = quantize(nn.Linear(64, 8), ROWS)
    (linear,) = (n for n in quantized.graph.nodes if n.target == torch.ops.aten.linear.default)
    (quantize_out,) = linear.users
    (dequantize_out,) = quantize_out.users
    dequantize_x, dequantize_weight, bias = linear.args
    _, scale, zero, low, high, dtype = dequantize_x.args
    assert (low, high, dtype) == (-128, 127, torch.int8)
    x = (torch.round(ROWS[0] / scale) + zero).clamp(low, high) - zero
    integers, weight_scale, weight_zero, *_ = dequantize_weight.args
    weight = getattr(quantized, integers.target).double() - weight_zero
    sums = x.double() @ weight.T * (scale * weight_scale) + quantized.get_parameter(bias.target).detach().double()
    _, out_scale, out_zero, low, high, _ = dequantize_out.args
    expected = (torch.round(sums / out_scale) + out_zero).clamp(low, high)
    assert quantize_out.args[1:3] == (out_scale, out_zero)
    torch.testing.assert_close(quantized(*ROWS), ((expected - out_zero) * out_scale).float())
    lowered = lower(quantized, ROWS)
    assert kinds(graphs(lowered)[0]) == ["Convert", "FullyConnected", "Convert"]
    assert is_as_quantized(run(lowered, ROWS), quantized(*ROWS), quanta=1)


class FarApart(nn.Module):
    """A sum of which the ratio of the scales exceeds the range of the int8 kernels."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ops = torch.ops.quantized_decomposed
        fine = ops.quantize_per_tensor.default(x, 1e-4, 0, -128, 127, torch.int8)
        fine = ops.dequantize_per_tensor.default(fine, 1e-4, 0, -128, 127, torch.int8)
        coarse = ops.quantize_per_tensor.default(fine + fine, 1.0, 0, -128, 127, torch.int8)
        return ops.dequantize_per_tensor.default(coarse, 1.0, 0, -128, 127, torch.int8)


def test_scales_that_are_too_far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler leaves the sum on floats, and the runtime refuses a payload that does not."""
    lowered = lower(FarApart(), ROWS)
    torch.testing.assert_close(run(lowered, ROWS), FarApart()(*ROWS))
    monkeypatch.setattr(SumConfig, "refusal_in_integers", lambda *_: None)
    program = lower(FarApart(), ROWS).to_executorch().buffer
    with pytest.raises(RuntimeError):
        Runtime.get().load_program(program).load_method("forward")


def test_chains_are_shared_or_not() -> None:
    """LC-08, LC-09: layers share the choice of an input's scale, or each has its own. The graph still quantises the
    weights (`fold_quantize=False`)."""
    torch.manual_seed(0)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))
    prepared = prepare_pt2e(export(Attention().eval(), ROWS).module(), quantizer)
    prepared(*ROWS)
    quantized = convert_pt2e(prepared, fold_quantize=False)
    expected, chains = quantized(*ROWS), _chains(quantized)
    DuplicateDynamicQuantChainPass()(quantized)
    assert chains < _chains(quantized) == 4  # three projections of one input, and the projection after them
    torch.testing.assert_close(quantized(*ROWS), expected)
    (graph,) = graphs(lower(quantized, ROWS))
    assert kinds(graph).count("Convert") == 2 and kinds(graph).count("FullyConnected") == 4


def _chains(module: Any) -> int:
    return sum("choose_qparams" in str(node.target) for node in module.graph.nodes)


class Rounded(nn.Module):
    """A sum in another type of integers."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.numbers = (0.1, 3, torch.iinfo(dtype).min, torch.iinfo(dtype).max, dtype)

    def rounded(self, x: torch.Tensor) -> torch.Tensor:
        q = torch.ops.quantized_decomposed
        return q.dequantize_per_tensor(q.quantize_per_tensor(x, *self.numbers), *self.numbers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rounded(self.rounded(x) + 1)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16], ids=str)
def test_other_integers_than_int8_stay_outside_with_a_reason(dtype: torch.dtype) -> None:
    """XNNPACK's kernels here have only int8. Models with other integers run on other kernels."""
    model, (low, high) = Rounded(dtype), (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    inputs = (torch.randn(4, 6),)
    lowered = lower(model, inputs)
    left = get_non_lowered_nodes(lowered.exported_program().graph)
    reasons = {get_refusals(node).get("XnnpackBackend") for node in left if "quantize" in node.target.__name__}
    assert reasons == {f"its integers are {dtype} from {low} to {high}, and XNNPACK takes torch.int8 from -128 to 127"}
    torch.testing.assert_close(run(lowered, inputs), model(*inputs))


def test_an_image_of_few_channels_is_transposed_before_it_is_quantised() -> None:
    """Transposing the floats of such an image takes less time than transposing its bytes."""
    graph = graphs(lower(quantize(nn.Conv2d(3, 4, 3), IMAGE_OF_COLOURS), IMAGE_OF_COLOURS))[0]
    assert kinds(graph)[:3] == ["StaticTranspose", "Convert", "Conv2d"]
