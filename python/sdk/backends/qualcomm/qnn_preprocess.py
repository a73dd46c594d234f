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
        given = [_checked_options(compile_specs)]
        return PreprocessResult(compose(COMPILER.answer(edge_program, given, wants_reference(compile_specs))))

    @classmethod
    def preprocess_multimethod(
        cls, edge_programs: dict[str, list[ExportedProgram]], compile_specs: dict[str, list[list[CompileSpec]]]
    ) -> dict[str, list[PreprocessResult]]:
        """Compiles the partitions of all methods. If their options have `use_weight_sharing`, the first partitions of
        all methods are one payload with a graph for each method, and so on.

        Raises ValueError if methods that share weights have different options or numbers of partitions.
        """
        specs = [each for found in compile_specs.values() for each in found]
        if len(edge_programs) < 2 or not any(map(_shares_weights, specs)):
            return super().preprocess_multimethod(edge_programs, compile_specs)
        options = {_checked_options(each) for each in specs}
        if len(options) > 1:
            raise ValueError("use_weight_sharing is True for a method, and the methods have different options")
        counts = {method: len(programs) for method, programs in edge_programs.items()}
        if len(set(counts.values())) > 1:
            raise ValueError(
                f"use_weight_sharing is True, and the methods have different numbers of partitions: "
                f"{', '.join(f'{method} {count}' for method, count in counts.items())}. Keep the same calls of all "
                f"methods on kernels (skip_node_id_set, skip_node_op_set), or do not share weights"
            )
        results: dict[str, list[PreprocessResult]] = {method: [] for method in edge_programs}
        for together in zip(*edge_programs.values(), strict=True):
            programs = dict(zip(edge_programs, together, strict=True))
            binary = COMPILER.answer_together(programs, list(options), wants_reference(specs[0]))
            for found in results.values():
                found.append(PreprocessResult(compose(binary)))
        return results


def _checked_options(compile_specs: list[CompileSpec]) -> str:
    """The options in hexadecimal digits. Raises ValueError for those that this version does not support."""
    if options_of(compile_specs).is_from_context_binary:
        raise ValueError("is_from_context_binary is True: this version makes no programs of context binaries")
    return generate_qnn_executorch_option(compile_specs).hex()


def _shares_weights(compile_specs: list[CompileSpec]) -> bool:
    given = options_of(compile_specs).backend_options
    return any(each is not None and each.use_weight_sharing for each in (given.htp_options, given.gpu_options))
