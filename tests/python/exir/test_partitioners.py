# SPDX-License-Identifier: BSD-3-Clause
"""Helper functions for partitioners."""

from __future__ import annotations

import pytest
import torch
from torch.export import export
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase, any_chain, chain, create_op_support
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher
from torch.fx.passes.utils.source_matcher_utils import get_source_partitions

from sdk.exir import to_edge
from sdk.exir.backend._insert_delegates import insert_delegates
from sdk.exir.backend._lower_partitions import find_partitions
from sdk.exir.backend.backend_api import to_backend
from sdk.exir.backend.canonical_partitioners import pattern_op_partitioner
from sdk.exir.backend.canonical_partitioners.all_node_partitioner import AllNodePartitioner
from sdk.exir.backend.canonical_partitioners.duplicate_constant_node_pass import duplicate_constant_node
from sdk.exir.backend.canonical_partitioners.duplicate_dequant_node_pass import DuplicateDequantNodePass
from sdk.exir.backend.canonical_partitioners.group_partitioner import GroupBasedPartitioner
from sdk.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_pattern_op_partitions
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import copy_constant, tag_constant_data
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.lowered_backend_module import LoweredBackendModule
from zoo.function import Function

ops = exir_ops.edge.aten


def edge_of(function, *args):
    model = function if isinstance(function, torch.nn.Module) else Function(function)
    return to_edge(export(model, tuple(a.clone() for a in args))).exported_program()


def named(graph):
    return {n.name: n for n in graph.nodes}


X = torch.ones(2)


class Supports(OperatorSupportBase):
    def __init__(self, *targets):
        self.targets = targets

    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and node.target in self.targets


def names_of(partitions):
    return sorted(sorted(n.name for n in p.nodes) for p in partitions)


def test_import_paths():
    """PTN-07, PTN-11"""
    assert pattern_op_partitioner.create_op_support and pattern_op_partitioner.create_pattern_support
    spec = DelegationSpec("Backend1", [CompileSpec("key", b"value")])
    assert spec == ("Backend1", [CompileSpec(key="key", value=b"value")])
    result = PartitionResult(None, {"t": spec})
    assert (result.tagged_exported_program, result.partition_tags) == (None, {"t": spec})
    assert AllNodePartitioner("B", []).spec == {} and AllNodePartitioner("B", []).ops_to_not_decompose(None) == (
        [],
        None,
    )


def test_a_partitioner_without_its_constructor():
    """PTN-11: as in the example of the documentation, __init__ does not call that of the base class."""

    class Bare(Partitioner):
        def __init__(self):
            self.partition_tags = {}

        def partition(self, exported_program):
            return PartitionResult(exported_program, self.partition_tags)

    assert Bare().spec == {}
    program = edge_of(lambda x: x + x, X)
    assert str(to_backend(program, Bare())) == str(program)


def test_matching_the_output_of_a_pattern():
    """PTN-02: with match_output the result must be returned in the target too."""
    pattern = edge_of(lambda x: torch.sin(x), X).graph
    inner = edge_of(lambda x: torch.cos(torch.sin(x)), X).graph
    assert len(SubgraphMatcher(pattern, match_output=False).match(inner)) == 1
    assert len(SubgraphMatcher(pattern, match_output=True).match(inner)) == 0
    assert len(SubgraphMatcher(pattern, match_output=True).match(pattern)) == 1


def test_matching_the_inputs_of_a_pattern():
    """PTN-02: with match_placeholder an input matches inputs only."""
    pattern = edge_of(lambda x: torch.sin(x), X).graph
    inner = edge_of(lambda x: torch.sin(torch.cos(x)), X).graph
    assert len(SubgraphMatcher(pattern, match_placeholder=False).match(inner)) == 1
    assert len(SubgraphMatcher(pattern, match_placeholder=True).match(inner)) == 0


def test_matches_that_overlap():
    """PTN-02"""
    pattern = edge_of(lambda x: torch.sin(torch.sin(x)), X).graph
    graph = edge_of(lambda x: torch.sin(torch.sin(torch.sin(x))), X).graph
    assert len(SubgraphMatcher(pattern, remove_overlapping_matches=True).match(graph)) == 1
    assert len(SubgraphMatcher(pattern, remove_overlapping_matches=False).match(graph)) == 2


