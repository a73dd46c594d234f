# SPDX-License-Identifier: BSD-3-Clause
"""Partitions in the branches of cond and the bodies of while_loop, map and scan, on the runtime."""

from __future__ import annotations

import pytest
import torch
from demo_delegates import check, needs_demo_backends, state_of
from torch._higher_order_ops import map as map_rows
from torch._higher_order_ops import scan, while_loop
from torch.export import export

from sdk.exir import to_edge, to_edge_transform_and_lower
from sdk.exir.backend.backend_api import to_backend
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.canonical_partitioners.all_node_partitioner import AllNodePartitioner
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.test._tagging import partition_by_support
from sdk.exir.backend.test.demos.rpc.executor_backend_partitioner import ExecutorBackendPartitioner
from sdk.exir.backend.test.op_partitioner_demo import (
    AddMulPartitionerDemo,
    AllOperatorSupport,
    NonDecompTestPartitioner,
)
from sdk.exir.backend.utils import constant_placeholders, get_delegates
from sdk.exir.graph_module import get_control_flow_submodules
from sdk.exir.lowered_backend_module import get_lowered_backend_modules

pytestmark = needs_demo_backends()


class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)


class Cond(Base):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.linear(x) + 1, lambda x: torch.mm(x, x) + x, [x])


class While(Base):
    def forward(self, x):
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, self.linear(x) + x), (torch.tensor(0), x))


class Map(Base):
    def forward(self, x, w):
        return map_rows(lambda row, w: torch.mm(self.linear(row) + w, w), x, w)


class Scan(Base):
    def forward(self, x):
        def step(carry, row):
            y = self.linear(carry) + row
            return y, y * 2

        return scan(step, x[0], x)


class Nested(Base):
    def forward(self, x):
        def inner(x):
            return torch.cond(x[0, 0] > 0, lambda x: self.linear(x), lambda x: x * 2, [x])

        return torch.cond(x.sum() > 0, inner, lambda x: x + 1, [x])


X = torch.randn(3, 3)
ROWS = torch.randn(4, 3, 3)
CASES = {
    "cond": (Cond, [[X.abs()], [-X.abs()]]),
    "map": (Map, [[ROWS, X]]),
    "nested": (Nested, [[X.abs()], [-X.abs()], [torch.tensor([[-1.0, 9, 9]] * 3)]]),
    "scan": (Scan, [[ROWS]]),
    "while": (While, [[X]]),
}


class OwningPartitioner(Partitioner):
    """Gives every connected group of operators, with its weights, to the backend that is the runtime itself. Operators
    with branches stay, so that there are delegates inside of the branches."""

    def partition(self, exported_program):
        class Support(AllOperatorSupport):
            def is_node_supported(self, submodules, node):
                return super().is_node_supported(submodules, node) and not isinstance(
                    node.target, torch._ops.HigherOrderOperator
                )

        return partition_by_support(exported_program, Support(), DelegationSpec("ExecutorBackend", []), True)


def graphs(program):
    return [m for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]


@pytest.mark.parametrize("name", CASES)
def test_some_operators_of_a_branch(name):
    """DEL-12: add, mm and mul of branches are delegates; other operators, and weights, stay where they were."""
    model, calls = CASES[name]
    edge = check(model().eval(), calls, AddMulPartitionerDemo())
    inside = [m for m in graphs(edge.exported_program())[1:] if get_delegates(m.graph)]
    assert inside


@pytest.mark.parametrize("name", CASES)
def test_weights_of_branches_become_the_delegates(name):
    """DEL-15: a Linear inside of a branch takes its weights with it."""
    model, calls = CASES[name]
    edge = check(model().eval(), calls, OwningPartitioner())
    program = edge.exported_program()
    assert not {"linear.weight", "linear.bias"} & set(state_of(program))
    owners = [m for m in get_lowered_backend_modules(program.graph_module) if state_of(m.original_module)]
    assert any({"linear.weight", "linear.bias"} <= set(state_of(m.original_module)) for m in owners)


