# SPDX-License-Identifier: BSD-3-Clause
"""The pages on passes and on partitioners: their snippets, completed so that they run."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch.export import export
from torch.fx import subgraph_rewriter
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.fx.passes.operator_support import OperatorSupportBase, any_chain, chain
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher
from torch.fx.passes.utils.source_matcher_utils import get_source_partitions

from sdk.exir import to_edge
from sdk.exir._warnings import ExperimentalWarning, deprecated, experimental
from sdk.exir.backend.canonical_partitioners.pattern_op_partitioner import (
    create_op_support,
    create_pattern_support,
    generate_pattern_op_partitions,
)
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass
from sdk.exir.pass_manager import PassManager
from sdk.exir.passes import (
    ConstraintBasedSymShapeEvalPass,
    MemoryPlanningPass,
    ScalarToTensorPass,
    SpecPropPass,
    ToOutVarPass,
    dead_code_elimination_pass,
)
from sdk.exir.passes._quant_patterns_and_replacements import _trace_and_lower_to_edge_ops
from zoo.function import Function

edge = exir_ops.edge.aten


def lower(function, *args):
    return to_edge(export(Function(function), args)).exported_program()


def targets(graph_module):
    return [n.target for n in graph_module.graph.nodes if n.op == "call_function"]


ARGS = (torch.tensor([1.0, -2.0]), torch.tensor([0.5, 1.0]))


class ReplaceAddWithMulSub(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        if op != edge.add.Tensor:
            return super().call_operator(op, args, kwargs, meta)
        y = args[1]
        mul_res = super().call_operator(edge.mul.Tensor, args, {}, meta)
        return super().call_operator(edge.sub.Tensor, (mul_res, y), {}, meta)


def test_one_to_many():
    """PAS-02, PAS-03, PAS-05: the graph stays runnable and keeps its metadata."""
    module = ReplaceAddWithMulSub()(lower(lambda x, y: x + y, *ARGS).graph_module).graph_module
    assert targets(module) == [edge.mul.Tensor, edge.sub.Tensor]
    torch.testing.assert_close(module(*ARGS)[0], ARGS[0] * ARGS[1] - ARGS[1])
    for node in module.graph.nodes:
        if node.op == "call_function":
            assert {"val", "stack_trace", "nn_module_stack"} <= node.meta.keys()


class ReplaceInPlaceReluWithOutOfPlaceReluPass(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        if op != torch.ops.aten.relu_.default:
            return super().call_operator(op, args, kwargs, meta)
        return super().call_operator(torch.ops.aten.relu.default, args, kwargs, meta)


def test_one_to_one():
    """PAS-04"""
    graph, mode = torch.fx.Graph(), torch._subclasses.FakeTensorMode()
    x = graph.placeholder("x")
    relu = graph.call_function(torch.ops.aten.relu_.default, (x,))
    graph.output((relu,))
    x.meta["val"] = relu.meta["val"] = mode.from_tensor(torch.ones(2))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    changed = ReplaceInPlaceReluWithOutOfPlaceReluPass()(module).graph_module
    assert targets(changed) == [torch.ops.aten.relu.default]
    x = torch.tensor([-1.0, 1.0])
    assert changed(x)[0].tolist() == [0.0, 1.0] and x.tolist() == [-1.0, 1.0]


class RemoveDetachPass(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        if op not in (torch.ops.aten.detach.default, torch.ops.aten.detach_copy.default):
            return super().call_operator(op, args, kwargs, meta)
        assert len(args) == 1
        return args[0]


def test_one_to_none():
    """PAS-06"""
    program = export(Function(lambda x: torch.relu(x.detach())), ARGS[:1])
    assert torch.ops.aten.detach.default in targets(program.graph_module)
    assert targets(RemoveDetachPass()(program.graph_module).graph_module) == [torch.ops.aten.relu.default]


class AddNumber(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        return super().call_operator(op, (args[0], 2.5), kwargs, meta)


def test_numbers_become_tensors_where_the_schema_says_so():
    """PAS-07"""
    module = AddNumber()(lower(lambda x, y: x + y, *ARGS).graph_module).graph_module
    assert module.graph.find_nodes(op="call_function", target=edge.add.Tensor)[0].args[1] == 2.5
    changed = ScalarToTensorPass()(module).graph_module
    (add,) = changed.graph.find_nodes(op="call_function", target=edge.add.Tensor)
    assert isinstance(add.args[1], torch.fx.Node) and add.args[1].op == "get_attr"
    torch.testing.assert_close(changed(*ARGS)[0], ARGS[0] + 2.5)


def test_the_passes_that_the_page_names():
    """PAS-14: each kind of pass visits the graph in its own order (forward, backward, node by node, all at once)."""
    manager = to_edge(export(Function(lambda x, y: x * y + y), ARGS))
    module = manager.exported_program().graph_module
    (multiplied,) = module.graph.find_nodes(op="call_function", target=edge.mul.Tensor)
    with module.graph.inserting_after(multiplied):
        module.graph.call_function(edge.sin.default, (multiplied,)).meta = dict(multiplied.meta)
    dead_code_elimination_pass(module)
    assert targets(module) == [edge.mul.Tensor, edge.add.Tensor]
    SpecPropPass()(module)
    ConstraintBasedSymShapeEvalPass()(module)
    assert [list(n.meta["spec"].shape) for n in module.graph.nodes if n.op == "call_function"] == [[2], [2]]
    ToOutVarPass()(module)
    outs = [t for t in targets(module) if isinstance(t, torch._ops.OpOverload)]
    assert outs == [torch.ops.aten.mul.out, torch.ops.aten.add.out]
    MemoryPlanningPass().run(module, manager.exported_program().graph_signature)
    assert all(n.meta["spec"].mem_offset is not None for n in module.graph.nodes if n.op == "call_function")


def test_subgraph_rewriter():
    """PAS-09"""
    module = lower(lambda x, y: (x + y) * y, *ARGS).graph_module
    add_mul = _trace_and_lower_to_edge_ops(lambda x, y: torch.ops.aten.mul.Tensor(torch.ops.aten.add.Tensor(x, y), y))
    sub = _trace_and_lower_to_edge_ops(lambda x, y: torch.ops.aten.sub.Tensor(x, y))
    (match,) = subgraph_rewriter.replace_pattern_with_filters(module, add_mul, sub)
    assert targets(module) == [edge.sub.Tensor]
    assert [n.target for n in match.replacements] == [edge.sub.Tensor]
    assert "stack_trace" not in match.replacements[0].meta


class ReplaceAddPass(PassBase):
    def __init__(self, replace_op):
        self.replace_op = replace_op

    def call(self, graph_module):
        for node in graph_module.graph.nodes:
            if node.op == "call_function" and node.target == torch.add:
                node.target = self.replace_op
        return PassResult(graph_module, True)

    def requires(self, graph_module):
        if torch.add not in targets(graph_module):
            raise ValueError("No torch.add ops!")


def test_pass_base_and_manager():
    """PAS-10, PAS-11, PAS-12, PAS-13"""

    def add(x, y):
        return torch.add(x, y)

    def check_div_target(graph_module):
        if any(t != torch.div for t in targets(graph_module)):
            raise ValueError("Target should be div!")

    def replace_div_with_mul(graph_module):
        for node in graph_module.graph.nodes:
            if node.target == torch.div:
                node.target = torch.mul
        return PassResult(graph_module, True)

    replace_add_with_div = ReplaceAddPass(torch.div)
    module = replace_add_with_div(torch.fx.symbolic_trace(add)).graph_module
    assert targets(module) == [torch.div]
    with pytest.raises(ValueError, match=r"No torch\.add ops!"):
        replace_add_with_div(module)
    passes = [replace_add_with_div, replace_div_with_mul]
    pm = PassManager(passes=passes, run_checks_after_each_pass=True, suppress_check_failures=False)
    assert targets(pm(torch.fx.symbolic_trace(add)).graph_module) == [torch.mul]
    pm.add_checks(check_div_target)
    with pytest.raises(ValueError, match="Target should be div!"):
        pm(torch.fx.symbolic_trace(add))
    pm = PassManager(passes=passes, run_checks_after_each_pass=True, suppress_check_failures=True)
    pm.set_checks(check_div_target)
    assert targets(pm(torch.fx.symbolic_trace(add)).graph_module) == [torch.mul]


def test_subgraph_matcher():
    """PTN-01, PTN-02"""

    class Linear(torch.nn.Module):
        def __init__(self, size) -> None:
            super().__init__()
            self._weight = torch.nn.Parameter(torch.ones(size, size))
            self._bias = torch.nn.Parameter(torch.ones(size, size))

        def forward(self, x):
            return torch.ops.aten.addmm.default(self._bias, x, self._weight)

    large = to_edge(export(Linear(3), (torch.ones(3, 3),))).exported_program().graph_module.graph
    small = to_edge(export(Linear(5), (torch.ones(5, 5),))).exported_program().graph_module.graph
    (match,) = SubgraphMatcher(small).match(large)
    assert [n.target for n in match.returning_nodes] == [edge.addmm.default]
    assert len(match.placeholder_nodes) == 3
    one = lower(lambda x: x.view(2, 2), torch.ones(4)).graph
    two = lower(lambda x: x.view(4, 1), torch.ones(4)).graph
    assert SubgraphMatcher(one).match(two) == []
    assert len(SubgraphMatcher(one, ignore_literals=True).match(two)) == 1


class AddMulOperatorSupport(OperatorSupportBase):
    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and node.target in [edge.add.Tensor, edge.mul.Tensor]


def test_capability_based_partitioner():
    """PTN-03, PTN-04, PTN-06, PTN-07"""
    module = lower(lambda x, y: torch.sin((x + y) * y) + x, *ARGS).graph_module
    found = CapabilityBasedPartitioner(module, AddMulOperatorSupport()).propose_partitions()
    assert [sorted(n.name for n in p.nodes) for p in found] == [["aten_add_tensor", "aten_mul_tensor"]]
    sines = create_op_support(lambda submodules, node: node.target is edge.sin.default)
    node = next(n for n in module.graph.nodes if n.target is edge.sin.default)
    assert any_chain(sines, AddMulOperatorSupport()).is_node_supported({}, node)
    assert not chain(sines, AddMulOperatorSupport()).is_node_supported({}, node)
    assert create_pattern_support([[node]]).is_node_supported({}, node)
    add_mul = lower(lambda x, y: (x + y) * y, *ARGS).graph
    both = generate_pattern_op_partitions(module, patterns=[add_mul], op_support=sines)
    assert [len(p.nodes) for p in both] == [3]
    only = generate_pattern_op_partitions(module, patterns=[add_mul])
    assert sorted(n.name for n in only[0].nodes) == ["aten_add_tensor", "aten_mul_tensor"]
    with pytest.raises(ValueError, match="nothing to partition by"):
        generate_pattern_op_partitions(module)


def test_source_partitions():
    """PTN-08, PTN-09"""

    class M(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear1 = torch.nn.Linear(3, 3)
            self.relu = torch.nn.ReLU()
            self.linear2 = torch.nn.Linear(3, 5)

        def forward(self, x):
            return self.linear2(self.relu(self.linear1(self.linear1(x))))

    graph = to_edge(export(M(), (torch.ones(3, 3),), strict=True)).exported_program().graph
    found = get_source_partitions(graph, [torch.nn.Linear, torch.nn.ReLU])
    assert len(found[torch.nn.Linear]) == 3 and len(found[torch.nn.ReLU]) == 1
    nodes = [n for p in found[torch.nn.Linear] for n in p.nodes if n.target is edge.addmm.default]
    assert all(n.meta["source_fn_stack"][-1][1] is torch.nn.Linear for n in nodes)


def test_life_cycle_markers():
    """LIFE-04, LIFE-05, LIFE-10"""

    @deprecated("Use `new()` instead. To be removed in 1.3 or later.")
    def old():
        return 1

    @experimental("May change.")
    class New:
        pass

    with pytest.warns(DeprecationWarning, match=r"Use `new\(\)` instead. To be removed in 1.3"):
        assert old() == 1
    with pytest.warns(ExperimentalWarning, match=r"May change\."):
        New()
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        with pytest.raises(ExperimentalWarning):
            New()
