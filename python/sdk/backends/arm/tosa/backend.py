# SPDX-License-Identifier: BSD-3-Clause
"""`TOSABackend`: the payload is a partition's TOSA file. Tools read it; no runtime runs it."""

from __future__ import annotations

import itertools
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import final

from torch.export import ExportedProgram

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.tosa.compile_spec import TosaCompileSpec
from sdk.backends.arm.tosa.lower import lower
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec

logger = logging.getLogger("sdk.backends.arm")


@final
class TOSABackend(BackendDetails):
    """The compile specs come from `TosaCompileSpec`."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Raises RuntimeError for a partition that TOSA cannot express: the partitioner leaves such calls out."""
        return PreprocessResult(lower_to_file(edge_program, TosaCompileSpec.from_compile_specs(compile_specs)).file)


@dataclass(frozen=True)
class LoweredFile:
    """The TOSA file of a partition.

    Attributes:
        file: Its bytes.
        origins: For each of its operators, the debug handles of the nodes from which it was made.
        path: The path to which the file was written, if the options name a folder for intermediate files.
    """

    file: bytes
    origins: list[tuple[int, ...]]
    path: Path | None


def lower_to_file(program: ExportedProgram, spec: ArmCompileSpec, in_memory_order: bool = False) -> LoweredFile:
    """The TOSA file of a partition. `in_memory_order`: as in `lower`."""
    builder = lower(program, spec.tosa_spec, spec.custom_operators, in_memory_order)
    graph = builder.serialize(with_locations=spec.get_debug_mode() is ArmCompileSpec.DebugMode.TOSA)
    counts = builder.count()
    logger.info("TOSA: %d operators, %d of them transposes", counts.total(), counts["TRANSPOSE"])
    folder = spec.get_intermediate_path()
    if folder is None:
        return LoweredFile(graph, builder.origins(), None)
    path = _free(Path(folder), "partition", ".tosa")
    path.write_bytes(graph)
    if spec.get_debug_mode() is ArmCompileSpec.DebugMode.JSON:
        path.with_suffix(".json").write_text(json.dumps({"operators": builder.described()}, indent=1) + "\n")
    return LoweredFile(graph, builder.origins(), path)


def _free(folder: Path, name: str, suffix: str) -> Path:
    """Returns the path of a new file, and creates the folder if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    return next(
        path for path in (folder / f"{name}_{number}{suffix}" for number in itertools.count()) if not path.exists()
    )
