# SPDX-License-Identifier: BSD-3-Clause
"""A partition for each operator, instead of the largest ones (`per_op_mode`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch.fx import GraphModule, Node

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import is_dequantize, is_quantize
from sdk.backends.partition import Refused, Support, taken_calls
from sdk.backends.transforms.constants import is_constant
from sdk.backends.xnnpack.operators.shape import SplitConfig
from sdk.backends.xnnpack.partition.config import OPERATORS
from sdk.backends.xnnpack.partition.support import XnnpackSupport, quantizes_dynamically, read_elsewhere
from sdk.backends.xnnpack.quantization import integer_call


def divide_by_operator(module: GraphModule, support: Support, refused: Refused) -> list[list[Node]]:
    """A part for each operator that XNNPACK takes, with the nodes that belong to it."""
    assert isinstance(support, XnnpackSupport)
    takes = taken_calls(module, support, refused)
    partitions: list[list[Node]] = []
    owned: set[Node] = set()
    for node in module.graph.nodes:
        if node in takes and node not in owned and _computes(node, support):
            calls = [node, *(call for call in _sharing_quantization(node, support) if call in takes - owned)]
            parts = dict.fromkeys(part for call in calls for part in _parts_of(call, support))
            partitions.append([part for part in parts if part in takes and part not in owned])
            owned.update(partitions[-1])
    while True:
        conflicts = _conflicts(partitions, support)
        if not conflicts:
            return partitions
        for node, reason in conflicts:
            refused(node, reason)
        left = {node for node, _ in conflicts}
        # An operator remains in its part if nodes around it are removed, but not without its weights or scales.
        movable = set(filter(support.reads_constants, left))
        kept = [nodes for nodes in partitions if left.isdisjoint(set(nodes) - movable)]
        partitions = [[node for node in nodes if node not in left] for nodes in kept]


def _conflicts(partitions: Sequence[Sequence[Node]], support: XnnpackSupport) -> list[tuple[Node, str]]:
    """Nodes that cannot be in their part. A result of constants that several parts read cannot be in any of them: this
    part would have to run before the others, but may depend on their results."""
    part_of = {node: number for number, nodes in enumerate(partitions) for node in nodes}
    shared = [node for nodes in partitions for node in read_elsewhere(nodes) if support.reads_constants(node)]
    return [*support.without_own_weights(part_of, part_of), *((node, "several parts read it") for node in shared)]


def _computes(node: Node, support: XnnpackSupport) -> bool:
    """Whether a call forms a partition: it is not free, and not taken only together with its users."""
    return not support.is_free(node) and not support.is_only_with_readers(node)


def _parts_of(node: Node, support: XnnpackSupport) -> Iterable[Node]:
    """An operator, the nodes that only reshape its result, and the nodes that belong to its operands."""
    yield node
    for user in node.users:
        if support.is_free(user) and not is_quantize(user):
            yield user
            yield from user.users if name_of(user) in SplitConfig.target_names else ()  # a list cannot be a result
    yield from _belonging(node, support)


def _sharing_quantization(node: Node, support: XnnpackSupport) -> Iterable[Node]:
    """Returns other layers that read the same dynamically quantised input, such as those for queries, keys and values,
    because the nodes that quantise it cannot be in several partitions. Leaves out layers that also read another result,
    because that result may depend on `node`."""
    for quantized in filter(quantizes_dynamically, node.all_input_nodes):
        for reader in _readers_of_chain(quantized):
            others = [operand for operand in reader.all_input_nodes if not quantizes_dynamically(operand)]
            if reader is not node and all(is_constant(support.program, operand) for operand in others):
                yield reader


def _belonging(node: Node, support: XnnpackSupport) -> Iterable[Node]:
    """The nodes that compute a call's weights from constants, and those that quantise its operands and its result."""
    for operand in node.all_input_nodes:
        if operand.op == "call_function" and (support.reads_constants(operand) or quantizes_dynamically(operand)):
            yield operand
            yield from _belonging(operand, support)
    config = OPERATORS.get(name_of(node))
    call = None if config is None else integer_call(node, support.program, config)
    if call is not None:
        yield from filter(is_dequantize, node.all_input_nodes)
        yield from (*call.covered, call.result)


def _readers_of_chain(quantized: Node) -> list[Node]:
    """The readers of the dynamically quantised tensor that `quantized` helps to compute."""
    chain, pending = {quantized: None}, [quantized]
    while pending:
        step = pending.pop()
        near = [n for n in (*step.all_input_nodes, *step.users) if n not in chain and quantizes_dynamically(n)]
        chain.update(dict.fromkeys(near))
        pending += near
    return list(dict.fromkeys(user for step in chain for user in step.users if user not in chain))
