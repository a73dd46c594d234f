# SPDX-License-Identifier: BSD-3-Clause
"""The calls that the partitioner delegates, and the contents of the delegates' files."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from arm_lowering import BOTH, FP, Call, assert_close, lower
from torch import Tensor, nn
from torch.fx.passes.operator_support import OperatorSupportBase

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.tosa import TosaCompileSpec, TOSAPartitioner
from sdk.backends.arm.tosa.operators import CUSTOM_DOMAIN
from sdk.backends.arm.tosa.schema import DType, Op
from sdk.exir.backend.utils import get_refusals
from sdk.exir.dialects._ops import ops

X = torch.randn(2, 3, 8, 8)


class _NoTanh(OperatorSupportBase):
    def is_node_supported(self, submodules: Any, node: torch.fx.Node) -> bool:
        return node.target is not ops.edge.aten.tanh.default


def test_additional_checks_refuse_nodes() -> None:
    """VGF-03"""
    function = lambda x: torch.sin(torch.tanh(torch.cos(x)))  # noqa: E731
    lowered = lower(Call(function), (X,), partitioner=TOSAPartitioner(TosaCompileSpec(FP), [_NoTanh()]))
    assert len(lowered.payloads) == 2
    (reason,) = lowered.left().values()
    assert "the additional check _NoTanh refuses it" in reason
    assert_close(lowered.run(X), function(X))


def test_linear_is_not_decomposed() -> None:
    """VGF-03: ops_to_not_decompose names operators, and says for each call whether it is kept."""
    partitioner = TOSAPartitioner(TosaCompileSpec(FP))
    program = torch.export.export(nn.Linear(3, 4), (torch.ones(2, 3),))
    whole, keep = partitioner.ops_to_not_decompose(program)
    (linear,) = (node for node in program.graph.nodes if node.op == "call_function")
    assert torch.ops.aten.linear.default in whole and keep is not None and keep(linear)
    double = torch.export.export(nn.Linear(3, 4).double(), (torch.ones(2, 3).double(),))
    (linear,) = (node for node in double.graph.nodes if node.op == "call_function")
    assert not keep(linear)


@pytest.mark.parametrize("function", [torch.clone, lambda x: x.view(2, 3, 8, 8).expand(2, 3, 8, 8).clone()])
def test_a_delegate_that_would_compute_nothing_is_refused(function: Any) -> None:
    """VGF-03: no-op partitions are rejected."""
    lowered = lower(Call(function), (X,))
    assert not lowered.payloads
    assert all("a delegate of such nodes computes nothing" in reason for reason in lowered.left().values())


def test_what_moves_elements_is_delegated_alone() -> None:
    lowered = lower(Call(lambda x: x.permute(0, 2, 3, 1)), (X,))
    assert lowered.operators == {"TRANSPOSE": 1}
    assert_close(lowered.run(X), X.permute(0, 2, 3, 1))


def test_an_own_operator_becomes_custom() -> None:
    """VGF-03: an operator becomes a CUSTOM operator of TOSA after `register_custom_partition_op`."""
    with torch.library._scoped_library("armtest", "DEF") as library:
        library.define("scale(Tensor x, float factor, int[] dims) -> Tensor")
        library.impl("scale", lambda x, factor, dims: x * factor, "CompositeExplicitAutograd")
        operator = torch.ops.armtest.scale.default

        def function(x: Tensor) -> Tensor:
            return operator(torch.sin(x), 2.5, [0, 1]) + 1

        partitioner = TOSAPartitioner(TosaCompileSpec(FP))
        assert "aten" not in lower(Call(function), (X,), partitioner=partitioner).left().values()
        partitioner.register_custom_partition_op(operator)
        (file,) = lower(Call(function), (X,), partitioner=partitioner).files
    (custom,) = (each for each in file.regions[0].blocks[0].operators if each.op == Op["CUSTOM"])
    assert (custom.attribute.operator_name, custom.attribute.domain_name) == ("armtest.scale.default", CUSTOM_DOMAIN)
    assert json.loads(custom.attribute.implementation_attrs) == {"factor": 2.5, "dims": [0, 1]}


def test_int64_stays_inside_a_partition() -> None:
    """Indices are int32 in TOSA: they may be computed and used inside, but may not be inputs or outputs."""
    values = torch.randn(4, 7)

    def inside(x: Tensor) -> Tensor:
        return torch.gather(x, 1, x.argmax(1, keepdim=True)) * 2

    lowered = lower(Call(inside), (values,))
    assert not lowered.left()
    assert_close(lowered.run(values), inside(values))
    outside = lower(Call(lambda x: (x.argmax(1), x * 2)), (values,))
    assert any("its int64 result is read outside" in reason for reason in outside.left().values())
    assert_close(outside.run(values), (values.argmax(1), values * 2))
    indices = torch.tensor([1, 3])
    given = lower(Call(lambda x, i: torch.index_select(x, 0, i) * 2), (values, indices))
    assert any("pass int32" in reason for reason in given.left().values())
    assert_close(given.run(values, indices), values[indices] * 2)
    short = lower(Call(lambda x, i: torch.nn.functional.embedding(i, x) * 2), (values, indices.int()))
    assert not short.left()
    assert_close(short.run(values, indices.int()), values[indices] * 2)


def test_dynamic_sizes_are_refused() -> None:
    program = torch.export.export(nn.ReLU(), (X,), dynamic_shapes=({0: torch.export.Dim("n", max=8)},))
    from sdk.exir import to_edge_transform_and_lower

    edge = to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(TosaCompileSpec(FP))])
    reasons = [get_refusals(node) for node in edge.exported_program().graph.nodes if node.op == "call_function"]
    assert any("export with fixed shapes" in reason for each in reasons for reason in each.values())


def test_state_that_changes_stays_outside() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x: Tensor) -> Tensor:
            self.total.add_(x)
            return torch.sin(self.total)

    model, x = Counter(), torch.ones(3)
    lowered = lower(model, (x,))
    assert lowered.payloads
    assert_close(lowered.run(x), torch.sin(x))


def test_transposes_are_left_where_layouts_meet() -> None:
    """No transpose stays between two convolutions if the operators between them are elementwise, or reduce or
    concatenate channels."""
    first, second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(8, 2, 1)

    def function(x: Tensor) -> Tensor:
        y = first(x)
        y = y * torch.sigmoid(y.mean((2, 3), keepdim=True)) + y.amax(1, keepdim=True)
        return second(torch.cat([y, y[:, :, :, :].flip(3)], 1))

    lowered = lower(Call(function), (X,))
    assert lowered.operators["TRANSPOSE"] == 2  # of the input and of the output
    assert_close(lowered.run(X), function(X))


def test_permutations_of_the_model_are_folded() -> None:
    """A model that is written with the channels last needs no transposes at all."""
    conv = nn.Conv2d(3, 4, 3)
    x = torch.randn(1, 8, 8, 3)

    def function(x: Tensor) -> Tensor:
        return conv(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1) + 1

    lowered = lower(Call(function), (x,))
    assert lowered.operators["TRANSPOSE"] == 0
    assert_close(lowered.run(x), function(x))


def test_intermediate_files(tmp_path: Path, caplog: Any) -> None:
    """VGF-02: dump_intermediate_artifacts_to and dump_debug_info."""
    spec = TosaCompileSpec(FP).dump_intermediate_artifacts_to(tmp_path / "new")
    with caplog.at_level(logging.INFO, "sdk.backends.arm"):
        lowered = lower(nn.Conv2d(3, 4, 3), (X,), partitioner=TOSAPartitioner(spec))
    assert (tmp_path / "new/partition_0.tosa").read_bytes() == lowered.payloads[0]
    assert "TOSA: 3 operators, 2 of them transposes" in caplog.text
    spec.dump_debug_info(ArmCompileSpec.DebugMode.JSON)
    lower(nn.Conv2d(3, 4, 3), (X,), partitioner=TOSAPartitioner(spec))
    described = json.loads((tmp_path / "new/partition_1.json").read_text())["operators"]
    assert [each["operator"] for each in described] == ["TRANSPOSE", "CONV2D", "TRANSPOSE"]
    spec.dump_debug_info(ArmCompileSpec.DebugMode.TOSA)
    (file,) = lower(nn.Conv2d(3, 4, 3), (X,), partitioner=TOSAPartitioner(spec)).files
    places = [each.location.text for each in file.regions[0].blocks[0].operators if each.op == Op["CONV2D"]]
    assert all(places)


def test_a_file_is_written_alike_each_time() -> None:
    model = nn.Conv2d(3, 4, 3)
    assert lower(model, (X,)).payloads == lower(model, (X,)).payloads


def test_the_file() -> None:
    """The names, shapes and types of inputs, outputs and constants."""
    linear = nn.Linear(3, 2)
    (file,) = lower(linear, (torch.ones(4, 3),)).files
    assert (file.version.major, file.version.minor, file.version.patch, file.version.draft) == (1, 0, 0, False)
    (block,) = file.regions[0].blocks
    tensors = {tensor.name: tensor for tensor in block.tensors}
    (given,), (returned,) = block.inputs, block.outputs
    assert (tensors[given].shape, tensors[given].type) == ([4, 3], DType.FP32)
    assert (tensors[returned].shape, tensors[returned].type) == ([4, 2], DType.FP32)
    data = [tensor.data for tensor in block.tensors if tensor.data is not None and tensor.shape == [1, 3, 2]]
    assert data == [linear.weight.detach().numpy().T.tobytes()]


@pytest.mark.parametrize("rank", [0, 1])
def test_scalars(rank: int) -> None:
    x = torch.tensor([0.5])[(0,) * (1 - rank)]
    lowered = lower(Call(lambda x: torch.exp(x) + x.sum()), (x,), BOTH)
    assert len(lowered.payloads) == 1
    assert_close(lowered.run(x), torch.exp(x) + x.sum())


class _Written(nn.Module):
    """Writes at indices that are slices of a captured constant."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = torch.tensor([[0, 2], [1, 3]])

    def forward(self, x: Tensor, values: Tensor) -> Tensor:
        y = x.clone()
        y[self.positions[0], self.positions[1] - 1] = values
        return y * 2


