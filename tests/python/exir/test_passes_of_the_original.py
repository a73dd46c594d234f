# SPDX-License-Identifier: BSD-3-Clause
"""Passes and helpers of passes that code written against the original calls by their names and keywords."""

from __future__ import annotations

import importlib
import inspect
import operator

import pytest
import torch
from torch._export.verifier import SpecViolationError
from torch.export import export
from torch.fx import GraphModule

from sdk.exir import EdgeCompileConfig, memory, to_edge, types
from sdk.exir.backend.operator_support import DontPartition, DontPartitionModule, DontPartitionName
from sdk.exir.common import get_schema_for_operators
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dialects.edge.op.api import get_torch_op_overload
from sdk.exir.graph_module import (
    bfs_trace_with_node_process,
    get_cond_while_submodules,
    get_control_flow_submodules,
    get_scan_submodules,
)
from sdk.exir.pass_base import ExportPass, ExportPassBaseError
from sdk.exir.passes import (
    EdgeToBackendOpsPass,
    NormalizeTransposePass,
    NormalizeViewCopyBasePass,
    OpReplacePass,
    PruneEmptyTensorsPass,
    RemoveNonCoreAtenOpGraphAssertsPass,
    RemoveNoopPass,
    RemoveToCopyPass,
    ReplaceBrokenOpsWithFunctionalOpsPass,
    ReplaceViewCopyWithViewPass,
    SpecPropPass,
    ToDevicePass,
    ToOutVarPass,
)
from sdk.exir.passes.propagate_device_pass import PropagateDevicePass
from sdk.exir.passes.replace_aten_with_edge_pass import aten_to_edge, should_lower_to_edge
from sdk.exir.passes.spec_prop_pass import make_spec
from sdk.exir.serde import schema
from sdk.exir.serde.serialize import deserialize, serialize
from sdk.exir.tensor import TensorSpec
from sdk.exir.verification.verifier import EXIRATenDialectVerifierBase, get_aten_verifier
from sdk.extension.llm.custom_ops import custom_ops

aten = torch.ops.aten
X = (torch.arange(12, dtype=torch.float32).reshape(3, 4),)