@pytest.mark.sampled
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("partitioner", [ExecutorBackendPartitioner(), AllNodePartitioner("ExecutorBackend", [])])
def test_whole_operators_with_branches(name, partitioner):
    """DEL-12: an operator with its branches is part of one delegate."""
    model, calls = CASES[name]
    edge = check(model().eval(), calls, partitioner)
    assert len(graphs(edge.exported_program())) == 1
    assert len(get_lowered_backend_modules(edge.exported_program().graph_module)) == 1


@pytest.mark.parametrize("name", ["cond", "nested", "while"])
def test_operators_that_stay_whole_in_branches(name):
    """PTN-12"""
    model, calls = CASES[name]
    edge = check(model().eval(), calls, NonDecompTestPartitioner())
    (module,) = get_lowered_backend_modules(edge.exported_program().graph_module)
    assert b"aten.linear.default" in module.processed_bytes
    assert set(state_of(module.original_module)) == {"linear.weight", "linear.bias"}


class Wants(Partitioner):
    """Requests that linear is kept whole, and then takes nothing."""

    def ops_to_not_decompose(self, ep):
        return [torch.ops.aten.linear.default], None

    def partition(self, exported_program):
        return PartitionResult(exported_program, {})


def test_leftovers_in_branches_are_decomposed():
    """PTN-12, EDGE-07"""
    edge = check(Cond().eval(), CASES["cond"][1], Wants())
    calls = [n for m in graphs(edge.exported_program()) for n in m.graph.nodes if n.op == "call_function"]
    assert not any("linear" in str(n.target) for n in calls)


def test_a_weight_of_two_branches_stays_the_programs():
    """DEL-15: a weight that several partitions use is not tagged, and is an input of each."""

    class Both(Base):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: self.linear(x), lambda x: self.linear(x) * 2, [x])

    edge = check(Both().eval(), CASES["cond"][1], OwningPartitioner())
    assert {"linear.weight", "linear.bias"} <= set(state_of(edge.exported_program()))


def test_which_placeholders_are_constants():
    """DEL-15: parameters and numbers are constants in branches too; values that a loop carries are not."""
    edge = to_edge(export(While().eval(), (X,))).exported_program()
    body = next(m for name, m, _ in get_control_flow_submodules(edge.graph_module) if "body" in name)
    found = {node: spec.target for node, spec in constant_placeholders(edge).items() if node.graph is body.graph}
    assert sorted(found.values()) == ["lifted_from_branch_0", "linear.bias", "linear.weight"]


class Counts(BackendDetails):
    """Counts how often it is called."""

    calls = 0

    @staticmethod
    def preprocess(edge_program, compile_specs):
        Counts.calls += 1
        return PreprocessResult(b"")


def test_branches_of_what_is_delegated_are_not_compiled_again():
    """DEL-12: tags inside of a branch do not count when the whole operator is in a partition."""
    Counts.calls = 0

    class Everything(Partitioner):
        def partition(self, exported_program):
            return partition_by_support(exported_program, AllOperatorSupport(), DelegationSpec("Counts", []))

    program = to_edge_transform_and_lower(export(Cond().eval(), (X,)), partitioner=[Everything()]).exported_program()
    assert Counts.calls == 1
    (module,) = get_lowered_backend_modules(program.graph_module)
    inner = [n for m in graphs(module.original_module) for n in m.graph.nodes if n.op == "call_function"]
    assert not any("call_delegate" in n.name for n in inner)


def test_changing_a_branch_is_noticed():
    """DEL-13"""

    class Changes(Partitioner):
        def partition(self, exported_program):
            _, branch, _ = get_control_flow_submodules(exported_program.graph_module)[0]
            node = next(n for n in branch.graph.nodes if n.op == "call_function")
            node.args = (*node.args[:-1], node.args[0])
            return PartitionResult(exported_program, {})

    edge = to_edge(export(Cond().eval(), (X,))).exported_program()
    with pytest.raises(
        ValueError, match=r"Partitioner Changes changed the graph .*: in true_graph_0, the arguments of"
    ):
        to_backend(edge, Changes())
