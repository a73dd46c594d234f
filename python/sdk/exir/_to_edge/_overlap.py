# SPDX-License-Identifier: BSD-3-Clause
"""Finds writes to memory that several elements of a tensor share, as after `expand` or in overlapping windows.

In eager mode all of these elements change. A functional program has a value for each element: PyTorch's own tracer
adds up the changes of all of them, and gives wrong results.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.exir._messages import source_of
from sdk.exir._to_edge._aliases import copies, writes
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.operator.aten_rules import aten, mutated_arguments, returns_alias


def refuse_shared_writes(program: ExportedProgram) -> None:
    """Raises `ExportError` where a program writes to such memory and reads it by another tensor afterwards, or where
    the memory is that of an input, a weight or a buffer."""
    nodes = list(program.graph.nodes)
    written = [node for node in nodes if writes(node)]
    if not written:
        return
    order = {node: position for position, node in enumerate(nodes)}
    for write in written:
        for place in mutated_arguments(write.target):
            target = write.args[place] if place < len(write.args) else None
            if isinstance(target, Node) and _is_seen_by_others(write, target, order):
                raise ExportError(
                    ExportErrorType.NOT_SUPPORTED,
                    f"{write.name} ({write.target}) writes to {target.name}, of which several elements are one in "
                    f"memory (expand or unfold), and another tensor shares that memory. Write before the expansion, or "
                    f"to a copy (.clone()) of {target.name}.{source_of(write)}",
                )


def _is_seen_by_others(write: Node, target: Node, order: dict[Node, int]) -> bool:
    chain = list(_bases(target))
    if not any(_has_shared_elements(node) for node in chain):
        return False
    others = chain[1:]
    return any(
        node.op == "placeholder" or any(order[user] > order[write] for user in node.users if user not in chain)
        for node in others
    )


def _bases(node: Node) -> Iterator[Node]:
    """A tensor, the tensor of which it is a view, and so on, up to the tensor that owns the memory."""
    yield node
    while _is_view(node):
        node = node.args[0]
        yield node


def _is_view(node: Node) -> bool:
    op = node.target
    return isinstance(op, torch._ops.OpOverload) and returns_alias(op) and not copies(node, op)


def _has_shared_elements(node: Node) -> bool:
    value = node.meta.get("val")
    if node.target is aten.unfold.default:
        return bool(node.args[3] < node.args[2])
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return False
    return any(
        isinstance(stride, int) and stride == 0 and not (isinstance(size, int) and size == 1)
        for size, stride in zip(value.shape, value.stride(), strict=True)
    )