def test_indices_that_are_computed_from_constants_are_known() -> None:
    inputs = (torch.randn(4, 4), torch.randn(2))
    lowered = lower(_Written(), inputs)
    assert len(lowered.payloads) == 1 and not lowered.left()
    assert_close(lowered.run(*inputs), _Written()(*inputs))


class _Shared(nn.Module):
    """Uses constants as indices, and returns them, too."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.columns = torch.tensor([0, 2]), torch.tensor([[0, 2], [1, 3]])
        self.weight = nn.Parameter(torch.ones(512, 129))

    def forward(self, x: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        y = x.index_put((self.rows, self.columns), values)
        return y * 2, torch.scatter(y * 3, 0, self.columns, 1.0), self.rows, self.columns * 2, y.sum() * self.weight


def test_constants_that_are_read_outside_too_are_copied() -> None:
    """int64 itself stays outside, and so does a weight with more than 65,536 elements."""
    inputs = (torch.randn(4, 4), torch.randn(2, 2))
    model = _Shared()
    lowered = lower(model, inputs, partitioner=TOSAPartitioner(TosaCompileSpec(FP), [_NoTanh()]))
    assert len(lowered.payloads) == 1 and lowered.operators["SCATTER"] == 2
    assert not any("index_put" in reason or "scatter" in reason for reason in lowered.left().values())
    assert_close(lowered.run(*inputs), model(*inputs))


@pytest.mark.parametrize(
    ("function", "inputs", "reason"),
    [
        (lambda x: torch.clamp(x, -1, 3), (torch.arange(8) - 4,), "int64"),
        (torch.clamp, (torch.arange(8) - 4, torch.tensor(-1), torch.tensor(3)), "int64"),
        (torch.clamp, (torch.randn(8), torch.tensor(-1), torch.tensor(1)), "int64"),
    ],
)
def test_limits_of_int64_stay_outside(function: Any, inputs: tuple[Tensor, ...], reason: str) -> None:
    """TOSA has no int64; the program computes eager's results."""
    lowered = lower(Call(function), inputs)
    found = [text for node in lowered.program.graph.nodes for text in get_refusals(node).values()]
    assert any(reason in each for each in found), found
    assert_close(lowered.run(*inputs), function(*inputs))
