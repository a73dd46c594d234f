# SPDX-License-Identifier: BSD-3-Clause
"""`NeuropilotPartitioner`: delegates the supported parts of a model to `NeuropilotBackend`. The reason for every other
node is in the receipt of the export and, at the level DEBUG, in the log `sdk.backends.mediatek`."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import final

from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.mediatek.compiler import PLATFORM, check_specs, converter_takes
from sdk.backends.mediatek.operators import LIMITS, OPERATORS, WHOLE
from sdk.backends.mediatek.preprocess import NeuropilotBackend
from sdk.backends.npu.partitioner import NpuSupport
from sdk.backends.partition import Skipped, SupportPartitioner
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec

_DEFAULT = (CompileSpec(PLATFORM, b"mt6989"),)


class NeuropilotOperatorsSupport(NpuSupport):
    """Decides which calls of a program MediaTek gets: the calls that its converter supports if it is installed, and
    otherwise those in the table."""

    def __init__(
        self,
        program: ExportedProgram,
        op_types_to_skip: Collection[str] | None = None,
        op_names_to_skip: Collection[str] | None = None,
    ) -> None:
        super().__init__(program, OPERATORS, LIMITS, Skipped(op_types_to_skip, op_names_to_skip))
        self._converter_takes = converter_takes()

    def refusal(self, node: Node) -> str | None:
        reason = super().refusal(node)
        if reason is None and self._converter_takes is not None and not self._converter_takes(node):
            return "MediaTek's converter does not take it"
        return reason


@final
class NeuropilotPartitioner(SupportPartitioner):
    """Delegates the largest possible parts.

    Args:
        compile_spec: `CompileSpec("platform-config", b"mt6989")`, the default, or another platform of
            `sdk.backends.mediatek.compiler.SUPPORTED_PLATFORM_CONFIGS`, and options of MediaTek's compiler by their
            names.
        op_types_to_skip: Names of operators that stay on kernels, for example `"aten.add.Tensor"`.
        op_names_to_skip: Names of nodes that stay on kernels.

    Raises:
        RuntimeError: a key is given twice, or no platform.
        ValueError: the platform is unknown.
    """

    prefix = "tag"
    logger = logging.getLogger("sdk.backends.mediatek")
    whole = WHOLE

    def __init__(
        self,
        compile_spec: Sequence[CompileSpec] = _DEFAULT,
        op_types_to_skip: Collection[str] | None = None,
        op_names_to_skip: Collection[str] | None = None,
    ) -> None:
        super().__init__()
        check_specs(compile_spec)
        self.delegation_spec = DelegationSpec(NeuropilotBackend.__name__, list(compile_spec))
        self._types, self._names = op_types_to_skip, op_names_to_skip

    def support(self, program: ExportedProgram) -> NeuropilotOperatorsSupport:
        """Returns the object that decides which calls of a program MediaTek gets."""
        return NeuropilotOperatorsSupport(program, self._types, self._names)
