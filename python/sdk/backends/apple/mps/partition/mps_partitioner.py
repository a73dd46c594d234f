# SPDX-License-Identifier: BSD-3-Clause
"""`MPSPartitioner`: delegates the supported parts of a model to `MPSBackend`. The reason for every other node is in the
receipt of the export and, at the level DEBUG, in the log `sdk.backends.apple.mps.partition`."""

from __future__ import annotations

import logging

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import Partition

from sdk.backends.apple.mps.mps_preprocess import MPSBackend, use_fp16_of
from sdk.backends.apple.mps.partition.support import Support, is_free
from sdk.backends.partition import largest_partitions, tag_partitions, taken_calls
from sdk.backends.transforms.constants import settled
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import WhyNoPartition, tag_constant_data

logger = logging.getLogger("sdk.backends.apple.mps.partition")


class MPSPartitioner(Partitioner):
    """Delegates the largest possible parts.

    Args:
        compile_specs: Options for MPS: `CompileSpec("use_fp16", bytes([True]))`, which is the default.

    Raises:
        ValueError: an option is unknown or has another value.
    """

    def __init__(self, compile_specs: list[CompileSpec] | None = None) -> None:
        super().__init__()
        self.compile_specs = [CompileSpec("use_fp16", b"\1")] if compile_specs is None else list(compile_specs)
        self._use_fp16 = use_fp16_of(self.compile_specs)
        self.delegation_spec = DelegationSpec(MPSBackend.__name__, self.compile_specs)

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes for MPS."""
        why = WhyNoPartition(logger)
        with settled(exported_program):
            support = Support(exported_program, self._use_fp16)
            tags = tag_partitions(
                exported_program,
                lambda module: _partitions(exported_program, module, support, why),
                "mps",
                self.delegation_spec,
            )
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)


def _partitions(
    program: ExportedProgram, module: GraphModule, support: Support, why: WhyNoPartition
) -> list[list[Node]]:
    takes = taken_calls(module, support.refusal, why)

    def refuse(partitions: list[Partition]) -> bool:
        left = {node: reason for p in partitions for node, reason in support.conflicts(p.nodes).items()}
        for node, reason in left.items():
            why(node, reason)
        takes.difference_update(left)
        return bool(left)

    found = largest_partitions(module, takes, refuse)
    kept = [list(p.nodes) for p in found if not all(is_free(program, node) for node in p.nodes)]
    for node in takes.difference(*kept):
        why(node, "alone it is not worth a delegate")
    return kept
