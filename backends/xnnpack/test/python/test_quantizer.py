# SPDX-License-Identifier: BSD-3-Clause
"""XNNPACKQuantizer: what it quantises, and with which parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.quantization.pt2e.quantizer import FixedQParamsQuantizationSpec, QuantizationAnnotation, Quantizer
from torchao.quantization.utils import compute_error

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import (
    QuantizationConfig,
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime

IMAGE = torch.linspace(-3, 3, 3 * 8 * 8).sin().reshape(1, 3, 8, 8)
STATIC = get_symmetric_quantization_config(is_per_channel=True)
DYNAMIC = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)


class Network(nn.Module):
    """A convolution with its norm, a residual, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.act = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()
        self.depthwise = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.act(self.norm(self.conv(x)))
        x = (self.depthwise(x) + x) * 2.0
        return self.head(self.pool(x).flatten(1))


def quantized(
    quantizer: Quantizer, model: nn.Module | None = None, inputs: torch.Tensor = IMAGE
) -> tuple[nn.Module, GraphModule]:
    torch.manual_seed(0)
    model = (Network() if model is None else model).eval()
    prepared = prepare_pt2e(export(model, (inputs,)).module(), quantizer)
    prepared(inputs)
    return model, convert_pt2e(prepared)


def name(node: Any) -> str:
    return str(node.target) if isinstance(node, Node) else ""


def in_integers(module: GraphModule) -> list[str]:
    """Operators whose operands, except biases, were all quantised."""
    found = []
    for node in module.graph.nodes:
        if node.op == "call_function" and name(node).startswith("aten"):
            operands = node.all_input_nodes[:2]
            if operands and all(name(operand).startswith("quantized_decomposed.dequantize") for operand in operands):
                found.append(name(node).split(".")[1])
    return found


def test_everything_that_the_documents_name_is_quantised() -> None:
    """QNT-01, QNT-06, XNN-09, XNN-10: the results stay close to the float model's."""
    model, module = quantized(XNNPACKQuantizer().set_global(STATIC))
    assert in_integers(module) == ["conv2d", "conv2d", "add", "mul", "adaptive_avg_pool2d", "flatten", *["linear"] * 2]
    assert compute_error(model(IMAGE), module(IMAGE)) > 30  # dB; 8 bits have about 48


def test_weights_are_symmetric_and_norms_are_folded() -> None:
    """QNT-11, QNT-12: -127 to 127 around zero."""
    _, module = quantized(XNNPACKQuantizer().set_global(STATIC))
    weights = [n for n in module.graph.nodes if "dequantize_per_channel" in name(n)]
    assert len(weights) == 4
    for node in weights:
        assert node.args[4:6] == (-127, 127) and not getattr(module, node.args[2].target).any()
    assert not any("batch_norm" in name(node) for node in module.graph.nodes)


def test_without_calibration_torchao_warns() -> None:
    """QNT-03, QNT-05."""
    prepared = prepare_pt2e(
        export(nn.Conv2d(1, 1, 1), (torch.ones(1, 1, 1, 1),)).module(), XNNPACKQuantizer().set_global(STATIC)
    )
    with pytest.warns(UserWarning, match="must run observer before"):
        convert_pt2e(prepared)


def test_dynamic_quantises_the_weighted_layers_when_they_run() -> None:
    """XNN-09, LC-08: dynamic quantisation needs no calibration."""
    _, module = quantized(XNNPACKQuantizer().set_global(DYNAMIC))
    assert in_integers(module) == ["conv2d", "linear", "linear"]  # depthwise kernels are static only
    assert sum("choose_qparams" in name(node) for node in module.graph.nodes) == 3


STEPS = torch.linspace(-3, 3, 4 * 5).sin().reshape(1, 4, 5)


class Sequence(nn.Module):
    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.layer, self.head = layer, nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(x)[0])


RECURRENT: dict[str, Callable[[], nn.RNNBase]] = {
    "lstm": lambda: nn.LSTM(5, 6, batch_first=True),
    "gru": lambda: nn.GRU(5, 6, batch_first=True),
    "rnn": lambda: nn.RNN(5, 6, batch_first=True, nonlinearity="relu"),
}


