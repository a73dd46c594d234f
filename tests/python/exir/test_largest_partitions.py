# SPDX-License-Identifier: BSD-3-Clause
"""The partitions that `generate_partitions_from_list_of_nodes` makes, and how much work that is."""

from __future__ import annotations

import operator
import random
import sys
from types import FrameType
from typing import Any

import pytest
import torch
from torch.fx import Graph, GraphModule
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from torch.fx.passes.operator_support import create_op_support

from sdk.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_partitions_from_list_of_nodes

SUPPORT = create_op_support(lambda submodules, node: node.target in (torch.sin, torch.add, torch.split))


def members(partitions: list[Partition]) -> list[list[str]]:
    return sorted(sorted(node.name for node in partition.nodes) for partition in partitions)


def graph_of(seed: int) -> GraphModule:
    """Returns a graph of calls that are supported or not, including calls with several results."""
    choose, graph = random.Random(seed), Graph()
    values = [graph.placeholder("x"), graph.placeholder("y")]
    for _ in range(choose.randint(3, 24)):
        function = choose.choice([torch.sin, torch.add, torch.exp, torch.sub, torch.split, torch.topk])
        recent = values[-6:]
        if function in (torch.split, torch.topk):
            call = graph.call_function(function, (choose.choice(recent), 2))
            values += [graph.call_function(operator.getitem, (call, i)) for i in range(2)]
        else:
            count = 2 if function in (torch.add, torch.sub) else 1
            values.append(graph.call_function(function, tuple(choose.choice(recent) for _ in range(count))))
    graph.output(tuple(choose.sample(values, 2)))
    return GraphModule(torch.nn.Module(), graph)


@pytest.mark.parametrize("seed", range(60))
def test_partitions_are_those_of_pytorch(seed: int) -> None:
    """The partitions of PyTorch's CapabilityBasedPartitioner, in the order of the graph."""
    module = graph_of(seed)
    support = create_op_support(
        lambda submodules, node: (
            SUPPORT.is_node_supported(submodules, node)
            or (node.target is operator.getitem and node.args[0].target is torch.split)
        )
    )
    found = generate_partitions_from_list_of_nodes(module, op_support=support)
    expected = CapabilityBasedPartitioner(module, support, allows_single_node_partition=True).propose_partitions()
    assert members(found) == members([partition for partition in expected if partition.nodes])
    place = {node: i for i, node in enumerate(module.graph.nodes)}
    assert all([place[n] for n in part.nodes] == sorted(place[n] for n in part.nodes) for part in found)


def test_results_of_a_call_are_where_the_call_is() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    call = graph.call_function(torch.split, (x, 2))
    first, second = (graph.call_function(operator.getitem, (call, i)) for i in range(2))
    graph.output((graph.call_function(torch.exp, (first,)), second))
    module = GraphModule(torch.nn.Module(), graph)
    (partition,) = generate_partitions_from_list_of_nodes(module, op_support=SUPPORT)
    assert list(partition.nodes) == [call, first, second]


def test_work_is_linear() -> None:
    """Two thousand partitions, each separated from the next one, and a value that skips all of them."""

    def chain(length: int) -> GraphModule:
        graph = Graph()
        x = y = graph.placeholder("x")
        for _ in range(length):
            y = graph.call_function(
                torch.exp, (graph.call_function(torch.add, (graph.call_function(torch.sin, (y,)), x)),)
            )
        graph.output(y)
        return GraphModule(torch.nn.Module(), graph)

    def lines(module: GraphModule, count: int) -> int:
        """The number of lines of Python that run."""
        found = 0

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal found
            found += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            partitions = generate_partitions_from_list_of_nodes(module, op_support=SUPPORT)
        finally:
            sys.settrace(before)
        assert len(partitions) == count
        return found

    # For ten times the nodes, a loop over pairs of partitions runs a hundred times the lines; PyTorch takes hours.
    assert lines(chain(2000), 2000) < 12 * lines(chain(200), 200)
