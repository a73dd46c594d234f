# SPDX-License-Identifier: BSD-3-Clause
"""Decides which nodes Core ML takes, and gives the reasons for the others."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node

from sdk.backends.apple.coreml._coremltools import coremltools
from sdk.backends.apple.coreml.compiler.operators import operator_of
from sdk.backends.apple.coreml.compiler.settings import Settings
from sdk.backends.apple.coreml.compiler.targets import candidates
from sdk.backends.apple.coreml.compiler.trial import Trials
from sdk.backends.graph.names import name_of
from sdk.backends.graph.shapes import is_tensor
from sdk.backends.partition import Support


class CoreMLSupport(Support):
    """Decides which calls of a program Core ML takes."""

    title = "Core ML"
    alone = "it computes sizes only"

    def __init__(
        self,
        program: ExportedProgram,
        settings: Settings,
        skipped: frozenset[str],
        takes_constants: bool,
        takes_state: bool,
    ) -> None:
        super().__init__(program)
        self.owns_constants = takes_constants
        self._settings = settings
        self._skipped = skipped
        self._takes_state = takes_state
        self._trials = Trials(program, constants=takes_constants)
        self._targets = candidates(settings)
        signature = program.graph_signature
        self._buffers = {s.arg.name: s.target for s in signature.input_specs if s.kind == InputKind.BUFFER}

    def refusal(self, node: Node) -> str | None:
        """Why Core ML does not take a node; None if it does."""
        if not (isinstance(node.target, torch._ops.OpOverload) or hasattr(node.target, "_op") or _is_arithmetic(node)):
            return "control flow stays outside; Core ML gets the parts of its branches"
        if name_of(node) in self._skipped:
            return "it is in skip_ops_for_coreml_delegation"
        if node.target is operator.getitem and isinstance(node.args[0], Node) and is_call(node.args[0]):
            return self.refusal(node.args[0])
        return operator_of(node).refusal(node, self._trials, self._targets)

    def conflicts(self, nodes: Sequence[Node], part_of: Mapping[Node, int]) -> Iterable[tuple[Node, str]]:
        members = set(nodes)
        found: dict[Node, str] = {}
        for node in nodes:
            for operand in node.all_input_nodes:
                if operand not in members and not is_tensor(operand) and operand.op != "get_attr":
                    found[node] = f"{operand.name} is a number that is computed outside, and Core ML takes tensors"
            outside = [user for user in node.users if user not in members]
            if not is_tensor(node) and outside:
                found[node] = "it is read outside, and Core ML returns tensors"
        return found.items()

    def is_copied(self, constant: Node) -> bool:
        return self.owns_constants and super().is_copied(constant)

    def is_free(self, node: Node) -> bool:
        return not is_tensor(node)

    def finish_tags(self) -> None:
        """Tags the buffers that become states."""
        if not self._takes_state:
            return
        written = {
            spec.target: node
            for node, spec in zip(
                self.program.graph.output_node().args[0], self.program.graph_signature.output_specs, strict=True
            )
            if spec.kind == OutputKind.BUFFER_MUTATION
        }
        for node in self.program.graph.nodes:
            target = self._buffers.get(node.name) if node.op == "placeholder" else None
            value = written.get(target)
            if value is None or not node.users or self._state_reason(node, str(target)) is not None:
                continue
            tags = {user.meta.get("delegation_tag") for user in (*node.users, value) if user.op != "output"}
            if len(tags) == 1 and None not in tags and value is not node:
                node.meta["delegation_tag"] = tags.pop()

    def _state_reason(self, node: Node, target: str) -> str | None:
        tensor = {**self.program.constants, **self.program.state_dict}.get(target)
        if self._settings.target is not None and self._settings.target < coremltools().target.iOS18:
            return "states need the deployment target iOS18"
        if tensor is None or tensor.dtype not in (torch.float16, torch.float32):
            return "states are float16"
        if bool((tensor != 0).any()):
            return "states start at zero"
        return None


def is_call(node: Node) -> bool:
    """Whether a node calls an operator."""
    return node.op == "call_function"


def _is_arithmetic(node: Node) -> bool:
    return node.target is operator.getitem or getattr(node.target, "__module__", "") in ("_operator", "math")
