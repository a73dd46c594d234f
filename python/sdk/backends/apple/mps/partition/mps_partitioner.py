# SPDX-License-Identifier: BSD-3-Clause
"""`MPSPartitioner`: delegates the supported parts of a model to `MPSBackend`. The reason for every other node is in the
receipt of the export and, at the level DEBUG, in the log `sdk.backends.apple.mps.partition`."""

from __future__ import annotations

import logging

from torch.export import ExportedProgram

from sdk.backends.apple.mps.mps_preprocess import MPSBackend, use_fp16_of
from sdk.backends.apple.mps.partition.support import MPSSupport
from sdk.backends.partition import SupportPartitioner
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec


class MPSPartitioner(SupportPartitioner):
    """Delegates the largest possible parts.

    Args:
        compile_specs: Options for MPS: `CompileSpec("use_fp16", bytes([True]))`, which is the default.

    Raises:
        ValueError: an option is unknown or has another value.
    """

    prefix = "mps"
    logger = logging.getLogger("sdk.backends.apple.mps.partition")

    def __init__(self, compile_specs: list[CompileSpec] | None = None) -> None:
        super().__init__()
        self.compile_specs = [CompileSpec("use_fp16", b"\1")] if compile_specs is None else list(compile_specs)
        self._use_fp16 = use_fp16_of(self.compile_specs)
        self.delegation_spec = DelegationSpec(MPSBackend.__name__, self.compile_specs)

    def support(self, program: ExportedProgram) -> MPSSupport:
        """Returns the object that decides which calls of a program MPS gets."""
        return MPSSupport(program, self._use_fp16)
