# SPDX-License-Identifier: BSD-3-Clause
"""`TOSAPartitioner`: delegates the parts of a model that TOSA expresses. The reason for every other node is in the
receipt of the export and, at the level DEBUG, in the log `sdk.backends.arm`."""

from __future__ import annotations

import copy
import logging
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase, create_op_support

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.tosa.backend import TOSABackend
from sdk.backends.arm.tosa.lower import Examined, examine
from sdk.backends.transforms.constants import is_constant, settled
from sdk.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_partitions_from_list_of_nodes
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import WhyNoPartition, tag_constant_data

logger = logging.getLogger("sdk.backends.arm")

_aten = torch.ops.aten
WHOLE = [_aten.linear.default, _aten.upsample_bilinear2d.vec, _aten.upsample_nearest2d.vec]
"""Operators that the compiler would decompose and TOSA has nearly whole."""


class TOSAPartitioner(Partitioner):
    """Delegates the largest parts that TOSA expresses.

    Args:
        compile_spec: What of TOSA may be used, and the options of what follows.
        additional_checks: Each may refuse further nodes, by `is_node_supported`.
    """

    backend_id = TOSABackend.__name__

    def __init__(
        self, compile_spec: ArmCompileSpec, additional_checks: Sequence[OperatorSupportBase] | None = None
    ) -> None:
        super().__init__()
        self._options = copy.deepcopy(compile_spec)
        self._options.to_compile_specs()  # so that wrong options are an error here
        self._checks = tuple(additional_checks or ())

    def register_custom_partition_op(self, op: Any) -> None:
        """Takes an operator that has no lowering: it becomes TOSA's CUSTOM, with its name. `op` is an overload, such as
        `torch.ops.mylib.scale.default`, or that of the edge dialect."""
        self._options.custom_operators.add(op.__name__ if not isinstance(op, torch._ops.OpOverload) else str(op))

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Operators that are lowered better whole than decomposed."""
        return WHOLE, lambda node: self._examine(node, ep).refusal is None

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes that TOSA gets."""
        why = WhyNoPartition(logger)
        spec = DelegationSpec(self.backend_id, self._options.to_compile_specs())
        tags: dict[str, DelegationSpec] = {}
        with settled(exported_program):
            taken = self._taken(exported_program, why)
            for nodes in self._partitions(exported_program, taken, why):
                tag = f"{self._options.get_output_format()}_{len(tags)}"
                tags[tag] = spec
                for node in nodes:
                    node.meta["delegation_tag"] = tag
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)

    def _examine(self, node: Node, program: ExportedProgram, known: Callable[[Node], bool] | None = None) -> Examined:
        examined = examine(node, program, self._options.tosa_spec, self._options.custom_operators, known)
        if examined.refusal is None:
            modules = dict(program.graph_module.named_modules())
            for check in self._checks:
                if not check.is_node_supported(modules, node):
                    return Examined(f"the additional check {type(check).__name__} refuses it")
        return examined

    def _taken(self, program: ExportedProgram, why: WhyNoPartition) -> dict[Node, bool]:
        """The supported calls, with whether each changes nothing."""
        taken: dict[Node, bool] = {}
        for node in reversed(program.graph.nodes):
            if node.op != "call_function" or node.target is operator.getitem:
                continue  # a getitem goes with its call
            if is_constant(program, node):
                # It becomes a constant of the file, if nothing else reads it.
                if node.users and all(user in taken for user in node.users):
                    taken[node] = True
                else:
                    why(node, "it is a constant that is read outside")
                continue
            examined = self._examine(node, program)
            if examined.refusal is None:
                taken[node] = examined.changes_nothing
            elif isinstance(node.meta.get("val"), torch.Tensor | tuple | list):
                why(node, examined.refusal)
        return taken

    def _partitions(self, program: ExportedProgram, taken: dict[Node, bool], why: WhyNoPartition) -> list[list[Node]]:
        """The largest partitions whose inputs and outputs have types of TOSA, and that do something."""
        while True:
            support = create_op_support(lambda modules, node: node in taken)
            found = generate_partitions_from_list_of_nodes(program.graph_module, op_support=support)
            partitions = [list(partition.nodes) for partition in found]
            wrong = [(node, reason) for nodes in partitions for node, reason in self._at_the_edge(program, nodes)]
            if not wrong:
                break
            for node, reason in wrong:
                taken.pop(node, None)
                why(node, reason)
        kept = []
        for nodes in partitions:
            if all(taken.get(node, True) for node in nodes):
                for node in nodes:
                    why(node, "it would leave its operand as it is: a delegate of such nodes computes nothing")
            else:
                kept.append(nodes)
        return kept

    def _at_the_edge(self, program: ExportedProgram, nodes: Iterable[Node]) -> list[tuple[Node, str]]:
        """Nodes that read or give int64 across the edge of a partition, or that need an operand as a constant that is
        none of the partition. Inside, TOSA keeps indices in int32."""
        inside = set(nodes)
        known = _constants_of(program, inside)
        wrong = []
        for node in inside:
            if node.target is not operator.getitem and is_constant(program, node) and node not in known:
                wrong.append((node, "it is a constant of what is read outside too"))
                continue
            outside = [operand for operand in node.all_input_nodes if operand not in inside and operand not in known]
            if any(map(_is_int64, outside)):
                wrong.append((node, "it reads int64, which TOSA 1.0 does not have, from outside: pass int32"))
            elif any(is_constant(program, operand) for operand in outside):
                refusal = self._examine(node, program, known.__contains__).refusal
                wrong += [(node, f"{refusal} (the constant is read outside too)")] if refusal else []
            if _is_int64(node) and any(user not in inside for user in node.users):
                call = node.args[0] if node.target is operator.getitem else node
                wrong.append((call, "its int64 result is read outside, and TOSA 1.0 does not have int64"))
        return wrong


def _constants_of(program: ExportedProgram, inside: set[Node]) -> set[Node]:
    """The constants that a partition owns: those that nothing outside reads, and what is computed from them."""
    known: set[Node] = set()
    for node in program.graph.nodes:
        if not is_constant(program, node):
            continue
        if node.op == "placeholder":
            owned = all(user in inside for user in node.users)
        else:
            owned = node in inside and all(operand in known for operand in node.all_input_nodes)
        if owned:
            known.add(node)
    return known


def _is_int64(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype == torch.int64
