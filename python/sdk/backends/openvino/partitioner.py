# SPDX-License-Identifier: BSD-3-Clause
"""`OpenvinoPartitioner`: delegates the supported parts of a model to `OpenvinoBackend`. The reason for every other node
is in the receipt of the export and, at the level DEBUG, in the log `sdk.backends.openvino`."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import name_of, overloads
from sdk.backends.graph.quantized import is_any_dequantize, is_any_quantize
from sdk.backends.openvino.convert import refusals
from sdk.backends.openvino.operators import OPERATORS, WHOLE, computes
from sdk.backends.openvino.preprocess import (
    DEVICE,
    INCLUDE_IR,
    PRECISION,
    OpenvinoBackend,
    precision_of,
    read_specs,
)
from sdk.backends.partition import Support, SupportPartitioner, is_owned
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec


class OpenvinoPartitioner(SupportPartitioner):
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

    prefix = "openvino"
    logger = logging.getLogger("sdk.backends.openvino")

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
        support = self.support(ep)
        return overloads(WHOLE), lambda node: support.refusal(node) is None

    def support(self, program: ExportedProgram) -> OpenvinoSupport:
        """What OpenVINO takes of a program."""
        return OpenvinoSupport(program, self._types_to_skip, self._names_to_skip)


class OpenvinoSupport(Support):
    """What OpenVINO takes of a program.

    Args:
        program: The program.
        types_to_skip: Names of operators that stay on kernels.
        names_to_skip: Names of nodes that stay on kernels.
    """

    title = "OpenVINO"

    def __init__(self, program: ExportedProgram, types_to_skip: frozenset[str], names_to_skip: frozenset[str]) -> None:
        super().__init__(program)
        self._types_to_skip, self._names_to_skip = types_to_skip, names_to_skip
        self._converted: set[Any] = set()

    def refusal(self, node: Node) -> str | None:
        if node.target is operator.getitem:
            return ""
        if name_of(node) in self._types_to_skip or str(node.target) in self._types_to_skip:
            return "op_types_to_skip has its operator"
        if node.name in self._names_to_skip:
            return "op_names_to_skip has its name"
        reason = OPERATORS.refusal(node, self.program)
        # Arithmetic on sizes stays with the program.
        return reason if reason is None or isinstance(node.meta.get("val"), torch.Tensor | tuple | list) else ""

    def incomplete(self, node: Node, takes: Collection[Node]) -> str | None:
        """A quantize and its dequantize are one operator of OpenVINO, so that neither goes without the other."""
        if is_any_quantize(node) and not all(user in takes for user in node.users):
            return "OpenVINO does not take all that dequantise its result"
        if is_any_dequantize(node) and is_any_quantize(node.args[0]) and node.args[0] not in takes:
            return "OpenVINO does not take what quantises its operand"
        return None

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
