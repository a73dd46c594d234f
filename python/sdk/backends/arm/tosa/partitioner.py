# SPDX-License-Identifier: BSD-3-Clause
"""`TOSAPartitioner`: delegates the parts of a model that TOSA expresses. The reason for every other node is in the
receipt of the export and, at the level DEBUG, in the log `sdk.backends.arm`."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.tosa.backend import TOSABackend
from sdk.backends.arm.tosa.support import TosaSupport
from sdk.backends.graph.names import overloads
from sdk.backends.partition import SupportPartitioner
from sdk.exir.backend.partitioner import DelegationSpec

_WHOLE = ("aten.linear.default", "aten.upsample_bilinear2d.vec", "aten.upsample_nearest2d.vec")
# Not decomposed where they are quantised.
_WHOLE_AS_INTEGERS = [
    f"aten.{name}.default"
    for name in (
        *("celu", "hardsigmoid", "hardswish", "mish", "selu", "silu", "softplus"),
        *("rms_norm", "_safe_softmax", "linalg_vector_norm"),
    )
]


class TOSAPartitioner(SupportPartitioner):
    """Delegates the largest parts that TOSA expresses.

    Args:
        compile_spec: The profiles and extensions of TOSA that may be used, and the options of the compiler.
        additional_checks: Each may refuse further nodes, by `is_node_supported`.
    """

    backend_id = TOSABackend.__name__
    logger = logging.getLogger("sdk.backends.arm")

    def __init__(
        self, compile_spec: ArmCompileSpec, additional_checks: Sequence[OperatorSupportBase] | None = None
    ) -> None:
        super().__init__()
        self._options = copy.deepcopy(compile_spec)
        self._checks = tuple(additional_checks or ())
        self.prefix = self._options.get_output_format()
        self.delegation_spec = self._specification()

    def register_custom_partition_op(self, op: Any) -> None:
        """Delegates an operator that has no lowering: it becomes TOSA's CUSTOM with the operator's name. `op` is an
        overload, such as `torch.ops.mylib.scale.default`, or its counterpart in the edge dialect."""
        self._options.custom_operators.add(op.__name__ if not isinstance(op, torch._ops.OpOverload) else str(op))
        self.delegation_spec = self._specification()

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Operators that are better not decomposed, and a filter for their calls: activation functions are kept where
        their operands and results are quantised."""
        support = self.support(ep)
        return overloads([*_WHOLE, *_WHOLE_AS_INTEGERS]), lambda node: support.examine(node).refusal is None

    def support(self, program: ExportedProgram) -> TosaSupport:
        """Returns the object that decides which calls of a program TOSA gets."""
        return TosaSupport(program, self._options, self._checks)

    def _specification(self) -> DelegationSpec:
        """Raises ValueError for wrong options."""
        return DelegationSpec(self.backend_id, self._options.to_compile_specs())