@pytest.mark.parametrize("kind", RECURRENT)
def test_products_of_a_recurrent_layer_are_quantised_when_it_runs(kind: str) -> None:
    """One matrix multiplication gets the inputs of all steps; one for each step gets its state, which starts as zero.
    Gates and states stay floats, and the head is quantised statically, as the quantizer requires."""
    model, module = quantized(XNNPACKQuantizer().set_global(STATIC), Sequence(RECURRENT[kind]()), STEPS)
    assert in_integers(module) == ["linear"] * 5
    chosen = [node for node in module.graph.nodes if "choose_qparams" in name(node)]
    assert len(chosen) == 4
    assert len({n.args[0].target for n in module.graph.nodes if "dequantize_per_channel" in name(n)}) == 3
    assert (
        sum(name(node).startswith("quantized_decomposed.quantize_per_tensor.default") for node in module.graph.nodes)
        == 2
    )
    assert compute_error(model(STEPS), module(STEPS)) > 30


class Cell(nn.Module):
    def __init__(self, cell: nn.RNNCellBase) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result = self.cell(x[:, 0], None)
        state = self.cell(x[:, 1], result)
        return state[0] if isinstance(state, tuple) else state


@pytest.mark.parametrize("cell", [nn.LSTMCell(5, 6), nn.GRUCell(5, 6), nn.RNNCell(5, 6)], ids=["lstm", "gru", "rnn"])
def test_products_of_a_cell_are_quantised_when_it_runs(cell: nn.RNNCellBase) -> None:
    """Each step of a cell has two products, except the first step, whose state is zero: it has one."""
    model, module = quantized(XNNPACKQuantizer().set_global(STATIC), Cell(cell), STEPS)
    assert in_integers(module) == ["linear"] * 3
    assert sum("choose_qparams" in name(node) for node in module.graph.nodes) == 3
    assert compute_error(model(STEPS), module(STEPS)) > 30


def test_a_recurrent_layer_stays_in_floats_where_it_is_told_to() -> None:
    quantizer = XNNPACKQuantizer().set_global(STATIC).set_module_name("layer", None)
    model = Sequence(nn.LSTM(5, 6, batch_first=True))
    model, module = quantized(quantizer, model, STEPS)
    assert in_integers(module) == ["linear"]
    assert not any("choose_qparams" in name(node) for node in module.graph.nodes)
    assert compute_error(model(STEPS), module(STEPS)) > 30


