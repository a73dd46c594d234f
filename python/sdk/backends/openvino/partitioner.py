# SPDX-License-Identifier: BSD-3-Clause
"""`OpenvinoPartitioner`: delegates the supported parts of a model to `OpenvinoBackend`. The reason for every other node
is in the receipt of the export and, at the level DEBUG, in the log `sdk.backends.openvino`."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import Partition

from sdk.backends.openvino.convert import refusals
from sdk.backends.openvino.operators import WHOLE, computes, refusal
from sdk.backends.openvino.preprocess import (
    DEVICE,
    INCLUDE_IR,
    PRECISION,
    OpenvinoBackend,
    precision_of,
    read_specs,
)
from sdk.backends.openvino.quantized import is_dequantize, is_quantize
from sdk.backends.partition import largest_partitions, tag_partitions
from sdk.backends.transforms.constants import settled
from sdk.backends.transforms.dynamic_quantization import name_of
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import WhyNoPartition, tag_constant_data

logger = logging.getLogger("sdk.backends.openvino")


class OpenvinoPartitioner(Partitioner):
    """Delegates the largest possible parts.

    Args:
        compile_spec: `CompileSpec("device", b"CPU")`, the default, or another device of OpenVINO's, and its properties,
            in capitals with the value as text: `CompileSpec("INFERENCE_PRECISION_HINT", b"bf16")`. Without this one a
            CPU computes in float32.
        op_types_to_skip: Names of operators that stay on kernels, for example `"aten.add.Tensor"`.
        op_names_to_skip: Names of nodes that stay on kernels.
        include_ir: Whether programs also contain the model itself (IR), which doubles their size. A device with another
            release of OpenVINO, or of another kind, then compiles it instead of failing to load.
    """

    def __init__(
        self,
        compile_spec: Iterable[CompileSpec] = (),
        op_types_to_skip: Iterable[str] | None = None,
        op_names_to_skip: Iterable[str] | None = None,
        *,
        include_ir: bool = False,
    ) -> None:
        super().__init__()
        specs = list(compile_spec)
        given = read_specs(specs)
        device = given.get(DEVICE, "CPU")
        if DEVICE not in given:
            specs.append(CompileSpec(DEVICE, device.encode()))
        # The device forgets for which precision a payload was compiled: the program says it.
        specs += [
            CompileSpec(key, value.encode()) for key, value in precision_of(device).items() if PRECISION not in given
        ]
        if include_ir:
            specs.append(CompileSpec(INCLUDE_IR, b"1"))
        self._types_to_skip = frozenset(op_types_to_skip or ())
        self._names_to_skip = frozenset(op_names_to_skip or ())
        self.delegation_spec = DelegationSpec(OpenvinoBackend.__name__, specs)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Operators that OpenVINO has and the exporter would decompose."""
        whole = []
        for name in WHOLE:
            packet, _, overload = name.partition(".")
            whole.append(getattr(getattr(torch.ops.aten, packet), overload))
        return whole, lambda node: self._reason(node, ep) is None

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes for OpenVINO."""
        why = WhyNoPartition(logger)

        def divide(module: GraphModule) -> list[list[Node]]:
            takes = self._taken(exported_program, module, why)
            converted: set[frozenset[Node]] = set()

            def refuse(partitions: list[Partition]) -> bool:
                refused: dict[Node, str] = {}
                for nodes in (partition.nodes for partition in partitions):
                    if frozenset(nodes) not in converted:
                        refused.update(refusals(exported_program, nodes))
                        converted.add(frozenset(nodes))
                for node, reason in refused.items():
                    takes.discard(node)
                    why(node, reason)
                self._keep_pairs(takes, why)
                return bool(refused)

            found = largest_partitions(module, takes, refuse, lambda p: any(computes(node) for node in p.nodes))
            kept = [list(partition.nodes) for partition in found]
            for node in takes.difference(*kept):
                why(node, "alone it is not worth a delegate: OpenVINO takes none of its neighbours")
            return kept

        with settled(exported_program):
            tags = tag_partitions(exported_program, divide, "openvino", self.delegation_spec)
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)

    def _reason(self, node: Node, program: ExportedProgram) -> str | None:
        if name_of(node) in self._types_to_skip or str(node.target) in self._types_to_skip:
            return "op_types_to_skip has its operator"
        if node.name in self._names_to_skip:
            return "op_names_to_skip has its name"
        return refusal(node, program)

    def _taken(self, program: ExportedProgram, module: GraphModule, why: WhyNoPartition) -> set[Node]:
        """The supported nodes of a graph: calls, and the arithmetic on sizes stays with the program."""
        takes = set()
        for node in module.graph.nodes:
            if node.op != "call_function" or node.target is operator.getitem:
                continue  # a getitem goes with its call
            reason = self._reason(node, program)
            if reason is None:
                takes.add(node)
            elif isinstance(node.meta.get("val"), torch.Tensor | tuple | list):
                why(node, reason)
        self._keep_pairs(takes, why)
        return takes

    @staticmethod
    def _keep_pairs(takes: set[Node], why: WhyNoPartition) -> None:
        """A quantize and its dequantize are one operator of OpenVINO, so that neither goes without the other."""
        for node in list(takes):
            if is_quantize(node) and not all(user in takes for user in node.users):
                takes.discard(node)
                why(node, "OpenVINO does not take all that dequantise its result")
        for node in list(takes):
            source = node.args[0] if node.args else None
            if is_dequantize(node) and is_quantize(source) and source not in takes:
                takes.discard(node)
                why(node, "OpenVINO does not take what quantises its operand")