class Function(torch.nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.forward = function


def graph_of(function, inputs=X) -> GraphModule:
    return export(Function(function), inputs).graph_module


def targets(gm: GraphModule) -> list[object]:
    return [node.target for node in gm.graph.nodes if node.op == "call_function"]


class TestViews:
    def test_a_transposition_copies(self) -> None:
        gm = NormalizeTransposePass()(graph_of(lambda x: x.t() + 1)).graph_module
        assert targets(gm) == [aten.t_copy.default, aten.add.Tensor]
        torch.testing.assert_close(gm(*X)[0], X[0].t() + 1)

    def test_every_view_copies(self) -> None:
        gm = graph_of(lambda x: x.t().unsqueeze(0).expand(2, 4, 3)[0].select(0, 1) * 2)
        assert any(op.is_view for op in targets(gm))
        changed = ReplaceBrokenOpsWithFunctionalOpsPass()(gm).graph_module
        assert not any(op.is_view for op in targets(changed))
        assert {op.name().partition(".")[0] for op in targets(changed)} >= {"aten::t_copy", "aten::expand_copy"}
        torch.testing.assert_close(changed(*X)[0], X[0].t()[1] * 2)

    def test_a_graph_without_views_stays(self) -> None:
        gm = ReplaceBrokenOpsWithFunctionalOpsPass()(graph_of(lambda x: torch.relu(x))).graph_module
        assert targets(gm) == [aten.relu.default]


class TestEdgeOperators:
    def test_replace_those_of_tensors(self) -> None:
        batch = torch.export.Dim("batch", max=8)
        program = export(Function(lambda x: torch.relu(x) * x.shape[0]), X, dynamic_shapes=[{0: batch}])
        gm = OpReplacePass()(program.graph_module).graph_module
        edge = exir_ops.edge.aten
        assert [t for t in targets(gm) if t is not aten.sym_size.int] == [edge.relu.default, edge.mul.Tensor]
        assert aten.sym_size.int in targets(gm)

    def test_are_one_object_each(self) -> None:
        assert aten_to_edge(aten.add.Tensor) is exir_ops.edge.aten.add.Tensor
        assert aten_to_edge(aten.relu.default) is exir_ops.edge.aten.relu.default

    @pytest.mark.parametrize(
        ("op", "lowered"),
        [
            (aten.add.Tensor, True),
            (exir_ops.edge.aten.add.Tensor, False),
            (aten.sym_size.int, False),
            (aten._local_scalar_dense.default, False),
            (aten._assert_scalar.default, False),
            (aten.scalar_tensor.default, False),
            (torch.ops.higher_order.cond, False),
            (torch.add, False),
            ("x", False),
        ],
    )
    def test_only_calls_of_tensors(self, op: object, lowered: bool) -> None:
        assert should_lower_to_edge(op) is lowered


@pytest.mark.parametrize("ops", [torch.ops, exir_ops.edge])
def test_empty_tensors_are_not_concatenated(ops) -> None:
    def function(x):
        return torch.cat([x[:, :0], x, x[:0].reshape(3, 0)], dim=1), torch.cat([x[:0], x[3:]])

    program = (
        export(Function(function), X) if ops is torch.ops else to_edge(export(Function(function), X)).exported_program()
    )
    changed = PruneEmptyTensorsPass()(program.graph_module).graph_module
    (kept,) = changed.graph.find_nodes(op="call_function", target=ops.aten.cat.default)
    assert [node.name for node in kept.args[0]] == ["x"]
    assert targets(changed).count(ops.aten.full.default) == 1
    for found, expected in zip(changed(*X), function(*X), strict=True):
        torch.testing.assert_close(found, expected)


def test_copies_to_the_same_are_removed() -> None:
    def copies(x):
        same = torch.ops.aten._to_copy.default(x, dtype=torch.float32)
        other = torch.ops.aten._to_copy.default(x, dtype=torch.float64)
        return same + other, same

    gm = graph_of(copies)
    assert targets(gm).count(aten._to_copy.default) == 2
    changed = RemoveToCopyPass()(gm).graph_module
    assert targets(changed) == [aten._to_copy.default, aten.add.Tensor]
    expected = copies(*X)
    torch.testing.assert_close(changed(*X), expected)


def test_code_follows_the_graph() -> None:
    """A pass that is called by itself returns a module that can be run and printed."""
    batch = torch.export.Dim("batch", max=8)

    def function(x):
        rows = aten.permute_copy.default(aten.view_copy.default(aten.view_copy.default(x, [-1]), [1, -1]), [0, 1])
        return rows + x.shape[0] * 2

    program = to_edge(export(Function(function), X, dynamic_shapes=[{0: batch}])).exported_program()
    for each in (NormalizeViewCopyBasePass(), RemoveNoopPass(), EdgeToBackendOpsPass(), SpecPropPass(), ToOutVarPass()):
        code = program.graph_module.code
        changed = each(program.graph_module).graph_module
        written = changed.code
        changed.recompile()
        assert written == changed.code
        assert isinstance(each, SpecPropPass) or written != code, each


def test_views_need_only_the_spec_of_their_base() -> None:
    gm = export(Function(lambda x: aten.view_copy.default(x, [2, 6]) + 1), X).graph_module
    base = next(iter(gm.graph.nodes))
    base.meta["spec"] = TensorSpec.from_tensor(X[0])
    view_pass = ReplaceViewCopyWithViewPass()
    changed = view_pass(gm).graph_module
    view_pass.ensures(changed)
    assert targets(changed) == [memory.view, aten.add.Tensor] and "memory_view" in changed.code
    (found,) = changed.graph.find_nodes(op="call_function", target=memory.view)
    assert (found.meta["spec"].base, found.meta["spec"].shape) == (base.meta["spec"], [2, 6])
    torch.testing.assert_close(changed(*X)[0], X[0].reshape(2, 6) + 1)


def test_results_of_several_have_their_handle_in_a_file() -> None:
    program = to_edge(export(Function(lambda x: tuple(x.max(1))), X)).exported_program()
    results = [node for node in program.graph.nodes if node.target is operator.getitem]
    read = deserialize(serialize(program))
    again = [node.meta["debug_handle"] for node in read.graph.nodes if node.target is operator.getitem]
    assert again == [node.meta["debug_handle"] for node in results] and len(again) == 2


def test_assertions_about_values_stay() -> None:
    def function(x):
        n = x.sum().to(torch.int64).item()
        torch._check(n >= 2)
        return torch.ops.aten._to_copy.default(x, dtype=torch.float64) * n

    gm = export(Function(function), X).run_decompositions({}).graph_module
    with gm.graph.inserting_before(gm.graph.output_node()):
        x = next(iter(gm.graph.nodes))
        gm.graph.call_function(aten._assert_tensor_metadata.default, (x,), {"dtype": torch.float32})
    before = targets(gm)
    assert aten._assert_scalar.default in before
    after = targets(RemoveNonCoreAtenOpGraphAssertsPass()(gm).graph_module)
    assert after == [target for target in before if target is not aten._assert_tensor_metadata.default]
    assert len(after) < len(before)


def test_a_graph_moves_to_a_device() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3, 4))

        def forward(self, x):
            made = torch.zeros(3, 4, device=x.device)
            return torch.cond(
                x.sum() > 0, lambda y: y + torch.ones(3, 4, device=y.device), lambda y: y - 1, (x + made,)
            )

    module = export(Model(), X).module()
    assert isinstance(module, GraphModule)
    moved = ToDevicePass("meta")(module).graph_module
    devices = [
        node.kwargs["device"]
        for part in moved.modules()
        if isinstance(part, GraphModule)
        for node in part.graph.nodes
        if "device" in node.kwargs
    ]
    assert devices == [torch.device("meta")] * 2
    assert moved.weight.device.type == "meta"
    assert ToDevicePass(torch.device("cpu")).device == torch.device("cpu")


