# SPDX-License-Identifier: BSD-3-Clause
"""Decides which calls of a program the runtime gets, and gives the reasons for the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.partition import Support
from sdk.backends.transforms.constants import is_foldable
from sdk.backends.vulkan.op_registry import SYMBOLIC, VIEWS, called_operator
from sdk.backends.vulkan.operators import OPERATORS
from sdk.backends.vulkan.options import Options
from sdk.exir.backend.utils import tag_mutated_buffer

_TAKING_ANY_MATRIX = ("aten.bmm.default", "aten.mm.default", "aten.linear.default")


class VulkanSupport(Support):
    """Decides which calls of a program the runtime gets. `block` and `allow` contain names of operators; modules are
    given by parts of the names of their classes."""

    title = "Vulkan"

    def __init__(
        self,
        program: ExportedProgram,
        options: Options,
        block: Collection[str] = (),
        allow: Collection[str] | None = None,
        modules_blocked: Collection[str] = (),
        modules_allowed: Collection[str] | None = None,
    ) -> None:
        super().__init__(program)
        self.options = options
        self._block, self._allow = block, allow
        self._modules_blocked, self._modules_allowed = modules_blocked, modules_allowed

    def refusal(self, node: Node) -> str | None:
        name = called_operator(node)
        reason = self._listed(node, name)
        if reason is not None or name == "getitem" or is_foldable(self.program, node):
            return reason
        return OPERATORS.refusal(node, self.program, self.options)

    def conflicts(self, nodes: Sequence[Node], part_of: Mapping[Node, int]) -> Iterable[tuple[Node, str]]:
        """Refuses nodes that must be in one part with all their readers but are not, and nodes whose weights are also
        used outside their part, so that the delegate cannot own the weights."""
        for node in nodes:
            if self.is_only_with_readers(node) and any(part_of.get(user) != part_of[node] for user in node.users):
                yield node, "several parts read it"
            elif self._owns_constants(node):
                yield from (
                    (node, why) for why in self.without_constants(node, part_of, is_foldable(self.program, node))
                )

    def is_free(self, node: Node) -> bool:
        name = called_operator(node)
        return name == "getitem" or name in SYMBOLIC or name in VIEWS or is_foldable(self.program, node)

    def is_worth_it(self, nodes: Sequence[Node]) -> bool:
        """A part that only moves elements is worth a delegate only if the whole program does nothing else."""
        return self.has_only_free_calls or super().is_worth_it(nodes)

    def is_only_with_readers(self, node: Node) -> bool:
        """True for folded constants, symbolic integers and lists."""
        return not isinstance(node.meta.get("val"), torch.Tensor) or is_foldable(self.program, node)

    def finish_tags(self) -> None:
        tag_mutated_buffer(self.program)
        if self.options.compat is not None:
            _untag_other_state(self.program)

    def _owns_constants(self, node: Node) -> bool:
        """Whether the part of a node must own the constants that the node reads."""
        entry = OPERATORS.get(called_operator(node))
        is_packed = entry is not None and entry.features.supports_prepacking and entry.written not in _TAKING_ANY_MATRIX
        return is_packed or is_foldable(self.program, node)

    def _listed(self, node: Node, name: str) -> str | None:
        modules = [str(entry[1]) for entry in (node.meta.get("nn_module_stack") or {}).values()]
        if self._modules_allowed is not None and not _any_in(self._modules_allowed, modules):
            return "its module is not in nn_module_allowlist"
        if _any_in(self._modules_blocked, modules):
            return "its module is in nn_module_blocklist"
        if self._allow is not None and name not in self._allow and name not in SYMBOLIC and name != "getitem":
            return "it is not in operator_allowlist"
        return "it is in operator_blocklist" if name in self._block else None


def _any_in(parts: Collection[str], names: list[str]) -> bool:
    return any(part in name for part in parts for name in names)


def _untag_other_state(program: ExportedProgram) -> None:
    """Keeps buffers that the program changes out of delegates, except those that only operators for key-value caches
    change: ExecuTorch's Vulkan runtime has no other operator that writes to a buffer."""
    buffers = program.graph_signature.inputs_to_buffers
    mutated = set(program.graph_signature.buffers_to_mutate.values())
    for node in program.graph.nodes:
        if buffers.get(node.name) in mutated and any("_all_bases" not in user.kwargs for user in node.users):
            node.meta.pop("delegation_tag", None)
