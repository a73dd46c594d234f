# SPDX-License-Identifier: BSD-3-Clause
"""The shared code of all partitioners: a backend says which calls it supports (`Support`), and `SupportPartitioner`
tags the largest partitions of these calls, in the graph of a program and in the graphs of its branches and loop
bodies."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.operator_support import create_op_support

from sdk.backends.graph.names import name_of, overloads
from sdk.backends.transforms.constants import is_constant, is_shared, settled
from sdk.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_partitions_from_list_of_nodes
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import WhyNoPartition, copy_constant, kept_graphs, tag_constant_data

Refused = Callable[[Node, str], None]
"""Gets a call that a backend does not take, and the reason."""


Divide = Callable[[GraphModule, "Support", Refused], list[list[Node]]]
"""Makes the partitions of one graph."""


class Support:
    """Which calls of a program a backend takes. The program is `settled`: its graph does not change.

    Attributes:
        title: The name of the backend, for messages.
        owns_constants: Whether delegates have the constants that only they read. Otherwise these are inputs.
    """

    title: ClassVar[str]
    owns_constants = True

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program

    @property
    def alone(self) -> str:
        """The reason of calls whose partition is not worth a delegate."""
        return f"alone it is not worth a delegate: {self.title} takes none of its neighbours"

    def refusal(self, node: Node) -> str | None:
        """Returns why the backend does not support a call, or None if it does. "" means that no reason is shown, as for
        arithmetic on sizes and for results that belong to their call."""
        raise NotImplementedError

    def incomplete(self, node: Node, takes: Collection[Node]) -> str | None:
        """Why a call cannot be taken if the backend takes exactly the calls `takes`, because it needs others in its
        partition. None if it can."""
        if self.is_only_with_readers(node) and not all(user in takes for user in node.users):
            return "it is read outside the delegate"
        return "" if node.target is operator.getitem and node.args[0] not in takes else None

    def is_only_with_readers(self, node: Node) -> bool:
        """Whether a call can be taken only with all its readers: a delegate cannot return its result."""
        return False

    def conflicts(self, nodes: Sequence[Node], part_of: Mapping[Node, int]) -> Iterable[tuple[Node, str]]:
        """The calls that cannot be in the partition `nodes`, with reasons: because of what enters or leaves it, for
        example. `part_of` has the partition of each call that is in one."""
        return ()

    def is_free(self, node: Node) -> bool:
        """Whether a call by itself does not justify a delegate."""
        return False

    def is_worth_it(self, nodes: Sequence[Node]) -> bool:
        """Whether a partition justifies a delegate."""
        return not all(map(self.is_free, nodes))

    @cached_property
    def has_only_free_calls(self) -> bool:
        """Whether no call of the program justifies a delegate by itself."""
        return all(map(self.is_free, calls_of(self.program)))

    def is_copied(self, constant: Node) -> bool:
        """Whether each partition that reads a constant, given its placeholder, gets a copy of it. By default
        true in branches and loop bodies for constants that other graphs read, too, because only one partition can own
        a constant that is not copied."""
        return is_shared(self.program, constant)

    def finish_tags(self) -> None:
        """Called when all partitions have tags. May change the tags of placeholders, for example those of state."""

    def without_constants(self, node: Node, part_of: Mapping[Node, int], is_folded: bool) -> Iterable[str]:
        """Why the partition of a call cannot own the constants that the call reads; nothing if it can. `is_folded`
        tells whether the call is computed ahead of time."""
        part = part_of[node]
        for operand in node.all_input_nodes:
            if is_folded and operand.op == "call_function" and part_of.get(operand) != part:
                yield f"{operand} is computed by another part"
            elif is_constant(self.program, operand) and not is_owned(self.program, operand, part, part_of):
                yield f"{operand} is also used by a part that {self.title} does not take, or by another one"


class Skipped:
    """The calls that a user keeps on kernels.

    Args:
        op_types_to_skip: Names of operators, for example `"aten.add.Tensor"`.
        op_names_to_skip: Names of nodes.
    """

    def __init__(
        self, op_types_to_skip: Iterable[str] | None = None, op_names_to_skip: Iterable[str] | None = None
    ) -> None:
        self._types, self._names = frozenset(op_types_to_skip or ()), frozenset(op_names_to_skip or ())

    def refusal(self, node: Node) -> str | None:
        """The reason of a call that is kept on kernels; None for others."""
        if not self._types.isdisjoint((name_of(node), str(node.target))):
            return "op_types_to_skip has its operator"
        return "op_names_to_skip has its name" if node.name in self._names else None


def unless_size(node: Node, reason: str | None) -> str | None:
    """The refusal of a call, without the reason for arithmetic on sizes, which always stays with the program."""
    return reason if reason is None or isinstance(node.meta.get("val"), torch.Tensor | tuple | list) else ""


class SupportPartitioner(Partitioner):
    """A `Partitioner` that tags the largest partitions that its `Support` takes.

    Attributes:
        prefix: The prefix of tags.
        logger: The logger for the reasons of calls that are not delegated, at the level DEBUG.
        delegation_spec: The backend and its options.
        whole: Names of operators that the backend has and the exporter would decompose.
        parts_of: Makes the partitions of a graph.
    """

    prefix: str
    logger: ClassVar[logging.Logger]
    delegation_spec: DelegationSpec
    whole: ClassVar[Sequence[str]] = ()

    @property
    def parts_of(self) -> Divide:
        return divide

    def support(self, program: ExportedProgram) -> Support:
        """Returns the object that decides which calls of a program, which is `settled`, the backend gets."""
        raise NotImplementedError

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes for the backend."""
        refused: dict[Node, str] = {}
        with settled(exported_program):
            support = self.support(exported_program)
            result = delegate(
                exported_program, support, self.delegation_spec, self.prefix, refused.__setitem__, self.parts_of
            )
        self.report(refused)
        return result

    def report(self, refused: Mapping[Node, str]) -> None:
        """Logs the calls that stay outside delegates, with the reasons."""
        why = WhyNoPartition(self.logger)
        for node, reason in refused.items():
            why(node, reason)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """The operators of `whole`, and a filter: the calls that the backend takes stay whole."""
        if not self.whole:
            return [], None
        support = self.support(ep)
        return overloads(self.whole), lambda node: support.refusal(node) is None