@pytest.fixture(scope="module")
def loops() -> GraphModule:
    def function(x):
        x = torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))
        (x,) = torch._higher_order_ops.while_loop(lambda y: y.sum() < 100, lambda y: (y * 2,), (x,))
        last, _ = torch._higher_order_ops.scan(lambda carry, y: (carry + y, carry * y), torch.zeros(4), x)
        return last

    return graph_of(function)


class TestControlFlow:
    def test_parts_of_each_kind(self, loops: GraphModule) -> None:
        def kinds(found):
            return [node.target.name() for _, module, node in found if isinstance(module, GraphModule)]

        assert kinds(get_cond_while_submodules(loops)) == ["cond", "cond", "while_loop", "while_loop"]
        assert kinds(get_scan_submodules(loops)) == ["scan"]
        assert kinds(get_control_flow_submodules(loops)) == ["cond", "cond", "while_loop", "while_loop", "scan"]

    def test_every_node_is_seen(self, loops: GraphModule) -> None:
        seen: list[object] = []
        bfs_trace_with_node_process(gm=loops, node_op=lambda node: seen.append(node.target))
        for op in (torch.ops.higher_order.scan, aten.sub.Tensor, aten.lt.Scalar):
            assert op in seen


@pytest.fixture(scope="module")
def layers() -> GraphModule:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(4, 4)
            self.second = torch.nn.Linear(4, 4)

        def forward(self, x):
            return torch.relu(self.first(x)) + self.second(x)

    return to_edge(export(Model(), X)).exported_program().graph_module


class TestDontPartition:
    @staticmethod
    def rejected(check, gm: GraphModule) -> list[str]:
        calls = [node for node in gm.graph.nodes if node.op == "call_function"]
        names = [node.name for node in calls if not check.is_node_supported({}, node)]
        assert [node.name for node in check.rejected_nodes()] == names
        assert check.num_rejected() == len(names) and check.has_rejected_node() is bool(names)
        return names

    @pytest.mark.parametrize(
        "target", [exir_ops.edge.aten.relu.default, torch.ops.aten.relu.default, "aten.relu.default"]
    )
    def test_an_operator(self, layers: GraphModule, target: object) -> None:
        assert self.rejected(DontPartition(target), layers) == ["aten_relu_default"]

    def test_a_part_of_the_name_of_an_operator(self, layers: GraphModule) -> None:
        assert self.rejected(DontPartition("relu"), layers) == []
        assert self.rejected(DontPartition("relu", exact=False), layers) == ["aten_relu_default"]
        several = DontPartition("relu", "aten.add.", exact=False)
        assert self.rejected(several, layers) == ["aten_relu_default", "aten_add_tensor"]

    def test_a_name(self, layers: GraphModule) -> None:
        assert self.rejected(DontPartitionName("aten_relu_default"), layers) == ["aten_relu_default"]
        assert self.rejected(DontPartitionName("relu"), layers) == []
        assert self.rejected(DontPartitionName("relu", exact=False), layers) == ["aten_relu_default"]

    def test_a_module(self, layers: GraphModule) -> None:
        both = self.rejected(DontPartitionModule(module_name="Linear"), layers)
        first = self.rejected(DontPartitionModule(instance_name="first"), layers)
        second = self.rejected(DontPartitionModule(instance_name="second"), layers)
        assert first and second and sorted(first + second) == sorted(both)
        assert "aten_relu_default" not in both
        assert self.rejected(DontPartitionModule(module_name="torch.nn.modules.linear.Linear"), layers) == both
        assert self.rejected(DontPartitionModule(module_name="other.Linear"), layers) == []
        assert self.rejected(DontPartitionModule(module_name="inear", exact=False), layers) == both
        assert self.rejected(DontPartitionModule(), layers) == []

    def test_each_check_counts_its_own(self, layers: GraphModule) -> None:
        self.rejected(DontPartitionName("aten_relu_default"), layers)
        assert DontPartitionName("x").rejected_nodes() == []


