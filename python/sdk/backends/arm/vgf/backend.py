# SPDX-License-Identifier: BSD-3-Clause
"""`VgfBackend`: compiles one partition to a VGF file."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from sdk.backends.arm.tosa.backend import lower_to_file
from sdk.backends.arm.vgf.compile_spec import VgfCompileSpec
from sdk.backends.arm.vgf.model_converter import convert
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec


@final
class VgfBackend(BackendDetails):
    """Payloads are VGF files: SPIR-V modules, constants, and the order in which the modules run. Compile specs
    come from `VgfCompileSpec`."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Raises RuntimeError if the model converter is missing or refuses the partition."""
        spec = VgfCompileSpec.from_compile_specs(compile_specs)
        lowered = lower_to_file(edge_program, spec, in_memory_order=True)
        file = convert(lowered.file, spec.compiler_flags)
        if lowered.path is not None:
            lowered.path.with_suffix(".vgf").write_bytes(file)
        return PreprocessResult(file)
