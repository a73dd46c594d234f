# SPDX-License-Identifier: BSD-3-Clause
"""Decides which calls TOSA gets, and gives the reasons for the others."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.tosa.integer.units import find_units
from sdk.backends.arm.tosa.lower import Examined, examine
from sdk.backends.arm.tosa.operators import operators_with
from sdk.backends.graph.quantized import is_any_dequantize, is_quantize
from sdk.backends.partition import Support, graphs_of
from sdk.backends.transforms.constants import is_constant

_MOST_COPIED = 1 << 16  # elements
Refusals = list[tuple[Node, str]]


class TosaSupport(Support):
    """Decides which calls of a program TOSA gets, for a compile spec and its options."""

    title = "TOSA"
    alone = "it would leave its operand as it is: a delegate of such nodes computes nothing"

    def __init__(
        self, program: ExportedProgram, options: ArmCompileSpec, checks: Sequence[OperatorSupportBase] = ()
    ) -> None:
        super().__init__(program)
        self._options = options
        self._checks = checks
        self._operators = operators_with(options.custom_operators)
        self._changes_nothing: dict[Node, bool] = {}
        self._units = find_units(node for module in graphs_of(program) for node in module.graph.nodes)

    def examine(self, node: Node, known: Callable[[Node], bool] | None = None) -> Examined:
        """Examines whether TOSA supports a call. `known` says which operands are constants of its partition; the
        default is all constants of the program."""
        specification, known = self._options.tosa_spec, known or self._is_constant
        examined = examine(node, self.program, specification, self._operators, self._units, known)
        if examined.refusal is None and self._checks:
            modules = dict(self.program.graph_module.named_modules())
            for check in self._checks:
                if not check.is_node_supported(modules, node):
                    return Examined(f"the additional check {type(check).__name__} refuses it")
        return examined

    def refusal(self, node: Node) -> str | None:
        if node.target is operator.getitem:
            return ""  # decided with its call
        if self._is_constant(node):
            return None
        examined = self.examine(node)
        if examined.refusal is None:
            self._changes_nothing[node] = examined.changes_nothing
            return None
        # Arithmetic on sizes stays with the program.
        return examined.refusal if isinstance(node.meta.get("val"), torch.Tensor | tuple | list) else ""

    def incomplete(self, node: Node, takes: Collection[Node]) -> str | None:
        """Refuses a computed constant that is also read outside; the file stores only those that nothing else reads."""
        if self._is_constant(node) and not (node.users and all(user in takes for user in node.users)):
            return "it is a constant that is read outside"
        return None

    def conflicts(self, nodes: Sequence[Node], part_of: Mapping[Node, int]) -> Iterable[tuple[Node, str]]:
        """Refuses inputs and outputs with types that TOSA lacks, and nodes that need constants from outside."""
        inside = set(nodes)
        known = self._constants_of(inside)
        wrong: Refusals = []
        for node in nodes:
            if node.target is not operator.getitem and self._is_constant(node):
                wrong += [] if node in known else [(node, "it is a constant of a value that is read outside too")]
            else:
                wrong += self._int64_at_the_edge(node, inside, known)
                wrong += self._quantization_at_the_edge(node, inside, known)
                wrong += self._shared_constants(node, inside, known)
        return wrong

    def is_free(self, node: Node) -> bool:
        return self._changes_nothing.get(node, True)

    def is_copied(self, constant: Node) -> bool:
        """Copies small constants in addition to those of the base class."""
        value = constant.meta.get("val")
        is_small = isinstance(value, torch.Tensor) and value.numel() <= _MOST_COPIED
        return is_small or super().is_copied(constant)

    def _is_constant(self, node: Node) -> bool:
        return is_constant(self.program, node)

    def _int64_at_the_edge(self, node: Node, inside: set[Node], known: set[Node]) -> Refusals:
        """Refuses int64 inputs and outputs. Inside a partition, indices are int32."""
        wrong: Refusals = []
        if any(
            _is_int64(operand) and operand not in inside and operand not in known for operand in node.all_input_nodes
        ):
            wrong.append((node, "it reads int64, which TOSA 1.0 does not have, from outside: pass int32"))
        if _is_int64(node) and any(user not in inside for user in node.users):
            call = node.args[0] if node.target is operator.getitem else node
            wrong.append((call, "its int64 result is read outside, and TOSA 1.0 does not have int64"))
        return wrong

    def _quantization_at_the_edge(self, node: Node, inside: set[Node], known: set[Node]) -> Refusals:
        """Conversions of inputs and results stay outside: the delegate takes and returns integers. A unit is delegated
        as a whole or not at all."""
        unit = self._units.get(node)
        if unit is not None:
            whole = all(each in inside or each in known for each in (*unit.members, *unit.operands))
            return [] if whole else [(node, "a node that quantises its operands or its result is outside")]
        if is_quantize(node) and node.args[0] not in inside and node.args[0] not in known:
            return [(node, "it quantises an input: the delegate gets integers")]
        if is_any_dequantize(node):
            within = [user in inside for user in node.users]
            if not any(within) or not (all(within) or self._options.tosa_spec.support_float()):
                return [(node, "it dequantises a result: the delegate gives integers")]
        return []

    def _shared_constants(self, node: Node, inside: set[Node], known: set[Node]) -> Refusals:
        """Refuses a call that needs the values of a constant that is also read outside: such a constant is an input of
        the partition."""
        if not any(
            self._is_constant(each) and each not in known and each not in inside for each in node.all_input_nodes
        ):
            return []
        refusal = self.examine(node, known.__contains__).refusal
        return [(node, f"{refusal} (a constant is read outside too)")] if refusal else []

    def _constants_of(self, inside: set[Node]) -> set[Node]:
        """The constants that a partition owns: constants that are copied or that nothing outside reads, and values
        computed from them."""
        known: set[Node] = set()
        for node in next(iter(inside)).graph.nodes:
            if not self._is_constant(node):
                continue
            if node.op in ("placeholder", "get_attr"):
                owned = all(user in inside for user in node.users) or (
                    (node.op == "get_attr" or self.is_copied(node)) and bool(inside & set(node.users))
                )
            else:
                owned = node in inside and all(operand in known for operand in node.all_input_nodes)
            if owned:
                known.add(node)
        return known


def _is_int64(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype == torch.int64