def delegate(
    program: ExportedProgram,
    support: Support,
    spec: DelegationSpec,
    prefix: str,
    refused: Refused,
    parts_of: Divide | None = None,
) -> PartitionResult:
    """Tags the largest partitions of a program and of its branches and loop bodies, and the constants that only they
    read. Returns the result of a `Partitioner`.

    Args:
        program: Only the metadata of its nodes changes.
        support: Decides which calls the backend takes.
        spec: The backend.
        prefix: The prefix of tags.
        refused: A function that is called with each call that is not delegated, and the reason.
        parts_of: Makes other partitions than the largest.
    """
    make = parts_of or divide
    tags: dict[str, DelegationSpec] = {}
    with settled(program):
        for module in kept_graphs(program.graph_module):
            for nodes in make(module, support, refused):
                tag = f"{prefix}_{len(tags)}"
                tags[tag] = spec
                _tag(program, nodes, tag, support)
    if support.owns_constants:
        tag_constant_data(program)
    support.finish_tags()
    return PartitionResult(program, tags)


def _tag(program: ExportedProgram, nodes: Iterable[Node], tag: str, support: Support) -> None:
    for node in nodes:
        node.meta["delegation_tag"] = tag
        constants = (n for n in node.all_input_nodes if n.op == "placeholder" and is_constant(program, n))
        for constant in filter(support.is_copied, constants):
            copy_constant(constant, tag)


def divide(module: GraphModule, support: Support, refused: Refused) -> list[list[Node]]:
    """Returns the largest partitions of a graph that a backend supports. Adds each call that is left to `refused`, with
    the reason, except `getitem`, for which the reason is that of its call."""
    takes = taken_calls(module, support, refused)
    while True:
        found = _largest_partitions(module, takes)
        kept = [nodes for nodes in found if support.is_worth_it(nodes)]
        conflicts = conflicts_of(kept, support)
        if not conflicts:
            break
        if takes.isdisjoint(node for node, _ in conflicts):  # otherwise the loop would not end
            raise AssertionError(f"{type(support).__name__} refuses calls that it has not taken: {conflicts}")
        for node, reason in conflicts:
            _leave(node, reason, takes, refused)
        _leave_incomplete(module, takes, support, refused)
    for node in sorted(takes.difference(*kept)):
        _leave(node, support.alone, takes, refused)
    return kept


def taken_calls(module: GraphModule, support: Support, refused: Refused) -> set[Node]:
    """The calls of a graph that a backend takes, before they are divided into partitions."""
    takes: set[Node] = set()
    for node in _calls(module):
        reason = support.refusal(node)
        if reason is None:
            takes.add(node)
        else:
            _leave(node, reason, takes, refused)
    _leave_incomplete(module, takes, support, refused)
    return takes


def conflicts_of(partitions: Sequence[Sequence[Node]], support: Support) -> list[tuple[Node, str]]:
    """The calls that cannot be in their partitions, with reasons."""
    part_of = {node: number for number, nodes in enumerate(partitions) for node in nodes}
    return [conflict for nodes in partitions for conflict in support.conflicts(nodes, part_of)]


def _leave_incomplete(module: GraphModule, takes: set[Node], support: Support, refused: Refused) -> None:
    calls, count = _calls(module), -1
    while count != len(takes):
        count = len(takes)
        # In reverse order, because a call that depends on others mostly depends on its users.
        for node in reversed(calls):
            if node in takes and (reason := support.incomplete(node, takes)) is not None:
                _leave(node, reason, takes, refused)


def _leave(node: Node, reason: str, takes: set[Node], refused: Refused) -> None:
    takes.discard(node)
    if reason and node.target is not operator.getitem:
        refused(node, reason)


def _largest_partitions(module: GraphModule, takes: Collection[Node]) -> list[list[Node]]:
    support = create_op_support(lambda _, node: node in takes)
    return [list(part.nodes) for part in generate_partitions_from_list_of_nodes(module, op_support=support)]


def _calls(module: GraphModule) -> list[Node]:
    return [node for node in module.graph.nodes if node.op == "call_function"]


def graphs_of(program: ExportedProgram) -> list[GraphModule]:
    """Returns the graph of a program and the graphs of its branches and loop bodies."""
    return list(kept_graphs(program.graph_module))


def calls_of(program: ExportedProgram) -> list[Node]:
    """The calls of all graphs of a program."""
    return [node for module in graphs_of(program) for node in _calls(module)]


def is_owned(program: ExportedProgram, constant: Node, part: int, part_of: Mapping[Node, int]) -> bool:
    """Whether a partition can own a constant that one of its nodes reads: the partition gets a copy, or nothing else
    reads the constant."""
    if constant.op == "get_attr" or is_shared(program, constant):
        return True
    return all(part_of.get(user) == part for user in constant.users)
