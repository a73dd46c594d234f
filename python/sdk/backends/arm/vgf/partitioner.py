# SPDX-License-Identifier: BSD-3-Clause
"""`VgfPartitioner`: delegates the parts of a model that TOSA expresses to `VgfBackend`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from torch.fx.passes.operator_support import OperatorSupportBase

from sdk.backends.arm.tosa.partitioner import TOSAPartitioner
from sdk.backends.arm.vgf.backend import VgfBackend
from sdk.backends.arm.vgf.compile_spec import VgfCompileSpec


@final
class VgfPartitioner(TOSAPartitioner):
    """A `TOSAPartitioner` whose parts become VGF files.

    Args:
        compile_spec: The options; None are the default ones.
        additional_checks: Each may refuse further nodes, by `is_node_supported`.
    """

    backend_id = VgfBackend.__name__

    def __init__(
        self,
        compile_spec: VgfCompileSpec | None = None,
        additional_checks: Sequence[OperatorSupportBase] | None = None,
    ) -> None:
        super().__init__(VgfCompileSpec() if compile_spec is None else compile_spec, additional_checks)