def test_partitions_of_one_node_and_of_nothing_to_compute():
    """PTN-03"""
    module = edge_of(lambda x: torch.cos(torch.sin(x).view(1, 2) + 1), X).graph_module
    qualified = {n.target: torch.fx.node._get_qualified_name(n.target) for n in module.graph.nodes if n.op[0] == "c"}
    sin, view = ops.sin.default, ops.view_copy.default

    def count(support, **options):
        return names_of(CapabilityBasedPartitioner(module, support, **options).propose_partitions())

    assert count(Supports(sin)) == []
    assert count(Supports(sin), allows_single_node_partition=True) == [["aten_sin_default"]]
    assert count(Supports(sin), allowed_single_node_partition_ops=[qualified[sin]]) == [["aten_sin_default"]]
    both = ["aten_sin_default", "aten_view_copy_default"]
    assert count(Supports(sin, view)) == [both]
    assert count(Supports(sin, view), non_compute_ops=[qualified[view]]) == []
    assert count(Supports(sin, view), non_compute_ops=[qualified[view]], allows_single_node_partition=True) == [both]


def test_combinations_of_support():
    """PTN-04"""
    node = next(n for n in edge_of(lambda x: torch.sin(x), X).graph.nodes if n.op == "call_function")
    yes, no = create_op_support(lambda s, n: True), create_op_support(lambda s, n: False)
    assert chain(yes, yes).is_node_supported({}, node) and not chain(yes, no).is_node_supported({}, node)
    assert any_chain(no, yes).is_node_supported({}, node) and not any_chain(no, no).is_node_supported({}, node)


def test_fused_partitions_are_not_ir():
    """PTN-05: fuse_partitions makes graphs with call_module nodes, and the verifier of edge dialect refuses them."""
    program = edge_of(lambda x: torch.cos(torch.sin(x)), X)
    partitioner = CapabilityBasedPartitioner(program.graph_module, Supports(ops.sin.default, ops.cos.default))
    fused = partitioner.fuse_partitions(partitioner.propose_partitions())
    assert "call_module" in {n.op for n in fused.graph.nodes}
    from torch._export.verifier import SpecViolationError

    with pytest.raises(SpecViolationError, match="call_module"):
        program.verifier().check_additional(fused) or program.verifier()._check_graph_module(fused)


def test_patterns_and_support_together():
    """PTN-06, PTN-10: patterns come from the same lowering as the program."""
    program = edge_of(lambda x, y: torch.sin((x + y) * y) - torch.cos(y), X, X)
    pattern = edge_of(lambda x, y: (x + y) * y, X, X).graph
    found = generate_pattern_op_partitions(program.graph_module, [pattern], op_support=Supports(ops.sin.default))
    assert names_of(found) == [["aten_add_tensor", "aten_mul_tensor", "aten_sin_default"]]


def test_patterns_with_inputs_that_nothing_reads():
    """PTN-06"""
    program = edge_of(lambda x, y: torch.cos(torch.sin(x)) + y, X, X)
    pattern = edge_of(lambda x, y: torch.cos(torch.sin(x)), X, X).graph
    before = str(pattern)
    assert names_of(generate_pattern_op_partitions(program.graph_module, [pattern])) == [
        ["aten_cos_default", "aten_sin_default"]
    ]
    assert str(pattern) == before


def test_source_partitions():
    """PTN-08, PTN-09: a module that is used twice is two partitions with the same parameters."""

    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear1 = torch.nn.Linear(3, 3)
            self.relu = torch.nn.ReLU()
            self.linear2 = torch.nn.Linear(3, 5)

        def forward(self, x):
            return self.linear2(self.relu(self.linear1(self.linear1(x))))

    graph = to_edge(export(M(), (torch.randn(3, 3),), strict=True)).exported_program().graph
    found = get_source_partitions(graph, [torch.nn.Linear, torch.nn.ReLU])
    assert [len(found[torch.nn.Linear]), len(found[torch.nn.ReLU])] == [3, 1]
    params = [tuple(n.name for n in p.input_nodes if n.name.startswith("p_")) for p in found[torch.nn.Linear]]
    assert len(params) == 3 and len(set(params)) == 2


def groups_of(groups, **options):
    program = edge_of(lambda x, y: torch.sin(torch.tan(torch.sin(x))) + torch.relu(torch.cos(y)), X, X)
    nodes = named(program.graph)
    support = create_op_support(lambda s, n: n.op == "call_function" and n.target is not ops.tan.default)
    groups = [[nodes[name] for name in group] for group in groups]
    partitioner = GroupBasedPartitioner(program.graph_module, support, node_groups=groups, **options)
    return names_of(partitioner.propose_partitions())


