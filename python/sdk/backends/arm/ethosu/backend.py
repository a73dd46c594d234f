# SPDX-License-Identifier: BSD-3-Clause
"""`EthosUBackend`: compiles one partition to a command stream of an Ethos-U, by TOSA and Arm's compiler Vela."""

from __future__ import annotations

import logging
from typing import final

from torch.export import ExportedProgram

from sdk.backends.arm.ethosu.compile_spec import EthosUCompileSpec
from sdk.backends.arm.ethosu.vela import compile_graph
from sdk.backends.arm.tosa.backend import lower_to_file
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec

logger = logging.getLogger("sdk.backends.arm")


@final
class EthosUBackend(BackendDetails):
    """The payload is that of `sdk.backends.arm.ethosu.stream`. Compile specs are those of `EthosUCompileSpec`."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Raises RuntimeError if Vela is missing or refuses the partition. The memory that the partition uses is logged
        at the level INFO."""
        spec = EthosUCompileSpec.from_compile_specs(compile_specs)
        graph, written = lower_to_file(edge_program, spec, in_memory_order=True)
        compiled = compile_graph(graph, spec.compiler_flags)
        logger.info("%s: %s", spec.target, compiled.memory)
        if written is not None:
            written.with_suffix(".npz").write_bytes(compiled.archive)
            written.with_suffix(".txt").write_text(compiled.report, encoding="utf-8")
        return PreprocessResult(compiled.stream.to_bytes())
