# SPDX-License-Identifier: BSD-3-Clause
"""`EnnBackend`: compiles partitions for Samsung's NPUs. A payload is the output of Samsung's compiler."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from sdk.backends.npu.compiler import wants_reference
from sdk.backends.samsung.compiler import COMPILER, chip_of
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec

__all__ = ["EnnBackend"]


@final
class EnnBackend(BackendDetails):
    """Takes the compile spec of `gen_samsung_backend_compile_spec` (required), and `reference-payload`."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Raises CompilerNotInstalledError if Samsung's compiler is missing and no reference payload is requested, and
        ValueError if the compile specs name no chip."""
        chip = chip_of(compile_specs)
        return PreprocessResult(COMPILER.answer(edge_program, [chip.name], wants_reference(compile_specs)))