NARROWED: dict[str, tuple[Callable[[XNNPACKQuantizer], XNNPACKQuantizer], list[str]]] = {
    "a name": (lambda q: q.set_module_name("head.0", STATIC), ["linear"]),
    "a name inside of a name": (
        lambda q: q.set_module_name("head", STATIC).set_module_name("head.0", None),
        ["linear"],
    ),
    "all but a name": (
        lambda q: q.set_global(STATIC).set_module_name("conv", None).set_module_name("depthwise", None),
        ["add", "mul", "adaptive_avg_pool2d", "flatten", "linear", "linear"],
    ),
    "a type": (lambda q: q.set_module_type(nn.Conv2d, STATIC), ["conv2d", "conv2d", "add"]),
    "an object": (lambda q: q.set_object_type(nn.functional.linear, STATIC), ["linear", "linear"]),
    "an object that is a class": (lambda q: q.set_object_type(nn.Linear, STATIC), ["linear", "linear"]),
    "an operator": (lambda q: q.set_operator_type(torch.ops.aten.add, STATIC), ["add"]),
    "a filter": (
        lambda q: q.set_global(STATIC).set_filter_function(lambda n: "linear" in n.name),
        ["linear", "linear"],
    ),
    "a type within all": (
        lambda q: q.set_global(DYNAMIC).set_module_type(nn.Conv2d, STATIC),
        ["conv2d", "conv2d", "add", "linear", "linear"],
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("case", NARROWED)
def test_settings_narrow(case: str) -> None:
    """XNN-08, QNT-08, QNT-15."""
    narrow, expected = NARROWED[case]
    _, module = quantized(narrow(XNNPACKQuantizer()))
    assert in_integers(module) == expected


def test_a_transposed_convolution_has_its_channels_second() -> None:
    _, module = quantized(XNNPACKQuantizer().set_global(STATIC), nn.ConvTranspose2d(3, 5, 2))
    (weight,) = [node for node in module.graph.nodes if "dequantize_per_channel" in name(node)]
    assert weight.args[3] == 1 and getattr(module, weight.args[1].target).shape == (5,)


@pytest.mark.slow  # torchao looks for each of its patterns in the graph
def test_training_with_quantised_numbers() -> None:
    """QNT-04, DIA-06, ARC-04: the norm is trained, too, and folded in the end."""
    torch.manual_seed(0)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_qat=True))
    model = prepare_qat_pt2e(export(Network().train(), (IMAGE.expand(2, -1, -1, -1),)).module(), quantizer)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = (model(IMAGE.expand(2, -1, -1, -1)) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    module = convert_pt2e(move_exported_model_to_eval(model))
    assert in_integers(module)[:3] == ["conv2d", "conv2d", "add"]
    assert not any("batch_norm" in name(node) for node in module.graph.nodes)


class OnlySums(Quantizer):
    """Quantises the operands and the result of each sum to steps of 1/4."""

    SPEC = FixedQParamsQuantizationSpec(torch.int8, 0.25, 0, -128, 127, torch.per_tensor_affine)

    def annotate(self, model: GraphModule) -> GraphModule:
        for node in model.graph.nodes:
            if node.target == torch.ops.aten.add.Tensor:
                operands = dict.fromkeys(node.args, self.SPEC)
                node.meta["quantization_annotation"] = QuantizationAnnotation(operands, self.SPEC, _annotated=True)
        return model

    def validate(self, model: GraphModule) -> None:
        pass


def test_annotations_of_a_quantizer_of_ones_own_are_kept() -> None:
    """QNT-02: only the sum is in integers, with the annotation's scale; the program gives the same results."""

    class Sum(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * 3 + x).exp()

    x = torch.tensor([[0.1, -0.6, 0.3, 0.9]])
    _, module = quantized(OnlySums(), Sum(), x)
    steps = [n.args[1:3] for n in module.graph.nodes if ".quantize_per_tensor" in name(n)]
    assert steps == [(0.25, 0)] * 3  # the operands of the sum, and its result

    def in_steps(y: torch.Tensor) -> torch.Tensor:
        return torch.round(y * 4) / 4

    expected = in_steps(in_steps(x * 3) + in_steps(x)).exp()
    torch.testing.assert_close(module(x), expected)
    program = to_edge_transform_and_lower(export(module, (x,)), partitioner=[XnnpackPartitioner()]).to_executorch()
    (found,) = Runtime.get().load_program(program.buffer).load_method("forward").execute((x,))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_what_is_supported_is_listed() -> None:
    operators = XNNPACKQuantizer.get_supported_operators()
    configs = XNNPACKQuantizer.get_supported_quantization_configs()
    assert len(configs) == len(operators) == 8 and STATIC in configs and DYNAMIC in configs
    assert [nn.Linear] in XNNPACKQuantizer.get_supported_operator_for_quantization_config(DYNAMIC)
    assert [torch.cat] not in XNNPACKQuantizer.get_supported_operator_for_quantization_config(DYNAMIC)
    assert [torch.cat] in XNNPACKQuantizer.get_supported_operator_for_quantization_config(None)


def test_wrong_settings_say_what_is_wrong() -> None:
    assert isinstance(STATIC, QuantizationConfig)
    with pytest.raises(TypeError, match=r"get_symmetric_quantization_config\(\) makes it; found str"):
        XNNPACKQuantizer().set_global("int8")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"neither a class of modules nor one of the functions .*linear"):
        XNNPACKQuantizer().set_object_type(torch.sin, STATIC)
