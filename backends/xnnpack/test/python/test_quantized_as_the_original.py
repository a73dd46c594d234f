# SPDX-License-Identifier: BSD-3-Clause
"""Quantised models that the original's tests lower: what is quantised, what is delegated, what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.export import Dim, ExportedProgram, export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.utils import compute_error

from sdk.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)
from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from sdk.exir import to_edge, to_edge_transform_and_lower
from sdk.exir.backend.utils import get_non_lowered_nodes
from sdk.runtime import Runtime

LARGEST = torch.finfo(torch.float32).max


def quantize(model: nn.Module, *inputs: torch.Tensor, is_dynamic: bool = False) -> nn.Module:
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
    prepared = prepare_pt2e(export(model.eval(), inputs).module(), XNNPACKQuantizer().set_global(config))
    prepared(*inputs)
    return convert_pt2e(prepared)


class Masked(nn.Module):
    def __init__(self, calls: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.calls = calls
        self.mask = nn.Buffer(torch.tensor([[0.0, -math.inf], [0.0, 0.0]]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.calls(x, self.mask)


@pytest.mark.parametrize(
    "calls",
    [
        lambda x, mask: x + LARGEST,
        lambda x, mask: x * -LARGEST,
        lambda x, mask: torch.relu(x + 3.5e15),
        lambda x, mask: torch.relu(x * 3.5e15),
        lambda x, mask: x + mask,
    ],
)
def test_sums_and_products_with_huge_constants_stay_in_floats(calls: Callable[..., torch.Tensor]) -> None:
    x = torch.tensor([[-0.5, 0.25], [0.0, 1.0]])
    model = Masked(calls)
    quantized = quantize(model, x)
    assert not any("quantize" in str(node.target) for node in quantized.graph.nodes)
    assert torch.equal(quantized(x), model(x))


def test_sums_with_large_constants_are_quantised() -> None:
    """The operand and the result are quantised and dequantised, the constant is stored as integers."""
    quantized = quantize(Masked(lambda x, mask: x + 3.4e15), torch.ones(2, 2))
    assert sum("quantize_per_tensor" in str(node.target) for node in quantized.graph.nodes) == 5


class Projections(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(32, 16), nn.Linear(32, 16, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.query(x) * self.key(x)


@pytest.mark.parametrize("shape", [(6, 32), (2, 3, 32), (2, 1, 3, 32)])
@pytest.mark.parametrize("per_op_mode", [False, True])
def test_decomposed_linear_layers_are_delegated_with_their_quantisation(
    shape: tuple[int, ...], per_op_mode: bool
) -> None:
    torch.manual_seed(0)
    model, x = Projections(), torch.randn(shape)
    quantized = quantize(model, x, is_dynamic=True)
    edge = to_edge(export(quantized, (x,)))
    partitioners = [XnnpackPartitioner(per_op_mode=per_op_mode)]
    partitioners += [] if per_op_mode else [XnnpackDynamicallyQuantizedPartitioner()]
    for partitioner in partitioners:
        lowered = edge.to_backend(partitioner)
        outside = {node.target.__name__ for node in get_non_lowered_nodes(lowered.exported_program().graph)}
        assert outside <= {"aten.view_copy.default", "aten.mul.Tensor"}, outside
        (found,) = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward").execute([x])
        assert compute_error(model(x), found) > compute_error(model(x), quantized(x)) - 1


def damaged(operator: str, position: int, value: float) -> ExportedProgram:
    """A quantised linear layer, with another argument of the first call of an operator."""
    torch.manual_seed(0)
    x = torch.randn(1, 10)
    program = export(quantize(nn.Linear(10, 10), x), (x,))
    node = next(node for node in program.graph.nodes if operator in str(node.target))
    argument = node.args[position]
    if isinstance(argument, torch.fx.Node):
        signature = program.graph_signature
        name = {**signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}[argument.name]
        tensors = program.state_dict if name in program.state_dict else program.constants
        tensors[name] = tensors[name].clone()
        tensors[name][3] = value
    else:
        node.update_arg(position, value)
    return program


@pytest.mark.sampled
@pytest.mark.parametrize("operator", ["quantize_per_tensor", "dequantize_per_tensor", "dequantize_per_channel"])
@pytest.mark.parametrize(("position", "value"), [(1, math.nan), (1, math.inf), (1, 1e-39), (1, 0.0), (2, 128)])
@pytest.mark.parametrize("compat", [None, "1.4"])
def test_scales_and_zero_points_that_no_kernel_has(
    operator: str, position: int, value: float, compat: str | None
) -> None:
    program = damaged(operator, position, value)
    with pytest.raises(ValueError, match="scales have to be finite" if position == 1 else "zero points of"):
        to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner(compat=compat)])


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(nn.Conv1d(3, 4, 3), nn.ReLU()),
        nn.Sequential(nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4), nn.Conv1d(4, 2, 1)),
        nn.Linear(8, 5),
    ],
    ids=["convolution", "batch norm", "linear"],
)
def test_a_model_that_was_captured_with_one_batch_is_exported_with_any(model: nn.Module) -> None:
    """The checks of the captured sizes do not stay in the quantised model."""
    torch.manual_seed(0)
    quantized = quantize(model, torch.randn(2, 3, 8))
    batch = {0: Dim("batch", min=2, max=10)}
    program = export(quantized, (torch.randn(2, 3, 8),), dynamic_shapes=(batch,), strict=True)
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert not get_non_lowered_nodes(edge.exported_program().graph)
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for count in (2, 7, 10):
        x = torch.randn(count, 3, 8)
        assert compute_error(quantized(x), torch.as_tensor(method.execute([x])[0])) > 40