class TestVerifiers:
    def test_one_that_accepts_core_operators_only(self) -> None:
        verifier = get_aten_verifier(EdgeCompileConfig())
        verifier()(graph_of(lambda x: torch.relu(x)))
        with pytest.raises(SpecViolationError, match="is not Aten Canonical"):
            verifier()(graph_of(lambda x: torch.nn.functional.linear(x, x)))
        listed = EdgeCompileConfig(_core_aten_ops_exception_list=[aten.linear.default])
        get_aten_verifier(listed)()(graph_of(lambda x: torch.nn.functional.linear(x, x)))

    def test_one_that_accepts_all(self) -> None:
        verifier = get_aten_verifier(EdgeCompileConfig(_check_ir_validity=False))
        assert verifier is EXIRATenDialectVerifierBase
        verifier()(graph_of(lambda x: torch.nn.functional.linear(x, x)))


class TestNames:
    def test_keywords(self) -> None:
        assert get_torch_op_overload(namespace="aten", opname="add", overload="Tensor") is aten.add.Tensor
        assert get_torch_op_overload(namespace="aten", opname="relu", overload="") is aten.relu.default
        assert isinstance(make_spec(x=torch.ones(2)), TensorSpec)
        assert list(inspect.signature(custom_ops.custom_sdpa).parameters)[:4] == [
            "query",
            "key_cache",
            "value_cache",
            "start_pos",
        ]

    def test_copies_that_are_left_out_need_memory_on_devices(self) -> None:
        with pytest.raises(ValueError, match="skip_d2h_for_method_outputs=True expects enable_non_cpu_memory_planning"):
            PropagateDevicePass(skip_d2h_for_method_outputs=True)
        made = PropagateDevicePass(skip_h2d_for_method_inputs=True, enable_non_cpu_memory_planning=True)
        assert made.config.skip_h2d_for_method_inputs and not made.config.skip_d2h_for_method_outputs

    @pytest.mark.parametrize(
        "name", ["insert_write_back_for_buffers_pass", "remove_unused_parameters_pass", "weights_to_outputs_pass"]
    )
    def test_passes_with_the_name_of_their_module(self, name: str) -> None:
        passes = importlib.import_module("sdk.exir.passes")
        importlib.import_module(f"sdk.exir.passes.{name}")
        assert inspect.isfunction(getattr(passes, name))

    def test_modules_with_the_name_of_a_pass(self) -> None:
        from sdk.exir.passes import convert_constant_dim_order_pass

        assert inspect.ismodule(convert_constant_dim_order_pass)

    def test_types(self) -> None:
        assert types.ValueSpec is not None and TensorSpec in types.LeafValueSpec.__args__
        assert schema.SCHEMA_VERSION == torch._export.serde.schema.SCHEMA_VERSION
        assert schema.ExportedProgram is torch._export.serde.schema.ExportedProgram


def test_passes_over_captured_modules_with_guards() -> None:
    """PyTorch 2.13 puts checks of the inputs' sizes into the graph of a captured module, as a call of a module."""

    class ReplaceSin(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            return super().call_operator(aten.cos.default if op == aten.sin.default else op, args, kwargs, meta)

    shapes = ({0: torch.export.Dim("rows", min=2, max=8)},)
    captured = export(Function(lambda x: x.sin() + 1), X, dynamic_shapes=shapes).module()
    assert captured.graph.find_nodes(op="call_module", target="_guards_fn")
    changed = ReplaceSin()(captured).graph_module
    assert {node.op for node in changed.graph.nodes} == {"placeholder", "call_function", "output"}
    x = torch.randn(5, 4)
    torch.testing.assert_close(changed(x), x.cos() + 1)


def test_a_pass_refuses_calls_of_other_modules() -> None:
    traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    for node in traced.graph.nodes:
        node.meta["val"] = X[0]
    with pytest.raises(ExportPassBaseError, match="call_module 0 is not allowed"):
        ExportPass()(traced)


def test_schemas_by_the_names_in_graphs():
    """A node's target is `torch.ops.aten.add.Tensor` in text."""
    found = get_schema_for_operators(["torch.ops.aten.add.Tensor", "aten::relu", "torch.ops.aten.no_such.default"])
    assert found["aten::add.Tensor"] == str(torch.ops.aten.add.Tensor._schema)
    assert found["aten::relu"] == str(torch.ops.aten.relu.default._schema)
    assert found["aten::no_such.default"] == "<No Schema Found>"
    with pytest.raises(ValueError, match="'add' is no operator's name"):
        get_schema_for_operators(["add"])


def test_branches_have_debug_handles():
    """Backends read the handle of every node that is no input and no output."""

    class Branches(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))

    program = to_edge(export(Branches(), (torch.ones(2),))).exported_program()
    attributes = program.graph.find_nodes(op="get_attr")
    assert len(attributes) == 2
    for node in attributes:
        assert node.meta["debug_handle"] == next(iter(node.users)).meta["debug_handle"]
