# SPDX-License-Identifier: BSD-3-Clause
"""`EthosUBackend`: compiles one partition to a command stream of an Ethos-U, by TOSA and Arm's compiler Vela."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import final

from torch.export import ExportedProgram

from sdk.backends.arm.ethosu.compile_spec import EthosUCompileSpec
from sdk.backends.arm.ethosu.vela import compile_graph
from sdk.backends.arm.tosa.backend import lower_to_file
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.declarations import declare_note

logger = logging.getLogger("sdk.backends.arm")


@final
class EthosUBackend(BackendDetails):
    """Payloads have the format of `sdk.backends.arm.ethosu.stream`. Compile specs come from `EthosUCompileSpec`. The
    runtime's events carry the numbers of commands, which debug handles map to nodes of the model."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Raises RuntimeError if Vela is missing or refuses the partition. The memory and the cycles of the
        partition are logged at the level INFO and noted in the receipt."""
        spec = EthosUCompileSpec.from_compile_specs(compile_specs)
        lowered = lower_to_file(edge_program, spec, in_memory_order=True)
        compiled = compile_graph(lowered.file, spec.compiler_flags)
        summary = f"{spec.target}: {compiled.memory}, {compiled.timing.cycles} cycles at {compiled.timing.clock} Hz"
        logger.info("%s", summary)
        declare_note(summary)
        if lowered.path is not None:
            lowered.path.with_suffix(".npz").write_bytes(compiled.archive)
            lowered.path.with_suffix(".txt").write_text(compiled.report, encoding="utf-8")
        stream = replace(compiled.stream, timing=compiled.timing) if spec.stores_cycles else compiled.stream
        handles = {
            number: () if source is None else lowered.origins[source] for number, source in enumerate(compiled.sources)
        }
        return PreprocessResult(stream.to_bytes(), debug_handle_map=handles)
