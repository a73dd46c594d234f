# SPDX-License-Identifier: BSD-3-Clause
"""What all partitioners share: they divide the graph of a program and those of its branches and loop bodies, and tag
the largest partitions of the nodes that their backend takes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import Partition
from torch.fx.passes.operator_support import create_op_support

from sdk.backends.transforms.constants import is_constant, is_shared
from sdk.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_partitions_from_list_of_nodes
from sdk.exir.backend.partitioner import DelegationSpec
from sdk.exir.backend.utils import copy_constant, kept_graphs


def tag_partitions(
    program: ExportedProgram,
    divide: Callable[[GraphModule], Iterable[Collection[Node]]],
    prefix: str,
    spec: DelegationSpec,
    is_copied: Callable[[Node], bool] | None = None,
) -> dict[str, DelegationSpec]:
    """Tags the partitions of a program and of its branches and loop bodies.

    Args:
        program: It is `settled`. Only the metadata of its nodes changes.
        divide: The partitions of one graph.
        prefix: What tags begin with.
        spec: The backend of all of them.
        is_copied: Whether each partition that reads a constant, given its placeholder, gets a copy of it. By default
            those in branches and loop bodies that other graphs read, too (`is_shared`), because a constant that is not
            copied is owned by one partition.

    Returns:
        The backend of each tag.
    """
    tags: dict[str, DelegationSpec] = {}
    copied = is_copied or (lambda constant: is_shared(program, constant))
    for module in kept_graphs(program.graph_module):
        for nodes in divide(module):
            tag = f"{prefix}_{len(tags)}"
            tags[tag] = spec
            for node in nodes:
                node.meta["delegation_tag"] = tag
                constants = (n for n in node.all_input_nodes if n.op == "placeholder" and is_constant(program, n))
                for constant in filter(copied, constants):
                    copy_constant(constant, tag)
    return tags


def taken_calls(
    module: GraphModule, refusal: Callable[[Node], str | None], refused: Callable[[Node, str], None]
) -> set[Node]:
    """The calls in a graph that a backend takes. `refusal` gives the reason against a call, or None; `refused` gets
    each call that has a reason, with the reason."""
    takes: set[Node] = set()
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        reason = refusal(node)
        if reason is None:
            takes.add(node)
        else:
            refused(node, reason)
    return takes


def largest_partitions(
    module: GraphModule,
    takes: set[Node],
    refuse: Callable[[list[Partition]], bool] = lambda partitions: False,
    is_worth_it: Callable[[Partition], bool] = lambda partition: True,
) -> list[Partition]:
    """The largest partitions of the nodes that a backend takes.

    Args:
        module: The graph.
        takes: The nodes.
        refuse: Removes nodes from `takes` that cannot be in their partition. Returns whether it removed any: then the
            partitions are made anew.
        is_worth_it: Whether a partition justifies a delegate; those that do not are left out.
    """
    while True:
        support = create_op_support(lambda _, node, taken=frozenset(takes): node in taken)
        found = generate_partitions_from_list_of_nodes(module, op_support=support)
        kept = [partition for partition in found if is_worth_it(partition)]
        if not refuse(kept):
            return kept


def graphs_of(program: ExportedProgram) -> list[GraphModule]:
    """The graph of a program and those of its branches and loop bodies."""
    return list(kept_graphs(program.graph_module))


def calls_of(program: ExportedProgram) -> list[Node]:
    """The calls of all graphs of a program."""
    return [node for module in graphs_of(program) for node in module.graph.nodes if node.op == "call_function"]


def is_owned(program: ExportedProgram, constant: Node, part: int, part_of: Mapping[Node, int]) -> bool:
    """Whether a partition can have a constant that one of its nodes reads as its own: it gets a copy, or nothing else
    reads it."""
    if constant.op == "get_attr" or is_shared(program, constant):
        return True
    return all(part_of.get(user) == part for user in constant.users)
