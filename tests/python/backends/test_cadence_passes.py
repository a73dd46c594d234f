# SPDX-License-Identifier: BSD-3-Clause
"""The passes of cadence: each runs on a small graph, which then has other calls and the same results."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from cadence_graphs import aten, cadence, floats, graph
from cadence_layers import LAYERS
from cadence_moves import MOVES
from cadence_replacements import REPLACEMENTS
from cadence_rewrites import REWRITES
from torch.fx import GraphModule

import sdk.backends.cadence.aot.memory_constraints
import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot import fuse_ops, replace_ops, simplify_ops
from sdk.backends.cadence.aot.graph_builder import single_op_builder
from sdk.backends.cadence.aot.pass_utils import (
    ALL_CADENCE_PASSES,
    CadencePassAttribute,
    EdgePassesConfig,
    count_node,
    create_cadence_pass_filter,
    get_arg,
    set_arg,
)
from sdk.backends.cadence.aot.passes import apply_torch_ops_passes, get_passes_in_default_order
from sdk.backends.cadence.aot.type_dispatch import CompileTimeTypeDispatchPass

CASES = {**REWRITES, **MOVES, **REPLACEMENTS, **LAYERS}


@pytest.mark.parametrize("name", CASES)
def test_passes_keep_the_results(name: str) -> None:
    kind, inputs, build, gone, remaining, comes = CASES[name]
    before = graph(inputs, build)
    after = copy.deepcopy(before)
    after = kind()(after).graph_module
    after.graph.lint()
    expected, found = before(*inputs), after(*inputs)
    torch.testing.assert_close(found, expected)
    for node in after.graph.nodes:
        if node.op == "output":
            assert node.args[0][0].meta["val"].shape == expected[0].shape
    assert count_node(after, gone) == remaining
    assert comes is None or count_node(after, comes) >= 1


def _order(graph: GraphModule) -> list[Any]:
    return [node.target for node in graph.graph.nodes if node.op == "call_function"]


def test_calls_are_moved() -> None:
    """Returns the positions of the calls in the cases above, before and after."""
    quantize, dequantize = cadence.quantize_per_tensor.default, cadence.dequantize_per_tensor.default
    expected = {
        "advance": [quantize, aten.view_copy.default, aten.transpose_copy.int],
        "postpone": [aten.slice_copy.Tensor, aten.view_copy.default, dequantize],
        "slice_permute": [aten.slice_copy.Tensor, aten.permute_copy.default],
        "slice_view": [aten.slice_copy.Tensor, aten.view_copy.default],
        "slice_view_step": [aten.slice_copy.Tensor, aten.view_copy.default],
        "slice_view_kept": [aten.view_copy.default, aten.slice_copy.Tensor],
        "slice_quantize": [aten.slice_copy.Tensor, quantize],
        "slice_row": [aten.slice_copy.Tensor, aten.slice_copy.Tensor, aten.add.Tensor],
        "advance_cat": [quantize, quantize, aten.cat.default],
        "sink": [aten.neg.default, *[aten.slice_copy.Tensor] * 2, aten.mul.Tensor, aten.full.default, aten.add.Tensor],
        "hoist": [aten.slice_copy.Tensor, aten.full.default, aten.neg.default, aten.slice_copy.Tensor,
                  aten.mul.Tensor, aten.add.Tensor],
    }  # fmt: skip
    for name, order in expected.items():
        kind, inputs, build, *_ = CASES[name]
        assert _order(kind()(graph(inputs, build)).graph_module) == order, name


def test_every_pass_has_a_case_or_a_reason() -> None:
    without = {
        "InitializePipeline", "FinalizePipeline", "CompileTimeTypeDispatchPass",
        "ReplaceSafeSoftmaxWithSoftmax", "ReplaceMulTensorWithMulAndFullOpsPass",  # below
        "ReplaceFunctionallyEquivalentOpTargets", "ReplaceAtenLinalgSvdWithCadenceLinalgSvdPass",
        "FuseBatchNormWithConv", "FuseQuantizedBatchNormWithConv",  # test_cadence_batch_norms.py
        "GenerateCatNopConstraints", "GenerateIdmaConstraints", "GenerateMemoryViewConstraints",
        "GenerateSliceAndSelectNopConstraints",  # test_cadence_memory.py
    }  # fmt: skip
    tested = {kind.__name__ for kind, *_ in CASES.values()}
    assert {kind.__name__ for kind in ALL_CADENCE_PASSES} == tested | without
    assert all(kind in ALL_CADENCE_PASSES for kind in get_passes_in_default_order())


def test_optimisation_levels_and_requests() -> None:
    """CAD-03."""
    lowest, highest = create_cadence_pass_filter(0), create_cadence_pass_filter(4)
    assert lowest(replace_ops.ReplacePT2QuantWithCadenceQuantPass) and not lowest(CompileTimeTypeDispatchPass)
    assert highest(CompileTimeTypeDispatchPass) and not highest(replace_ops.ReplaceConvWithIm2RowAndLinear)
    asked = create_cadence_pass_filter(4, edge_passes_config=EdgePassesConfig(use_im2row_transform=True))
    assert asked(replace_ops.ReplaceConvWithIm2RowAndLinear) and not asked(int)
    assert CadencePassAttribute(opt_level=1) == ALL_CADENCE_PASSES[fuse_ops.FuseMMWithAdd]


@pytest.mark.parametrize(("dtype", "suffix"), [(torch.int8, "asym8s"), (torch.uint8, "asym8u")])
def test_types_are_dispatched(dtype: torch.dtype, suffix: str) -> None:
    x = torch.ones(2, 4, dtype=dtype)
    weight, bias = torch.ones(3, 4, dtype=dtype), torch.ones(3, dtype=torch.int32)
    args = (x, weight, bias, 0, 0, 1374389535, -3, 0, None)
    graph = single_op_builder((x, weight, bias), cadence.quantized_linear.per_tensor, args)
    expected = graph(x, weight, bias)
    CompileTimeTypeDispatchPass()(graph)
    typed = getattr(cadence, f"quantized_linear_{suffix}x{suffix}_{suffix}").per_tensor
    assert count_node(graph, typed) == 1
    assert torch.equal(graph(x, weight, bias)[0], expected[0])


def test_types_without_an_operator_are_refused() -> None:
    x = torch.ones(2, dtype=torch.int16)
    graph = single_op_builder((x, x), cadence.quantized_add.per_tensor, (x, 1.0, 0, x, 1.0, 0, 1.0, 0))
    with pytest.raises(RuntimeError, match=r"Unsupported input types .*int16.* Expected one of"):
        CompileTimeTypeDispatchPass()(graph)


def test_arguments_by_name() -> None:
    x = torch.ones(4)
    graph = single_op_builder((x,), aten.slice_copy.Tensor, (x, 0, 1))
    (node,) = graph.graph.find_nodes(op="call_function", target=aten.slice_copy.Tensor)
    assert [get_arg(node, name) for name in ("dim", "start", "end", "step")] == [0, 1, None, 1]
    set_arg(node, "start", 2)
    set_arg(node, "step", 3)
    assert (get_arg(node, "start", int), get_arg(node, "step", int)) == (2, 3)
    with pytest.raises(TypeError, match="expected start of str, found int"):
        get_arg(node, "start", str)
    with pytest.raises(KeyError, match="has no argument 'begin'"):
        get_arg(node, "begin")


class _Numbers(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._safe_softmax(x * 2.0, -1) * 3


def test_passes_before_the_edge_dialect() -> None:
    (x,) = floats(2, 5)
    program = torch.export.export(_Numbers(), (x,))
    expected = _Numbers()(x)
    apply_torch_ops_passes(program)
    targets = [node.target for node in program.graph.nodes if node.op == "call_function"]
    assert targets.count(torch.ops.aten.full.default) == 2
    assert torch.ops.aten._softmax.default in targets and torch.ops.aten._safe_softmax.default not in targets
    program.graph.lint()
    torch.testing.assert_close(program.module()(x), expected)


def test_bound_arguments() -> None:
    x = torch.ones(4, 3)
    graph = single_op_builder((x,), aten.slice_copy.Tensor, (x, 1))
    simplify_ops.BindOptionalArgsPass()(graph)
    (node,) = graph.graph.find_nodes(op="call_function", target=aten.slice_copy.Tensor)
    assert len(node.args) == 5 and node.args[1:] == (1, None, None, 1)


def test_infinities_of_other_dtypes_than_floats_stay() -> None:
    """An infinite constant of bools is true."""
    x = torch.tensor([True, False])
    module = graph(
        [x],
        lambda b, x: b.call_operator(
            aten.logical_and.default,
            (x[0], b.call_operator(aten.full.default, ([2], float("inf")), {"dtype": torch.bool})),
        ),
    )
    found = replace_ops.ReplaceInfArgInFullWithValuePass()(module).graph_module
    torch.testing.assert_close(found(x)[0], x)
