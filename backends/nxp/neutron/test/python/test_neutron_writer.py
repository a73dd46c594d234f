# SPDX-License-Identifier: BSD-3-Clause
"""The model that NXP's converter gets: operators that compute in PyTorch's order of dimensions, followed by operators
on images with channels last."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent))

from neutron_lowering import lower, quantized

from npu_models import Function, written
from sdk.backends.npu.graph import Graph
from sdk.backends.nxp.neutron.arithmetic import interpreter_of
from sdk.backends.nxp.neutron.tflite.schema import Code, Model, to_bytes
from sdk.backends.nxp.neutron.tflite.writer import write
from sdk.backends.nxp.neutron.verify import ReferenceProgram


class Before(nn.Module):
    """An operator, and the convolution after it."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module, self.convolution = module, nn.Conv2d(8, 8, 1)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.convolution(self.module(x))
        return found


CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(16, 12), (1, 8, 4, 16)),
    "linear and limits": (lambda: nn.Sequential(nn.Linear(16, 12), nn.ReLU6()), (1, 8, 4, 16)),
    "mean": (lambda: Function(lambda x: x.mean(2)), (1, 8, 3, 4, 5)),
    "amax of the last dimension": (lambda: Function(lambda x: x.amax(-1)), (1, 8, 4, 5, 3)),
    "mean of an image, kept": (lambda: Function(lambda x: x.mean(3, keepdim=True)), (1, 8, 4, 5)),
    "view": (lambda: Function(lambda x: x.view(1, 8, 4, 5)), (8, 20)),
    "softmax": (lambda: Function(lambda x: x.softmax(-1)), (1, 8, 4, 16)),
}


def before(name: str, folder: Path) -> Graph:
    """The graph of an operator and the convolution after it."""
    torch.manual_seed(0)
    make, shape = CASES[name]
    return graph_of(Before(make()), (shape,), folder)


def graph_of(model: nn.Module, shapes: tuple[tuple[int, ...], ...], folder: Path) -> Graph:
    torch.manual_seed(0)
    inputs = tuple(torch.randn(shape) for shape in shapes)
    program = ReferenceProgram(written(lower(quantized(model.eval(), inputs), inputs), folder))
    (delegate,) = program._methods["forward"]._delegates
    graph: Graph = delegate.graph
    return graph


def calls_of(model: Model) -> list[tuple[Code, list[list[int]], list[int], Any]]:
    """The operators, the shapes of their operands and results, and their last constant."""
    (main,) = model.subgraphs
    found = []
    for each in main.operators:
        shapes = [main.tensors[index].shape for index in each.inputs]
        data = model.buffers[main.tensors[each.inputs[-1]].buffer].data
        code = Code(model.operator_codes[each.opcode_index].code)
        found.append((code, shapes, main.tensors[each.outputs[0]].shape, data))
    return found


@pytest.mark.parametrize("name", CASES)
def test_shapes_before_an_image(name: str, tmp_path: Path) -> None:
    """NXP-08: the shapes of results follow from the definitions of LiteRT's operators."""
    checked = 0
    for code, shapes, result, data in calls_of(write(before(name, tmp_path))):
        if code == Code.FULLY_CONNECTED:
            assert result == [*shapes[0][:-1], shapes[1][0]]
        elif code in (Code.MEAN, Code.REDUCE_MAX):
            over = torch.frombuffer(bytearray(data), dtype=torch.int32).tolist()
            sizes = [size for axis, size in enumerate(shapes[0]) if axis not in over]
            assert [size for size in result if size != 1] == [size for size in sizes if size != 1]
        elif code == Code.TRANSPOSE:
            order = torch.frombuffer(bytearray(data), dtype=torch.int32).tolist()
            assert result == [shapes[0][axis] for axis in order]
        elif code == Code.CONV_2D:
            assert shapes[0][3] == shapes[1][3] and result == [*shapes[0][:3], shapes[1][0]]
            continue
        elif code not in (Code.RESHAPE, Code.QUANTIZE):
            assert result == shapes[0]
        checked += 1
    assert checked


def gain_of(graph: Graph) -> float:
    """By how many steps the result of a graph's last convolution changes at most if each element of its operand changes
    by one."""
    call = [call for call in graph.calls if call.name == "aten.convolution.default"][-1]
    operand, weight, result = (graph.values[each] for each in (call.args[0].value, call.args[1].value, call.results[0]))
    assert operand.quantization and weight.quantization and result.quantization and weight.data is not None
    sums = weight.data.abs().double().flatten(1).sum(1) * torch.tensor(weight.quantization.scales).double()
    return float(sums.max()) * operand.quantization.scale / result.quantization.scale


@pytest.mark.parametrize("name", CASES)
def test_integers_before_an_image(name: str, tmp_path: Path) -> None:
    """NXP-08: LiteRT's reference kernels are within a step of the interpreter. A mean is within a step before the
    convolution, which multiplies it by its weights."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="pip install ai-edge-litert")
    graph = before(name, tmp_path)
    given = torch.randint(-128, 128, CASES[name][1], generator=torch.Generator().manual_seed(3)).to(torch.int8)
    (expected,) = interpreter_of(graph).run("forward", [given])
    kernels = litert.OpResolverType.BUILTIN_REF
    model = litert.Interpreter(model_content=to_bytes(write(graph)), experimental_op_resolver_type=kernels)
    model.allocate_tensors()
    model.set_tensor(model.get_input_details()[0]["index"], given.numpy())
    model.invoke()
    found = torch.from_numpy(model.get_tensor(model.get_output_details()[0]["index"]))
    most = 1 + (gain_of(graph) if name == "mean" else 0)
    assert found.shape == expected.shape and int((found.int() - expected.int()).abs().max()) <= most


@pytest.mark.parametrize(("operator", "code"), [(torch.bmm, Code.BATCH_MATMUL), (torch.maximum, Code.MAXIMUM)])
@pytest.mark.parametrize(("high", "names"), [(None, ["RELU"]), (6.0, ["RELU6"]), (0.5, ["MINIMUM", "MAXIMUM"])])
def test_limits_of_operators_without_an_activation_function(
    operator: Any, code: Code, high: float | None, names: list[str], tmp_path: Path
) -> None:
    graph = graph_of(Function(operator), ((2, 4, 4), (2, 4, 4)), tmp_path)
    for call in graph.calls:
        if call.name in ("aten.bmm.default", "aten.maximum.default"):
            call.low, call.high = 0.0, high
    model = write(graph)
    found = [found for found, *_ in calls_of(model)]
    place = found.index(code)
    assert found[place : place + 1 + len(names)] == [code, *(Code[name] for name in names)]
    operators = model.subgraphs[0].operators
    assert operators[place + 1].inputs[0] == operators[place].outputs[0]
