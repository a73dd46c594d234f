# SPDX-License-Identifier: BSD-3-Clause
"""The smallest backend. Its payload is fixed, and has one instruction for the whole program."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec


@final
class DemoBackend(BackendDetails):
    """Accepts everything."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        handles = [n.meta["debug_handle"] for n in edge_program.graph.nodes if "debug_handle" in n.meta]
        return PreprocessResult(b"imqnncompiled", {1: tuple(handles)})