def test_groups():
    """PTN-03: nodes of a group stay together even where nothing connects them; a group around an unsupported node
    cannot be computed in one piece, and loses no other node."""
    sin, cos, tail = "aten_sin_default", "aten_cos_default", "aten_sin_default_1"
    rest = ["aten_add_tensor", "aten_cos_default", "aten_relu_default", "aten_sin_default_1"]
    assert groups_of([]) == [rest]
    assert groups_of([[sin, cos]]) == [["aten_add_tensor", "aten_relu_default", tail], [cos, sin]]
    assert groups_of([[cos, "aten_relu_default"]]) == [rest]
    assert groups_of([[sin, tail]]) == [rest]
    assert groups_of([[sin], [cos]], allows_single_node_partition=True) == [rest, [sin]]
    with pytest.raises(ValueError, match=r"aten_cos_default: in several groups"):
        groups_of([[sin, cos], [cos, tail]])


def test_partitions_beside_groups_are_merged():
    """Nodes that are not connected form one partition, as in the original. `tanh` alone would stay outside."""
    program = edge_of(lambda x, y: (torch.tanh(x), torch.sin(torch.cos(y))), X, X)
    nodes = named(program.graph)
    support = create_op_support(lambda s, n: n.op == "call_function")
    groups = [[nodes["aten_cos_default"], nodes["aten_sin_default"]]]
    found = GroupBasedPartitioner(program.graph_module, support, node_groups=groups).propose_partitions()
    assert names_of(found) == [["aten_cos_default", "aten_sin_default", "aten_tanh_default"]]


class Shared(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, x):
        return torch.sin(x + self.p) * self.p


@pytest.mark.parametrize("tags", [["a"], ["a", "b"]])
def test_copied_constants(tags):
    """The program keeps a constant that a node outside of the partitions reads."""
    program = edge_of(Shared(), X)
    expected = program.module()(X)
    (constant,) = (n for n in program.graph.nodes if n.name == "p_p")
    for target, tag in zip((ops.add.Tensor, ops.mul.Tensor), tags, strict=False):
        next(n for n in program.graph.nodes if n.target is target).meta["delegation_tag"] = tag
        copy_constant(constant, tag)
    tag_constant_data(program)
    partitions = find_partitions(program, {tag: DelegationSpec("Backend1", []) for tag in tags})
    assert [[n.name for n in each.owned] for each in partitions] == [["p_p"]] * len(tags)
    torch.testing.assert_close(partitions[0].program.module()(X)[0], X + torch.tensor([1.0, 2.0]))

    def make(index):
        return LoweredBackendModule(partitions[index].program, "Backend1", b"", [])

    lowered = insert_delegates(program, partitions, make)
    assert [spec.target for spec in lowered.graph_signature.input_specs if spec.target] == ["p"][: 2 - len(tags)]
    torch.testing.assert_close(lowered.module()(X), expected)


def test_constants_of_several_users():
    """DEL-15: each user of a duplicated constant can be in a separate delegate."""
    program = edge_of(Shared(), X)
    expected = program.module()(X)
    added = duplicate_constant_node(program, "p_p")
    assert added == {"p_p_copy_0"}
    torch.testing.assert_close(program.module()(X), expected)
    for target, tag in ((ops.add.Tensor, "a"), (ops.mul.Tensor, "b")):
        next(n for n in program.graph.nodes if n.target is target).meta["delegation_tag"] = tag
    tag_constant_data(program)
    assert {n.name: n.meta["delegation_tag"] for n in program.graph.nodes if n.name in ("p_p", "p_p_copy_0")} == {
        "p_p": "a",
        "p_p_copy_0": "b",
    }
    with pytest.raises(ValueError, match="'x' is not a parameter, buffer or constant of the program"):
        duplicate_constant_node(program, "x")


def test_dequantize_of_several_users():
    """Each user gets a separate dequantize node."""
    import torch.ao.quantization.fx._decomposed

    dequantize = torch.ops.quantized_decomposed.dequantize_per_tensor.default

    def function(x):
        y = dequantize(x, 0.1, 0, -128, 127, torch.int8)
        return torch.sin(y) + torch.cos(y)

    program = edge_of(function, torch.ones(2, dtype=torch.int8))
    result = DuplicateDequantNodePass()(program.graph_module)
    found = [n for n in result.graph_module.graph.nodes if "dequantize" in n.name]
    assert result.modified and [len(n.users) for n in found] == [1, 1]
