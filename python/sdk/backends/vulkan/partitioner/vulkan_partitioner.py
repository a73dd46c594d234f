# SPDX-License-Identifier: BSD-3-Clause
"""`VulkanPartitioner`: delegates the supported parts of a model to `VulkanBackend`. The reason for every other node is
in the receipt of the export and, at the level DEBUG, in the log `sdk.backends.vulkan.partitioner`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, final

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import Partition

from sdk.backends.partition import calls_of, is_owned, largest_partitions, tag_partitions, taken_calls
from sdk.backends.transforms.constants import is_constant, is_foldable, settled
from sdk.backends.vulkan.graph.fusions import attention_refusal
from sdk.backends.vulkan.op_registry import SYMBOLIC, VIEWS, called_operator, get_op_features, has_impl, operator_name
from sdk.backends.vulkan.options import options_of, parse_compile_options
from sdk.backends.vulkan.support import WRITTEN_AS, Support
from sdk.backends.vulkan.vulkan_preprocess import VulkanBackend
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import WhyNoPartition, tag_constant_data, tag_mutated_buffer

__all__ = ["VulkanPartitioner", "parse_compile_options"]

logger = logging.getLogger("sdk.backends.vulkan.partitioner")

ops_not_to_decompose = [
    torch.ops.aten.hardswish.default,
    torch.ops.aten.upsample_nearest2d.vec,
    torch.ops.aten.upsample_bilinear2d.vec,
    torch.ops.aten.pixel_shuffle.default,
]
_OURS_NOT_TO_DECOMPOSE = [
    torch.ops.aten.linear.default,
    torch.ops.aten.scaled_dot_product_attention.default,
]

_TORCHAO = ("choose_qparams_affine", "quantize_affine", "dequantize_affine")

OpKey = Any
"""An operator of ATen or of the edge dialect, or its name, such as `aten.add.Tensor`."""


@final
class VulkanPartitioner(Partitioner):
    """Delegates the largest possible parts.

    Args:
        compile_options: Options by name; docs/backends-vulkan.md lists them. Unknown ones are reported in the receipt
            of the export. Raises ValueError for a value of the wrong kind.
        operator_blocklist: Operators that are not delegated.
        operator_allowlist: The only operators that are delegated.
        nn_module_blocklist: Parts of the names of module classes whose operators are not delegated.
        nn_module_allowlist: Parts of the names of the only module classes whose operators are.
    """

    def __init__(
        self,
        compile_options: Mapping[str, Any] | None = None,
        operator_blocklist: Collection[OpKey] | None = None,
        operator_allowlist: Collection[OpKey] | None = None,
        nn_module_blocklist: Collection[str] | None = None,
        nn_module_allowlist: Collection[str] | None = None,
    ) -> None:
        super().__init__()
        self.options = dict(compile_options or {})
        specs = parse_compile_options(self.options)
        self._parsed = options_of(specs)
        self.delegation_spec = DelegationSpec(VulkanBackend.__name__, specs)
        self.operator_blocklist = {operator_name(key) for key in operator_blocklist or ()}
        self.operator_allowlist = (
            None if operator_allowlist is None else {operator_name(key) for key in operator_allowlist}
        )
        self.nn_module_blocklist = set(nn_module_blocklist or ())
        self.nn_module_allowlist = None if nn_module_allowlist is None else set(nn_module_allowlist)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Operators that the runtime has and the exporter would decompose."""
        whole = [*ops_not_to_decompose, *_operators_of_torchao()]
        if self._parsed.compat is None:
            whole += _OURS_NOT_TO_DECOMPOSE

        def is_taken(node: Node) -> bool:
            name = operator_name(node.target)
            if name in self.operator_blocklist:
                return True  # else its parts would be delegated
            if name == "aten.scaled_dot_product_attention.default":
                return attention_refusal(node) is None
            return get_op_features(name).check_dtypes(node) is None

        return whole, is_taken

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes for Vulkan."""
        with settled(exported_program):
            tags = tag_partitions(
                exported_program,
                lambda module: [partition.nodes for partition in self._partitions(exported_program, module)],
                "vulkan",
                self.delegation_spec,
            )
        logger.debug("%d partitions", len(tags))
        tag_constant_data(exported_program)
        tag_mutated_buffer(exported_program)
        if self._parsed.compat is not None:
            _untag_other_state(exported_program)
        return PartitionResult(exported_program, tags)

    def _partitions(self, program: ExportedProgram, module: GraphModule) -> list[Partition]:
        why = WhyNoPartition(logger)
        support = Support(
            program,
            self._parsed,
            self.operator_blocklist,
            self.operator_allowlist,
            self.nn_module_blocklist,
            self.nn_module_allowlist,
        )
        takes = taken_calls(module, support.refusal, why)
        self._discard_incomplete(takes, program, module, why)
        only_moves = all(_is_free(program, node) for node in calls_of(program))

        def refuse(partitions: list[Partition]) -> bool:
            left = set(_incomplete(program, partitions, why))
            takes.difference_update(left)
            self._discard_incomplete(takes, program, module, why)
            return bool(left)

        kept = largest_partitions(
            module, takes, refuse, lambda p: only_moves or any(not _is_free(program, node) for node in p.nodes)
        )
        for node in takes.difference(*(partition.nodes for partition in kept)):
            why(node, "alone it is not worth a delegate: Vulkan takes none of its neighbours")
        return kept

    def _discard_incomplete(
        self, takes: set[Node], program: ExportedProgram, module: GraphModule, why: WhyNoPartition
    ) -> None:
        """Removes nodes that must be with all their readers, of which some are not taken."""
        # In reverse order, because a node that depends on its readers may be read by another such node.
        for node in reversed(module.graph.nodes):
            if node in takes and _only_with_readers(program, node) and not takes.issuperset(node.users):
                takes.discard(node)
                why(node, "it is read outside the delegate")
        for node in list(takes):
            if called_operator(node) == "getitem" and node.args[0] not in takes:
                takes.discard(node)


def _operators_of_torchao() -> list[torch._ops.OpOverload]:
    """Those of the quantised layers; none where torchao is not imported, because then no program calls them."""
    packets = [getattr(torch.ops.torchao, name, None) for name in _TORCHAO]
    return [packet.default for packet in packets if packet is not None]


def _untag_other_state(program: ExportedProgram) -> None:
    """Leaves the buffers outside that operators other than those for key-value caches change: the original has none
    that writes to a buffer."""
    buffers = program.graph_signature.inputs_to_buffers
    mutated = set(program.graph_signature.buffers_to_mutate.values())
    for node in program.graph.nodes:
        if buffers.get(node.name) in mutated and any("_all_bases" not in user.kwargs for user in node.users):
            node.meta.pop("delegation_tag", None)


def _only_with_readers(program: ExportedProgram, node: Node) -> bool:
    """Whether a node must be in the same part as all its readers: constants, which are folded, symbolic integers,
    which a delegate cannot return, and lists."""
    value = node.meta.get("val")
    return not isinstance(value, torch.Tensor) or is_foldable(program, node)


def _is_free(program: ExportedProgram, node: Node) -> bool:
    """Whether a call alone does not justify a delegate."""
    name = called_operator(node)
    return name == "getitem" or name in SYMBOLIC or name in VIEWS or is_foldable(program, node)


def _incomplete(program: ExportedProgram, partitions: Iterable[Partition], why: WhyNoPartition) -> Iterable[Node]:
    """Nodes that are not with all their readers, and those whose weights are also used outside their part, so that the
    delegate cannot own them."""
    part_of = {node: partition.id for partition in partitions for node in partition.nodes}
    for node, part in part_of.items():
        if _only_with_readers(program, node) and any(part_of.get(user) != part for user in node.users):
            why(node, "several parts read it")
            yield node
            continue
        name = WRITTEN_AS.get(called_operator(node), called_operator(node))
        folds = is_foldable(program, node)
        owns = folds or (has_impl(name) and get_op_features(name).supports_prepacking)
        for operand in node.all_input_nodes if owns else ():
            is_left = folds and operand.op == "call_function" and part_of.get(operand) != part
            if is_left or (is_constant(program, operand) and not is_owned(program, operand, part, part_of)):
                if not folds and name in ("aten.bmm.default", "aten.mm.default", "aten.linear.default"):
                    continue
                why(node, f"{operand} is also used by a part that Vulkan does not take, or by another one")
                yield node
                break
