# SPDX-License-Identifier: BSD-3-Clause
"""A backend whose payload is a program of this SDK: its runtime counterpart is the runtime itself."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.program._program import EdgeProgramManager


@final
class ExecutorBackend(BackendDetails):
    """Compiles a partition with the default options of `to_executorch`."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        return PreprocessResult(EdgeProgramManager(edge_program).to_executorch().buffer, {})
