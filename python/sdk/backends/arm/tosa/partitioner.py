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
from sdk.backends.arm.tosa.support import TosaSupport, is_copied
from sdk.backends.partition import delegate
from sdk.backends.transforms.constants import is_shared, settled
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import WhyNoPartition

logger = logging.getLogger("sdk.backends.arm")

_aten = torch.ops.aten
_WHOLE = [_aten.linear.default, _aten.upsample_bilinear2d.vec, _aten.upsample_nearest2d.vec]
# Not decomposed where they are quantised.
_WHOLE_AS_INTEGERS = [
    getattr(_aten, name).default
    for name in (
        *("celu", "hardsigmoid", "hardswish", "mish", "selu", "silu", "softplus"),
        *("rms_norm", "_safe_softmax", "linalg_vector_norm"),
    )
]


class TOSAPartitioner(Partitioner):
    """Delegates the largest parts that TOSA expresses.

    Args:
        compile_spec: What of TOSA may be used, and the options of what follows.
        additional_checks: Each may refuse further nodes, by `is_node_supported`.
    """

    backend_id = TOSABackend.__name__

    def __init__(
        self, compile_spec: ArmCompileSpec, additional_checks: Sequence[OperatorSupportBase] | None = None
    ) -> None:
        super().__init__()
        self._options = copy.deepcopy(compile_spec)
        self._options.to_compile_specs()  # so that wrong options are an error here
        self._checks = tuple(additional_checks or ())

    def register_custom_partition_op(self, op: Any) -> None:
        """Takes an operator that has no lowering: it becomes TOSA's CUSTOM, with its name. `op` is an overload, such as
        `torch.ops.mylib.scale.default`, or that of the edge dialect."""
        self._options.custom_operators.add(op.__name__ if not isinstance(op, torch._ops.OpOverload) else str(op))

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Operators that are better not decomposed, and a filter for their calls: activation functions are kept where
        their operands and results are quantised."""
        support = TosaSupport(ep, self._options, self._checks)
        return [*_WHOLE, *_WHOLE_AS_INTEGERS], lambda node: support.examine(node).refusal is None

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes that TOSA gets."""
        with settled(exported_program):
            return delegate(
                exported_program,
                TosaSupport(exported_program, self._options, self._checks),
                DelegationSpec(self.backend_id, self._options.to_compile_specs()),
                self._options.get_output_format(),
                WhyNoPartition(logger),
                lambda constant: is_copied(constant) or is_shared(exported_program, constant),
            )
