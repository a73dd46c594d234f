# SPDX-License-Identifier: BSD-3-Clause
"""`QuantFusionPass` and `RemoveMixedTypeOperators`: they rewrite graphs as expected, and the results equal those of
PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.export import export

import sdk.exir.operator.quantized_ops  # noqa: F401  (registers the operators)
from sdk.exir import EdgeProgramManager, to_edge
from sdk.exir.dialects._ops import ops
from sdk.exir.passes import QuantFusionPass, RemoveMixedTypeOperators
from sdk.runtime import Runtime

Q = torch.ops.quantized_decomposed


class Function(torch.nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


def targets(edge: EdgeProgramManager) -> list[str]:
    return [n.target.__name__ for n in edge.exported_program().graph.nodes if n.op == "call_function"]


class Table(torch.nn.Module):
    """An embedding as `float_qparams_weight_only_qconfig` quantises it: in the graph, with zero points in floats."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.linspace(-3, 5, 40).reshape(10, 4))
        self.scales = torch.nn.Buffer(torch.linspace(0.03, 0.2, 10))
        self.zeros = torch.nn.Buffer(torch.linspace(-2, 30.5, 10) + (torch.iinfo(dtype).min + 120))
        self.dtype = dtype

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        info = torch.iinfo(self.dtype)
        parameters = (self.scales, self.zeros, 0, info.min, info.max, self.dtype)
        table = Q.dequantize_per_channel(Q.quantize_per_channel(self.table, *parameters), *parameters)
        return torch.nn.functional.embedding(indices, table)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8])
def test_an_embedding_reads_bytes(dtype: torch.dtype) -> None:
    model, indices = Table(dtype), torch.tensor([[9, 0], [3, 3]])
    edge = to_edge(export(model, (indices,))).transform([QuantFusionPass()])
    calls = ["quantize_per_channel.default", "embedding_byte.default"]
    assert targets(edge) == [f"quantized_decomposed.{call}" for call in calls]
    (found,) = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward").execute([indices])
    torch.testing.assert_close(found, model(indices))


PARAMETERS = (0.1, 3, -128, 127, torch.int8)
MOVES = {
    "view_copy": lambda x: x.reshape(5, 6),
    "slice_copy": lambda x: x[1:],
    "cat": lambda x: torch.cat([x, x], 1),
    "permute_copy": lambda x: x.permute(1, 0),
    "select_copy": lambda x: x[:, 2],
    "unsqueeze_copy": lambda x: x.unsqueeze(0),
    "expand_copy": lambda x: x.expand(2, 3, 10),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("same", [True, False])
def test_operators_that_move_elements_move_integers(name: str, same: bool) -> None:
    """Operators that move elements move integers only if the scale stays the same: otherwise quantisation rounds."""
    other = PARAMETERS if same else (0.2, *PARAMETERS[1:])

    def function(x: torch.Tensor) -> torch.Tensor:
        floats = MOVES[name](Q.dequantize_per_tensor(Q.quantize_per_tensor(x, *PARAMETERS), *PARAMETERS))
        return Q.dequantize_per_tensor(Q.quantize_per_tensor(floats, *other), *other)

    x = torch.linspace(-20, 20, 30).reshape(3, 10)
    edge = to_edge(export(Function(function), (x,))).transform([QuantFusionPass()])
    calls = targets(edge)
    assert sum("quantize_per_tensor" in call for call in calls) == (2 if same else 4)
    assert any(name in call for call in calls)
    (found,) = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward").execute([x])
    assert torch.equal(found, function(x))


@pytest.mark.parametrize(
    ("function", "casts"),
    [
        (lambda x, y: x + y + x, 2),
        (lambda x, y: x * y, 1),
        (lambda x, y: torch.minimum(y, x), 1),
        (lambda x, y: x / x, 2),
        (lambda x, y: torch.div(x, x, rounding_mode="floor"), 0),
        (lambda x, y: y - y, 0),
    ],
)
def test_mixed_dtypes_in_aten_dialect(function: Callable[..., torch.Tensor], casts: int) -> None:
    """Operands that do not have the dtype of the result are cast by PyTorch's operator."""
    inputs = torch.tensor([1, 2, 7]), torch.tensor([0.5, 2.5, -1.0])
    program = export(Function(function), inputs)
    module = RemoveMixedTypeOperators()(program.graph_module).graph_module
    assert sum(node.target is torch.ops.aten._to_copy.default for node in module.graph.nodes) == casts
    for node in module.graph.nodes:
        operands = {operand.meta["val"].dtype for operand in node.all_input_nodes if "val" in operand.meta}
        assert node.op != "call_function" or len(operands) == 1
    (found,) = module(*inputs)
    expected = function(*inputs)
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected)


def test_mixed_dtypes_in_edge_dialect() -> None:
    program = to_edge(export(Function(lambda x: x * 2), (torch.tensor([1.0]),))).exported_program()
    (call,) = (node for node in program.graph.nodes if node.target is ops.edge.aten.mul.Tensor)
    with program.graph.inserting_before(call):
        halves = program.graph.call_function(
            ops.edge.dim_order_ops._to_dim_order_copy.default,
            (call.args[0],),
            {"dtype": torch.float16, "dim_order": [0]},
        )
    halves.meta = {"val": call.meta["val"].to(torch.float16)}
    call.update_arg(0, halves)
    module = RemoveMixedTypeOperators()(program.graph_module).graph_module
    (call,) = (node for node in module.graph.nodes if node.target is ops.edge.aten.mul.Tensor)
    # A tensor without dimensions does not widen the dtype.
    assert {operand.meta["val"].dtype for operand in call.all_input_nodes} == {torch.float16}
