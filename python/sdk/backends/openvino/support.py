# SPDX-License-Identifier: BSD-3-Clause
"""Decides which calls OpenVINO gets, and gives the reasons for the others."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.quantized import split_conversion
from sdk.backends.openvino.convert import refusals
from sdk.backends.openvino.operators import OPERATORS, computes
from sdk.backends.partition import Skipped, Support, is_owned, unless_size


class OpenvinoSupport(Support):
    """Decides which calls of a program OpenVINO gets. Leaves out those that the user keeps on kernels."""

    title = "OpenVINO"

    def __init__(self, program: ExportedProgram, skipped: Skipped) -> None:
        super().__init__(program)
        self._skipped = skipped
        self._converted: set[Any] = set()

    def refusal(self, node: Node) -> str | None:
        if node.target is operator.getitem:
            return ""
        return self._skipped.refusal(node) or unless_size(node, OPERATORS.refusal(node, self.program))

    def incomplete(self, node: Node, takes: Collection[Node]) -> str | None:
        """A quantize and its dequantize become one operator of OpenVINO, so it gets both or neither."""
        return split_conversion(node, takes, self.title)

    def conflicts(self, nodes: Sequence[Node], part_of: Mapping[Node, int]) -> Iterable[tuple[Node, str]]:
        def owned(constant: Node) -> bool:
            return is_owned(self.program, constant, part_of[nodes[0]], part_of)

        # A partition that did not change since it was tried is not tried again.
        lent = frozenset(o for node in nodes for o in node.all_input_nodes if o.op == "placeholder" and not owned(o))
        key = (tuple(nodes), lent)
        if key in self._converted:
            return ()
        self._converted.add(key)
        return refusals(self.program, nodes, owned).items()

    def is_free(self, node: Node) -> bool:
        return not computes(node)
