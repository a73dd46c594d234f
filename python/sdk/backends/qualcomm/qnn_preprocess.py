# SPDX-License-Identifier: BSD-3-Clause
"""`QnnBackend`: compiles partitions for QNN. A payload is a header and a context binary
(`sdk.backends.qualcomm.qnn.payload`)."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from sdk.backends.npu.compiler import wants_reference
from sdk.backends.qualcomm.partition.utils import generate_qnn_executorch_option, options_of
from sdk.backends.qualcomm.qnn.compiler import COMPILER, GRAPH_NAME
from sdk.backends.qualcomm.qnn.payload import compose
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec

__all__ = ["DEFAULT_GRAPH_NAME", "QnnBackend"]

DEFAULT_GRAPH_NAME = GRAPH_NAME


@final
class QnnBackend(BackendDetails):
    """Compile specs: that of `generate_qnn_executorch_compiler_spec` (required), and `reference-payload`."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Raises CompilerNotInstalledError if Qualcomm's compiler is missing and no reference payload is requested, and
        ValueError for compile specs of another backend."""
        options = options_of(compile_specs)
        if options.is_from_context_binary:
            raise ValueError("is_from_context_binary is True: this version makes no programs of context binaries")
        given = generate_qnn_executorch_option(compile_specs).hex()
        return PreprocessResult(compose(COMPILER.answer(edge_program, [given], wants_reference(compile_specs))))
