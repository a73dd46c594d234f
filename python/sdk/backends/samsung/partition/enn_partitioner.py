# SPDX-License-Identifier: BSD-3-Clause
"""`EnnPartitioner`: delegates the supported parts of a model to `EnnBackend`. The reason for every other node is in the
receipt of the export and, at the level DEBUG, in the log `sdk.backends.samsung`."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.npu.partitioner import NpuSupport
from sdk.backends.partition import SupportPartitioner
from sdk.backends.samsung.compiler import chip_of
from sdk.backends.samsung.enn_preprocess import EnnBackend
from sdk.backends.samsung.operators import LIMITS, OPERATORS, WHOLE, refusal
from sdk.backends.samsung.serialization.compile_options import gen_samsung_backend_compile_spec
from sdk.backends.transforms.constants import is_constant
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec


class EnnOperatorSupport(NpuSupport):
    """Decides which calls of a program Samsung's compiler gets."""

    def __init__(self, edge_program: ExportedProgram) -> None:
        super().__init__(edge_program, OPERATORS, LIMITS)

    def refusal(self, node: Node) -> str | None:
        reason = super().refusal(node)
        return reason if reason is not None or is_constant(self.program, node) else refusal(node, self.program)


class EnnPartitioner(SupportPartitioner):
    """Delegates the largest possible parts.

    Args:
        compile_specs: The result of `gen_samsung_backend_compile_spec`; by default for the chip E9955.

    Raises ValueError if the compile specs name no chip.
    """

    prefix = "enn"
    logger = logging.getLogger("sdk.backends.samsung")
    whole = WHOLE

    def __init__(self, compile_specs: Sequence[CompileSpec] | None = None) -> None:
        super().__init__()
        self.compile_specs = [gen_samsung_backend_compile_spec("E9955")] if compile_specs is None else [*compile_specs]
        chip_of(self.compile_specs)
        self.delegation_spec = DelegationSpec(EnnBackend.__name__, self.compile_specs)

    def support(self, program: ExportedProgram) -> EnnOperatorSupport:
        """Returns the object that decides which calls of a program Samsung's compiler gets."""
        return EnnOperatorSupport(program)
