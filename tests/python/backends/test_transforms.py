# SPDX-License-Identifier: BSD-3-Clause
"""Passes of `sdk.backends.transforms`: they change a graph as expected, and keep the results."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind, OutputKind

import sdk.exir.operator.quantized_ops  # noqa: F401  (registers the operators)
from sdk.backends.transforms.addmm_mm_to_linear import AddmmToLinearTransform
from sdk.backends.transforms.aten_to_dialect_pass import AtenToDialectPass, DialectNodeSpec
from sdk.backends.transforms.decompose_sdpa import DecomposeScaledDotProductAttention
from sdk.backends.transforms.fuse_cascaded_transpose_or_permute_ops import FuseCascadedTransposeOrPermuteOps
from sdk.backends.transforms.fuse_cascaded_view_ops import FuseCascadedViewOps
from sdk.backends.transforms.fuse_view_copy import FuseViewCopyTransform
from sdk.backends.transforms.mean_to_sum_div import MeanToSumDiv
from sdk.backends.transforms.postpone_permute_below_squeeze_view import (
    PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView,
)
from sdk.backends.transforms.rank_0_to_rank_1 import Rank0ToRank1Pass
from sdk.backends.transforms.remove_clone_ops import RemoveCloneOpsTransform
from sdk.backends.transforms.remove_getitem_op import RemoveGetItemPass
from sdk.backends.transforms.remove_permutes_around_elementwise_ops import RemovePermutesAroundElementwiseOps
from sdk.backends.transforms.replace_nop_transpose_or_permute_with_view import (
    ReplaceNopTransposeOrPermuteWithViewPass,
)
from sdk.backends.transforms.replace_scalar_with_tensor import ReplaceScalarWithTensorArgPass
from sdk.backends.transforms.utils import (
    create_constant_placeholder,
    create_mutable_buffer,
    delete_constant_placeholder,
    get_param_tensor,
    is_param_node,
)
from sdk.backends.transforms.view_copy_to_squeeze_unsqueeze import ViewCopyToSqueezeUnsqueezePass
from sdk.exir import EdgeCompileConfig, EdgeProgramManager, to_edge
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

torch.manual_seed(0)


class Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any], *parts: torch.nn.Module) -> None:
        super().__init__()
        self.function = function
        self.parts = torch.nn.ModuleList(parts)

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*self.parts, *args)


def edge_of(model: torch.nn.Module | Callable[..., Any], *inputs: torch.Tensor) -> EdgeProgramManager:
    module = model if isinstance(model, torch.nn.Module) else Function(model)
    return to_edge(export(module.eval(), inputs), compile_config=EdgeCompileConfig(_check_ir_validity=False))


def operators(program: ExportedProgram) -> list[str]:
    return [
        getattr(node.target, "__name__", str(node.target)).removeprefix("aten.").rpartition(".")[0]
        for node in program.graph.nodes
        if node.op == "call_function"
    ]


def after(passes: list[Any], model: torch.nn.Module | Callable[..., Any], *inputs: torch.Tensor) -> list[str]:
    """Returns the operators that passes leave; checks that the program still computes the same."""
    edge = edge_of(model, *inputs)
    expected = edge.exported_program().module()(*inputs)
    changed = edge.transform(passes).exported_program()
    torch.testing.assert_close(changed.module()(*inputs), expected)
    return operators(changed)


class TestLinear:
    @pytest.mark.parametrize("bias", [False, True])
    @pytest.mark.parametrize("shape", [(2, 4), (2, 3, 4), (2, 1, 3, 4)])
    def test_is_whole_again(self, bias: bool, shape: tuple[int, ...]) -> None:
        found = after([AddmmToLinearTransform()], torch.nn.Linear(4, 6, bias=bias), torch.randn(shape))
        assert found == ["linear"]

    def test_a_product_of_two_inputs_is_none(self) -> None:
        found = after([AddmmToLinearTransform()], lambda x, y: x @ y, torch.randn(2, 4), torch.randn(4, 3))
        assert found == ["mm"]


class TestFirstResults:
    def test_of_a_pool(self) -> None:
        assert after([RemoveGetItemPass()], torch.nn.MaxPool2d(2), torch.randn(1, 2, 6, 6)) == ["max_pool2d"]

    def test_of_reductions(self) -> None:
        model = lambda x: (torch.max(x, 1)[0], torch.min(x, 0, keepdim=True)[0])  # noqa: E731
        assert after([RemoveGetItemPass()], model, torch.randn(3, 4)) == ["amax", "amin"]

    def test_indices_that_are_used_stay(self) -> None:
        assert "max" in after([RemoveGetItemPass()], lambda x: torch.max(x, 1), torch.randn(3, 4))


@pytest.mark.parametrize("mask", [None, torch.bool, torch.float32])
@pytest.mark.parametrize(("causal", "gqa"), [(False, False), (True, False), (False, True)])
def test_attention(mask: torch.dtype | None, causal: bool, gqa: bool) -> None:
    if causal and mask is not None:
        pytest.skip("eager takes one of the two")
    q, k, v = torch.randn(1, 4, 3, 8), *(torch.randn(1, 2 if gqa else 4, 5, 8) for _ in range(2))
    given = None if mask is None else torch.rand(1, 1, 3, 5) if mask.is_floating_point else torch.rand(1, 1, 3, 5) > 0.3

    class Attention(torch.nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            attend = torch.nn.functional.scaled_dot_product_attention
            return attend(q, k, v, given, is_causal=causal, scale=0.3, enable_gqa=gqa)

    module = export(Attention(), (q, k, v)).module()
    expected = module(q, k, v)
    result = DecomposeScaledDotProductAttention()(module)
    assert result.modified
    assert "scaled_dot_product_attention" not in str(module.graph)
    torch.testing.assert_close(module(q, k, v), expected)
    assert any("self" in str(node.meta.get("nn_module_stack")) for node in module.graph.nodes if "bmm" in node.name)


class TestCopies:
    def test_go(self) -> None:
        assert after([RemoveCloneOpsTransform()], lambda x: x.clone() * 2, torch.randn(3)) == ["mul"]

    def test_that_change_the_layout_stay(self) -> None:
        model = lambda x: x.clone(memory_format=torch.channels_last) * 2  # noqa: E731
        assert len(after([RemoveCloneOpsTransform()], model, torch.randn(1, 2, 3, 4))) == 2

    def test_from_input_to_output_may_stay(self) -> None:
        model = lambda x: x.clone()  # noqa: E731
        assert after([RemoveCloneOpsTransform()], model, torch.randn(3)) == []
        assert len(after([RemoveCloneOpsTransform(preserve_input_output_copies=True)], model, torch.randn(3))) == 1

    def test_quantising_what_was_just_dequantised(self) -> None:
        q, numbers = torch.ops.quantized_decomposed, (0.1, 2, -128, 127, torch.int8)

        def model(x: torch.Tensor) -> torch.Tensor:
            y = q.dequantize_per_tensor(q.quantize_per_tensor(x, *numbers), *numbers)
            return q.dequantize_per_tensor(q.quantize_per_tensor(y.clone(), *numbers), *numbers)

        found = after([RemoveCloneOpsTransform()], model, torch.randn(3))
        assert found == ["quantized_decomposed.quantize_per_tensor", "quantized_decomposed.dequantize_per_tensor"]
        kept = after([RemoveCloneOpsTransform(eliminate_quant_dequant_pairs=False)], model, torch.randn(3))
        assert len(kept) == 4


class TestPermutations:
    def test_two_are_one(self) -> None:
        model = lambda x: x.permute(1, 2, 0).transpose(0, 1).relu()  # noqa: E731
        assert after([FuseCascadedTransposeOrPermuteOps()], model, torch.randn(2, 3, 4)) == ["permute_copy", "relu"]

    def test_two_are_none(self) -> None:
        model = lambda x: x.permute(1, 2, 0).permute(2, 0, 1).relu()  # noqa: E731
        assert after([FuseCascadedTransposeOrPermuteOps()], model, torch.randn(2, 3, 4)) == ["relu"]

    @pytest.mark.parametrize(
        ("model", "is_fused"),
        [
            (lambda x: x.permute(0, 2, 1).view(1, 5, 1, 4).permute(0, 2, 3, 1), True),
            (lambda x: x.transpose(1, 2).view(1, 5, 1, 4).permute(0, 2, 3, 1), True),
            (lambda x: x.view(1, 1, 4, 5).permute(0, 3, 1, 2).view(1, 5, 4).permute(0, 2, 1), True),
            (lambda x: x.permute(0, 2, 1).view(1, 5, 1, 4).permute(0, 1, 3, 2), False),
            (lambda x: x.permute(0, 2, 1).reshape(1, 2, 10).permute(0, 2, 1), False),
        ],
    )
    def test_undo_each_other_across_a_view(self, model: Callable[..., Any], is_fused: bool) -> None:
        found = after([FuseCascadedTransposeOrPermuteOps()], model, torch.randn(1, 4, 5))
        assert ("permute_copy" not in found) is is_fused
        assert "view_copy" in found

    def test_of_sizes_of_one_are_views(self) -> None:
        nop = ReplaceNopTransposeOrPermuteWithViewPass()
        assert after([nop], lambda x: x.permute(0, 2, 1, 3).relu(), torch.randn(2, 1, 3, 4)) == ["view_copy", "relu"]
        assert after([nop], lambda x: x.permute(0, 2, 1, 3).relu(), torch.randn(2, 2, 3, 4)) == ["permute_copy", "relu"]

    @pytest.mark.parametrize(
        "model",
        [
            lambda x: x.permute(2, 0, 3, 1).view(4, 2, 3),  # without the size 1
            lambda x: x.permute(2, 0, 3, 1).view(4, 2, 3, 1, 1),
            lambda x: x.permute(2, 0, 3, 1).view(1, 4, 2, 3, 1),
        ],
    )
    def test_pass_views(self, model: Callable[..., Any]) -> None:
        postpone = PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView()
        assert after([postpone], model, torch.randn(2, 1, 4, 3)) == ["view_copy", "permute_copy"]

    def test_come_together(self) -> None:
        def model(x: torch.Tensor) -> torch.Tensor:
            return x.permute(1, 0, 2).view(3, 2, 1, 4).permute(1, 0, 3, 2).view(2, 3, 4).relu()

        passes = [
            PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView(),
            FuseCascadedTransposeOrPermuteOps(),
            FuseCascadedViewOps(),
        ]
        found = after(passes, model, torch.randn(2, 3, 4))
        assert found.count("permute_copy") <= 1


class TestPermutationsAroundArithmetic:
    @staticmethod
    def found(model: Callable[..., Any], *inputs: torch.Tensor) -> list[str]:
        return after([RemovePermutesAroundElementwiseOps()], model, *inputs)

    def test_go(self) -> None:
        def model(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            total = (x.permute(1, 2, 0) + y.permute(1, 2, 0)).relu()
            return total.permute(2, 0, 1), (total * 2).permute(2, 0, 1)

        assert "permute_copy" not in self.found(model, torch.randn(2, 3, 4), torch.randn(2, 3, 4))

    def test_go_around_a_broadcast_dimension(self) -> None:
        def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (x.permute(1, 2, 0) * y.permute(1, 2, 0)).permute(2, 0, 1)

        assert "permute_copy" not in self.found(model, torch.randn(2, 3, 4), torch.randn(2, 1, 4))

    def test_go_beside_another_reader(self) -> None:
        def model(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            moved = x.permute(1, 2, 0)
            return moved.relu().permute(2, 0, 1), moved.cumsum(0)

        assert self.found(model, torch.randn(2, 3, 4)).count("permute_copy") == 1

    @pytest.mark.parametrize(
        "model",
        [
            lambda x: x.mT.view(3, 5, 1, 4).sin().square().view(3, 5, 4).mT,
            lambda x: x.mT.unsqueeze(2).sin().squeeze(2).mT,
            lambda x: x.mT.unsqueeze(-1).sin().squeeze(3).mT,
            lambda x: x.unsqueeze(1).permute(0, 3, 1, 2).view(3, 5, 4).tanh().permute(0, 2, 1),
            lambda x: x.permute(2, 0, 1).unsqueeze(0).sin().permute(0, 2, 3, 1),
            lambda x: x.mT.mean((1, -1), keepdim=True).mT,
            lambda x: x.mT[:, 1:3].sum(2, keepdim=True).mT,
            lambda x: torch.cat([x.permute(2, 0, 1), x.permute(2, 0, 1) * 2], -1).permute(1, 2, 0),
        ],
    )
    def test_go_across_views_and_along_dimensions(self, model: Callable[..., Any]) -> None:
        found = self.found(model, torch.randn(3, 4, 5))
        assert not {"permute_copy", "transpose_copy"} & set(found), found

    @pytest.mark.parametrize(
        "model",
        [
            lambda x: x.mT.reshape(3, 2, 10).sin().permute(0, 2, 1),  # the view moves more than a size of 1
            lambda x: x.mT.mean(1).unsqueeze(1).mT,  # mean(1) removes a dimension, which renumbers the following ones
            lambda x: x.unsqueeze(1).permute(1, 3, 0, 2).view(5, 3, 4)[0:2].sin().permute(1, 0, 2),
        ],
    )
    def test_stay_around_other_views(self, model: Callable[..., Any]) -> None:
        assert {"permute_copy", "transpose_copy"} & set(self.found(model, torch.randn(3, 4, 5)))

    @pytest.mark.parametrize(
        "model",
        [
            lambda x, y: x.permute(1, 2, 0).relu(),  # no inverse permutation follows
            lambda x, y: x.permute(1, 2, 0).relu().permute(1, 2, 0),  # that is another permutation
            lambda x, y: (x.permute(1, 2, 0) + y).permute(2, 0, 1),  # the other operand is not permuted
            lambda x, y: (x.permute(1, 2, 0) + y[0, 0]).permute(2, 0, 1),  # nor one that is broadcast
            lambda x, y: x.permute(1, 2, 0).cumsum(0).permute(2, 0, 1),  # cumsum is not elementwise
            lambda x, y: (x.permute(1, 2, 0).relu(), x.permute(1, 2, 0).relu().permute(2, 0, 1))[0],
        ],
    )
    def test_stay(self, model: Callable[..., Any]) -> None:
        assert "permute_copy" in self.found(model, torch.randn(3, 3, 3), torch.randn(3, 3, 3))


class TestViews:
    def test_in_sequence(self) -> None:
        model = lambda x: x.view(4, 6).view(3, 8).view(24).relu()  # noqa: E731
        assert after([FuseCascadedViewOps()], model, torch.randn(2, 3, 4)) == ["view_copy", "relu"]

    def test_around_elementwise_operators(self) -> None:
        fuse = FuseViewCopyTransform()
        model = lambda x: (x.view(4, 6).view(24).abs().view(3, 8) * 2).sqrt().view(2, 12).sum(1)  # noqa: E731
        found = after([fuse], model, torch.randn(2, 3, 4))
        assert found == ["view_copy", "abs", "mul", "sqrt", "sum"]

        def read_twice(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            y = x.view(4, 6).abs()
            return y.sum(1), y.view(24)

        assert after([fuse], read_twice, torch.randn(2, 3, 4)).count("view_copy") == 2
        # A row is broadcast over another shape.
        model = lambda x, y: (x.view(4, 6) + y).view(24)  # noqa: E731
        assert after([fuse], model, torch.randn(2, 3, 4), torch.randn(6)).count("view_copy") == 2
        assert after([fuse], lambda x: x.view(4, 6).cumsum(0).view(24), torch.randn(2, 3, 4)).count("view_copy") == 2

    def test_that_squeeze(self) -> None:
        squeeze = ViewCopyToSqueezeUnsqueezePass()
        assert after([squeeze], lambda x: x.view(2, 3).relu(), torch.randn(1, 2, 1, 3)) == ["squeeze_copy", "relu"]
        assert after([squeeze], lambda x: x.view(2, 1, 3).relu(), torch.randn(2, 3)) == ["unsqueeze_copy", "relu"]
        assert after([squeeze], lambda x: x.view(3, 2).relu(), torch.randn(2, 3)) == ["view_copy", "relu"]


class TestArithmetic:
    def test_numbers_become_tensors(self) -> None:
        model = lambda x: torch.ops.aten.add.Scalar(torch.ops.aten.mul.Scalar(x, 2.5), 1)  # noqa: E731
        found = after([ReplaceScalarWithTensorArgPass()], model, torch.randn(2, 3))
        assert sorted(found) == ["add", "full", "full", "mul"]

    @pytest.mark.parametrize("keepdim", [False, True])
    def test_means_become_sums(self, keepdim: bool) -> None:
        found = after([MeanToSumDiv()], lambda x: x.mean((1, -1), keepdim=keepdim), torch.randn(2, 3, 4))
        assert sorted(found) == ["div", "full", "sum"]


def test_scalars_get_dimensions() -> None:
    edge = edge_of(lambda x, y: x + y, torch.tensor(1.0), torch.tensor(2.0)).transform([Rank0ToRank1Pass()])
    shapes = [node.meta["val"].shape for node in edge.exported_program().graph.nodes if node.op == "placeholder"]
    assert shapes == [(1, 1), (1, 1)]


class TestDialect:
    def test_calls_are_replaced(self) -> None:
        class Pass(AtenToDialectPass):
            pass

        class Sub(Pass):
            pass

        @Pass.register_dialect_substitution(torch.ops.aten.add.Tensor)
        def add(node: torch.fx.Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
            if node.args[0].op != "placeholder":
                return None
            return DialectNodeSpec(torch.ops.aten.sub.Tensor, node.args, {"alpha": 2})

        program = export(Function(lambda x, y: (x + y) + x), (torch.ones(2), torch.ones(2)))
        found = copy.deepcopy(program)
        assert Pass(found).call(found.graph_module).modified
        targets = [n.target for n in found.graph.nodes if n.op == "call_function"]
        assert targets == [torch.ops.aten.sub.Tensor, torch.ops.aten.add.Tensor]
        assert not Sub(program).call(program.graph_module).modified  # it was made before the function was registered
        with pytest.raises(RuntimeError, match=r"Multiple substitutions registered for aten.add.Tensor"):
            Pass.register_dialect_substitution(torch.ops.aten.add.Tensor)(add)


class TestConstants:
    @pytest.mark.parametrize(
        ("kind", "persistent"),
        [
            (InputKind.PARAMETER, None),
            (InputKind.BUFFER, True),
            (InputKind.BUFFER, False),
            (InputKind.CONSTANT_TENSOR, None),
        ],
    )
    def test_come_and_go(self, kind: InputKind, persistent: bool | None) -> None:
        program = edge_of(torch.nn.Linear(2, 2, bias=False), torch.ones(1, 2)).exported_program()
        before = len(program.graph_signature.input_specs)
        first = next(node for node in program.graph.nodes if node.name == "input")
        with program.graph.inserting_before(first):
            node = create_constant_placeholder(program, program.graph, "extra", kind, torch.ones(3), persistent)
        assert [spec.arg.name for spec in program.graph_signature.input_specs] == ["p_weight", "extra", "input"]
        assert is_param_node(program, node)
        assert not is_param_node(program, first)
        assert torch.equal(get_param_tensor(program, node), torch.ones(3))
        assert ("extra" in program.state_dict) == (kind == InputKind.PARAMETER or bool(persistent))
        with pytest.raises(ValueError, match="has a parameter, buffer or constant 'extra' already"):
            create_constant_placeholder(program, program.graph, "extra", kind, torch.ones(3), persistent)
        delete_constant_placeholder(program, node)
        assert len(program.graph_signature.input_specs) == before
        assert "extra" not in program.state_dict and "extra" not in program.constants

    def test_what_cannot_be_removed(self) -> None:
        program = edge_of(torch.nn.Linear(2, 2), torch.ones(1, 2)).exported_program()
        nodes = {node.name: node for node in program.graph.nodes}
        with pytest.raises(ValueError, match="p_weight cannot be deleted: aten_permute_copy_default read it"):
            delete_constant_placeholder(program, nodes["p_weight"])
        with pytest.raises(ValueError, match="input is not a parameter"):
            delete_constant_placeholder(program, nodes["input"])
        with pytest.raises(RuntimeError, match=r"input \(placeholder\) is not a parameter"):
            get_param_tensor(program, nodes["input"])

    def test_state_that_the_program_changes(self) -> None:
        from sdk.exir.dialects._ops import ops

        edge = edge_of(lambda x: x * 1, torch.ones(2))
        program = edge.exported_program()
        state = create_mutable_buffer(program, "b_total", torch.zeros(2))
        output = program.graph.output_node()
        assert output.args[0][0] is state
        value = output.args[0][1]
        with program.graph.inserting_before(output):
            total = program.graph.call_function(ops.edge.aten.add.Tensor, (state, value))
        total.meta["val"] = value.meta["val"]
        output.args = ((total, total),)
        program.graph_signature.output_specs[0].arg.name = total.name
        program.graph_signature.output_specs[1].arg.name = total.name
        assert program.graph_signature.output_specs[0].kind == OutputKind.BUFFER_MUTATION
        module = _load_for_executorch_from_buffer(EdgeProgramManager(program).to_executorch().buffer)
        sums = [module.forward([torch.full((2,), float(i))])[0].tolist() for i in (1, 2, 3)]
        assert sums == [[1, 1], [3, 3], [6, 6]]
