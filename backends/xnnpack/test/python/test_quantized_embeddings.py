# SPDX-License-Identifier: BSD-3-Clause
"""Quantised embedding tables remain quantised. Outputs are compared with those of the quantised model in eager mode,
and program sizes with the number of bits in a table."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.quant_api import IntxWeightOnlyConfig, quantize_
from torchao.quantization.quant_primitives import MappingType
from torchao.utils import unwrap_tensor_subclass

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import ExecutorchProgramManager, to_edge, to_edge_transform_and_lower
from sdk.runtime import Runtime

ROWS, WIDTH = 40, 64
INDICES = torch.tensor([[0, 7, ROWS - 1], [7, 3, 0]])
OPERATORS = {torch.int8: "embedding_byte", torch.int4: "embedding_4bit", torch.int2: "embedding_2bit"}
q = torch.ops.quantized_decomposed


class Words(nn.Module):
    def __init__(self, tied: bool = False) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(ROWS, WIDTH), nn.Linear(WIDTH, ROWS, bias=False)
        if tied:
            self.head.weight = self.table.weight

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        return self.head(self.table(indices))


def quantized(bits: torch.dtype, granularity: Any) -> nn.Module:
    torch.manual_seed(0)
    model = Words().eval()
    config = IntxWeightOnlyConfig(weight_dtype=bits, granularity=granularity)
    quantize_(model, config, lambda module, name: isinstance(module, nn.Embedding))
    return model


def operators(program: ExecutorchProgramManager) -> set[str]:
    plan = program.executorch_program.execution_plan[0]
    return {f"{operator.name}.{operator.overload}" for operator in plan.operators}


def run(program: ExecutorchProgramManager) -> torch.Tensor:
    return Runtime.get().load_program(program.buffer).load_method("forward").execute([INDICES])[0]


@pytest.mark.parametrize("granularity", [PerAxis(0), PerGroup(32)], ids=["rows", "groups"])
@pytest.mark.parametrize("bits", OPERATORS, ids=str)
def test_tables_of_torchao_stay_quantised(bits: torch.dtype, granularity: Any) -> None:
    """QNT-08, XNN-11, BD-17: the linear layer goes to XNNPACK; without it the table would be 10,240 bytes."""
    model = quantized(bits, granularity)
    program = to_edge_transform_and_lower(export(model, (INDICES,)), partitioner=[XnnpackPartitioner()]).to_executorch()
    assert f"quantized_decomposed::{OPERATORS[bits]}.dtype_out" in operators(program)
    assert "aten::embedding.out" not in operators(program)
    torch.testing.assert_close(run(program), model(INDICES))
    expected = ROWS * WIDTH * {torch.int8: 8, torch.int4: 4, torch.int2: 2}[bits] // 8
    sizes = [len(buffer.storage) for buffer in program.executorch_program.constant_buffer]
    sizes += [tensor.numel() for tensor in to_edge(export(model, (INDICES,))).exported_program().constants.values()]
    assert expected in sizes


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("mapping", MappingType.__members__)
def test_tables_of_half_precision_stay_quantised(mapping: str, dtype: torch.dtype) -> None:
    """Every row has exactly the values of torchao, which rounds products to the dtype of the table."""
    torch.manual_seed(0)
    for bits, granularity in ((torch.int2, PerGroup(32)), (torch.int4, PerAxis(0)), (torch.int8, PerGroup(32))):
        model = nn.Sequential(nn.Embedding(ROWS, WIDTH)).to(dtype)
        quantize_(
            model,
            IntxWeightOnlyConfig(bits, granularity, MappingType[mapping]),
            lambda module, _: isinstance(module, nn.Embedding),
        )
        edge = to_edge(export(model, (INDICES,)))
        calls = [node.target.name() for node in edge.exported_program().graph.nodes if node.op == "call_function"]
        assert calls == [f"quantized_decomposed::{OPERATORS[bits]}.dtype"]
        assert torch.equal(run(edge.to_executorch()), model(INDICES))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_zero_points_that_are_not_integers_are_rounded_as_in_pytorch(dtype: torch.dtype) -> None:
    """PyTorch subtracts a zero point in the dtype of the table, which rounds; the embedding operators do not."""

    class Rows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.values = nn.Buffer(torch.arange(-80, 80, dtype=torch.int8).reshape(ROWS, 4))
            self.scales = nn.Buffer(torch.linspace(0.1, 2, ROWS).to(dtype))
            self.zeros = nn.Buffer(torch.linspace(-2, 30.3, ROWS).to(dtype))

        def forward(self, indices: torch.Tensor) -> torch.Tensor:
            parameters = (self.scales, self.zeros, torch.int8, -128, 127)
            table = torch.ops.torchao.dequantize_affine(self.values, [1, 4], *parameters, output_dtype=dtype)
            return nn.functional.embedding(indices, table)

    assert torch.equal(run(to_edge(export(Rows(), (INDICES,))).to_executorch()), Rows()(INDICES))


def test_without_a_backend_and_unwrapped() -> None:
    model = quantized(torch.int4, PerGroup(32))
    program = to_edge(export(model, (INDICES,))).to_executorch()
    assert operators(program) >= {"quantized_decomposed::embedding_4bit.dtype_out"}
    torch.testing.assert_close(run(program), model(INDICES))
    unwrapped = unwrap_tensor_subclass(quantized(torch.int4, PerGroup(32)))
    again = to_edge(export(unwrapped, (INDICES,))).to_executorch()
    assert operators(again) == operators(program)
    torch.testing.assert_close(run(again), run(program))


def test_the_exported_program_is_not_changed() -> None:
    exported = export(quantized(torch.int8, PerAxis(0)), (INDICES,))
    names = [node.name for node in exported.graph.nodes]
    to_edge(exported)
    assert [node.name for node in exported.graph.nodes] == names
    torch.testing.assert_close(exported.module()(INDICES), exported.module()(INDICES))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8], ids=str)
def test_tables_of_pt2e_stay_quantised(dtype: torch.dtype) -> None:
    """`dequantize_per_channel` of a constant, with zero points, as PT2E writes it."""
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max

    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("values", torch.randint(low, high + 1, (ROWS, WIDTH), dtype=dtype))
            self.register_buffer("scales", torch.rand(ROWS) + 0.1)
            self.register_buffer("zeros", torch.randint(-3, 4, (ROWS,)))

        def forward(self, indices: torch.Tensor) -> torch.Tensor:
            table = q.dequantize_per_channel(self.values, self.scales, self.zeros, 0, low, high, dtype)
            return nn.functional.embedding(indices, table)

    model = Table()
    program = to_edge(export(model, (INDICES,))).to_executorch()
    assert operators(program) == {"quantized_decomposed::embedding_byte.dtype_out"}
    torch.testing.assert_close(run(program), model(INDICES))


def test_operators_of_the_original_are_lowered_as_they_are() -> None:
    """A model may call `embedding_4bit.dtype` itself. The byte 0x9A holds the values 1 and 2, stored as 9 and 10."""
    import sdk.exir.passes._quant_patterns_and_replacements  # noqa: F401  (registers the operators)

    class Direct(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", torch.full((ROWS, 2), 0x9A, dtype=torch.uint8))
            self.register_buffer("scales", torch.full((ROWS,), 2.0))

        def forward(self, indices: torch.Tensor) -> torch.Tensor:
            return q.embedding_4bit.dtype(self.table, self.scales, None, -8, 7, indices, dtype=torch.float32)

    edge = to_edge_transform_and_lower(export(Direct(), (INDICES,)), partitioner=[XnnpackPartitioner()])
    assert run(edge.to_executorch())[0, 0].tolist() == [2.0, 4.0, 2.0, 4.0]


def test_a_table_that_is_computed_stays_as_it_is() -> None:
    """The table's integers are an input, so the program stores no table."""

    class Given(nn.Module):
        def forward(self, values: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
            table = q.dequantize_per_tensor(values, 0.5, 1, -128, 127, torch.int8)
            return nn.functional.embedding(indices, table)

    values = torch.randint(-128, 128, (ROWS, WIDTH), dtype=torch.int8)
    program = to_edge(export(Given(), (values, INDICES))).to_executorch()
    assert "aten::embedding.out" in operators(program)
