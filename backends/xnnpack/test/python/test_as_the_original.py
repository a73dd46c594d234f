# SPDX-License-Identifier: BSD-3-Clause
"""The partitioner takes the nodes that the original's takes, and has the names and options of the original's API."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import export
from torch.export.graph_signature import InputKind

import sdk.backends.xnnpack as xnnpack
import sdk.exir.operator.quantized_ops  # noqa: F401  (registers the operators)
from sdk.backends.xnnpack import XnnpackPartitioner
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackQuantizedPartitioner
from sdk.backends.xnnpack.utils import quant_utils, utils
from sdk.exir import EdgeCompileConfig, EdgeProgramManager, to_edge, to_edge_transform_and_lower
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

torch.manual_seed(0)
Q = torch.ops.quantized_decomposed


def check(
    model: torch.nn.Module, *inputs: torch.Tensor, compat: str | None = "1.4", **options: Any
) -> EdgeProgramManager:
    """Lowers a model to one delegate in the original's format, and checks that it gives eager's results."""
    model.eval()
    config = EdgeCompileConfig(_check_ir_validity=False)
    partitioner = XnnpackPartitioner(compat=compat, **options)
    edge = to_edge_transform_and_lower(export(model, inputs), partitioner=[partitioner], compile_config=config)
    program = edge.to_executorch()
    plan = program.executorch_program.execution_plan[0]
    assert len(plan.delegates) == 1
    assert plan.operators == []
    expected = model(*inputs)
    found = _load_for_executorch_from_buffer(program.buffer).forward(list(inputs))
    for one, other in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    return edge


def norm(kind: type[torch.nn.Module], channels: int) -> torch.nn.Module:
    made: Any = kind(channels)
    torch.nn.init.normal_(made.running_mean)
    torch.nn.init.uniform_(made.running_var, 0.5, 2)
    torch.nn.init.normal_(made.weight)
    torch.nn.init.normal_(made.bias)
    return made


class TestBatchNorm:
    @pytest.mark.parametrize("shape", [(3, 5), (1, 5), (3, 5, 7), (2, 5, 1)])
    def test_of_vectors_and_lines(self, shape: tuple[int, ...]) -> None:
        check(norm(torch.nn.BatchNorm1d, 5), torch.randn(shape))

    @pytest.mark.parametrize("bias", [False, True])
    def test_joins_a_convolution_over_a_line(self, bias: bool) -> None:
        line = torch.nn.Conv1d(4, 6, 3, padding=1, groups=2, bias=bias)
        check(torch.nn.Sequential(line, norm(torch.nn.BatchNorm1d, 6)), torch.randn(2, 4, 9))

    def test_after_a_linear_layer(self) -> None:
        check(
            torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), norm(torch.nn.BatchNorm1d, 6)),
            torch.randn(2, 4),
        )


class TestConvolution:
    @pytest.mark.parametrize(("groups", "inputs", "outputs"), [(2, 4, 6), (2, 2, 2), (4, 4, 8), (3, 9, 3)])
    @pytest.mark.parametrize(("kernel", "stride", "extra"), [((3, 3), 1, 0), ((2, 3), 2, 1)])
    def test_transposed_with_groups(
        self, groups: int, inputs: int, outputs: int, kernel: tuple[int, int], stride: int, extra: int
    ) -> None:
        for bias in (False, True):
            layer = torch.nn.ConvTranspose2d(
                inputs, outputs, kernel, stride=stride, padding=1, output_padding=extra, groups=groups, bias=bias
            )
            check(layer, torch.randn(2, inputs, 5, 7))

    def test_weights_in_any_layout(self) -> None:
        layer = torch.nn.Conv2d(3, 4, 3)
        layer.weight = torch.nn.Parameter(torch.randn(3, 3, 4, 3).permute(2, 0, 3, 1))
        check(layer, torch.randn(1, 3, 6, 6))


class MaxOverDims(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.max(x, dim=2, keepdim=True)[0], torch.max(x, dim=-1, keepdim=True)[0]


class TestMax:
    @pytest.mark.parametrize("size", [(5, 4), (2, 2), (17, 33), (12, 130)])
    def test_over_a_dimension(self, size: tuple[int, int]) -> None:
        check(MaxOverDims(), torch.randn(2, 3, *size))

    @pytest.mark.parametrize("size", [7, 8, 9, 16])
    @pytest.mark.parametrize(
        ("kernel", "stride", "padding", "dilation"),
        [(2, 2, 0, 1), (3, 2, 1, 1), (3, 2, 0, 2), (2, 1, 1, 1), (12, 4, 5, 1), (3, 3, 0, 1)],
    )
    def test_pool_with_ceil_mode(self, size: int, kernel: int, stride: int, padding: int, dilation: int) -> None:
        pool = torch.nn.MaxPool2d(kernel, stride, padding, dilation, ceil_mode=True)
        check(pool, torch.randn(1, 2, size + 5, size + 8))


class Quantize(torch.nn.Module):
    def __init__(self, low: int) -> None:
        super().__init__()
        self.low = low

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Q.quantize_per_tensor(x, 0.1, 3, self.low, 127, torch.int8)


class Dequantize(Quantize):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Q.dequantize_per_tensor(x, 0.1, 3, self.low, 127, torch.int8)


@pytest.mark.parametrize("low", [-127, -128])
def test_programs_that_only_convert(low: int) -> None:
    floats = torch.linspace(-20, 20, 90).reshape(3, 5, 6)  # beyond both ends of the integers
    check(Quantize(low), floats)
    check(Dequantize(low), torch.arange(-127, 128, dtype=torch.int8).reshape(5, 51))


class TestLentWeights:
    @pytest.mark.parametrize("bias", [False, True])
    @pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 4)])
    @pytest.mark.parametrize("force", [False, True])
    def test_of_linear_layers(self, bias: bool, shape: tuple[int, ...], force: bool) -> None:
        edge = check(
            torch.nn.Linear(4, 6, bias=bias), torch.randn(shape), force_non_static_weights_for_f32_linear=force
        )
        specs = edge.exported_program().graph_signature.input_specs
        found = [spec.target for spec in specs if spec.kind == InputKind.PARAMETER]
        assert found == ([] if not force else ["weight", "bias"][: 1 + bias])

    def test_where_the_exporter_has_taken_it_apart(self) -> None:
        model, x = torch.nn.Linear(4, 6), torch.randn(2, 4)
        edge = to_edge(export(model, (x,))).to_backend(XnnpackPartitioner(force_non_static_weights_for_f32_linear=True))
        program = edge.to_executorch()
        assert len(program.executorch_program.execution_plan[0].delegates) == 1
        assert len(edge.exported_program().state_dict) == 2
        torch.testing.assert_close(_load_for_executorch_from_buffer(program.buffer).forward([x])[0], model(x))

    def test_shared_by_two_delegates(self) -> None:
        class Shared(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.layer(torch.cumsum(self.layer(x), 0))

        model, x = Shared(), torch.randn(3, 4)
        partitioner = XnnpackPartitioner(force_non_static_weights_for_f32_linear=True)
        program = to_edge_transform_and_lower(export(model, (x,)), partitioner=[partitioner]).to_executorch()
        assert len(program.executorch_program.execution_plan[0].delegates) == 2
        torch.testing.assert_close(_load_for_executorch_from_buffer(program.buffer).forward([x])[0], model(x))

    def test_the_older_option_changes_nothing(self) -> None:
        edge = check(torch.nn.Linear(4, 6), torch.randn(2, 4), force_fp32_dynamic_linear=True)
        assert not edge.exported_program().state_dict


class TestNames:
    def test_of_the_package(self) -> None:
        assert {name: getattr(xnnpack, name).__name__ for name in xnnpack.__all__} == {n: n for n in xnnpack.__all__}
        with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
            xnnpack.Nothing
        assert XnnpackQuantizedPartitioner()._precisions is not None

    def test_of_utils(self) -> None:
        model = torch.nn.Sequential(torch.nn.Conv2d(4, 8, 3, groups=4), torch.nn.ReLU())
        program = to_edge(export(model, (torch.randn(1, 4, 5, 5),))).exported_program()
        nodes = {node.name: node for node in program.graph.nodes}
        conv = nodes["aten_convolution_default"]
        assert utils.get_groups_from_conv(conv) == 4
        assert utils.is_depthwise_conv((8, 1, 3, 3), 4)
        assert not utils.is_depthwise_conv((8, 2, 3, 3), 4)
        assert not utils.is_depthwise_conv((8, 1, 3, 3), 4, is_transpose=True)
        assert utils.get_relu_fused_node(conv) is nodes["aten_relu_default"]
        assert utils.get_input_node(conv, 1) is nodes["p_0_weight"]
        with pytest.raises(AssertionError, match="expected the result of another node"):
            utils.get_input_node(conv, 3)
        assert utils.get_tensor_name(program, nodes["p_0_weight"]) == "0.weight"
        assert utils.is_param_node(program, nodes["p_0_bias"])
        assert not utils.is_param_node(program, nodes["input"])
        assert torch.equal(utils.get_param_tensor(program, nodes["p_0_bias"]), model[0].bias)
        assert utils.normalize_mean_dims([-1, 2], 4) == [2, 3]
        assert utils.normalize_mean_dims(None, 3) == [0, 1, 2]
        with pytest.raises(IndexError, match="dimension 4 of a tensor with 4 dimensions"):
            utils.normalize_mean_dims(4, 4)
        with pytest.raises(AssertionError, match="no good"):
            utils.check_or_raise(False, "no good")

    def test_of_quant_utils(self) -> None:
        class Both(torch.nn.Module):
            def forward(self, x: torch.Tensor, scales: torch.Tensor, zeros: torch.Tensor) -> torch.Tensor:
                by_channel = Q.quantize_per_channel(x, scales, zeros, 0, -128, 127, torch.int8)
                scale, zero = Q.choose_qparams(x, -128, 127, 1e-5, torch.int8)
                return by_channel + Q.quantize_per_tensor(x, scale, zero, -128, 127, torch.int8)

        graph = export(Both(), (torch.randn(3, 4), torch.rand(3), torch.zeros(3, dtype=torch.int64))).graph
        nodes = {node.name: node for node in graph.nodes}
        by_channel, whole = nodes["quantize_per_channel"], nodes["quantize_per_tensor"]
        assert quant_utils.is_quant(by_channel) and quant_utils.is_per_channel(by_channel)
        assert quant_utils.is_dynamic_qdq(whole) and quant_utils.is_per_tensor(whole)
        assert not quant_utils.is_dynamic_qdq(by_channel) and not quant_utils.is_per_token(whole)
        assert quant_utils.is_qparam(nodes["choose_qparams"])
        assert not quant_utils.is_tagged_as_implicit_q_dq(whole)
        quant_utils.tag_as_implicit_q_dq(whole)
        assert quant_utils.is_tagged_as_implicit_q_dq(whole)

    @pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan"), 1e-40])
    def test_scales_that_are_none(self, scale: float) -> None:
        quant_utils.validate_quant_scales(torch.tensor([0.5, 1.0]))
        with pytest.raises(ValueError, match="finite, positive and not subnormal"):
            quant_utils.validate_quant_scales(torch.tensor([0.5, scale]))

    def test_zero_points(self) -> None:
        for zero, dtype, is_4bit in ((8, torch.int8, True), (0, torch.int32, False), (-128, torch.int8, False)):
            quant_utils.validate_quant_zeropoints(zero, dtype, is_4bit)
        for zero, dtype, is_4bit in ((3, torch.int8, True), (1, torch.int32, False), (128, torch.int8, False)):
            with pytest.raises(ValueError, match="zero points of"):
                quant_utils.validate_quant_zeropoints(zero, dtype, is_4bit)
