# SPDX-License-Identifier: BSD-3-Clause
"""`--report FILE.json` and `--report FILE.html`: everything that is known about one export."""

from __future__ import annotations

import json
import math
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import sdk
from sdk.devtools.report.export_result import ExportResult
from sdk.devtools.report.facts import MethodFacts
from sdk.devtools.report.page import page
from sdk.exir._serialize._files import write_atomically

FORMAT = 1
"""Incremented when a field of the JSON changes its meaning or is removed; new fields do not change it."""


def write_report(result: ExportResult, path: Path) -> None:
    """Writes `path` as JSON or HTML, depending on its suffix."""
    content = page(result, report(result)) if path.suffix == ".html" else json.dumps(report(result), indent=2) + "\n"
    write_atomically(path, content)


def report(result: ExportResult) -> dict[str, Any]:
    """The report as plain data. Sizes are bytes, times are seconds of wall clock."""
    return {
        "report_format": FORMAT,
        "made_with": {"sdk": sdk.__version__, "torch": torch.__version__, "python": platform.python_version()},
        "model": {
            "name": result.model,
            "inputs": result.inputs,
            "dynamic": result.dynamic,
        },
        "program": {
            "file": str(result.output),
            "bytes": result.program_bytes,
            "weights_file": None if result.weights is None else str(result.weights),
            "weights_file_bytes": result.weights_file_bytes,
            "weight_bytes": result.facts.weight_bytes,
        },
        "recipe": result.recipe,
        "backends": result.backends,
        "stages": [{"name": s.name, "detail": s.detail, "seconds": round(s.seconds, 4)} for s in result.stages],
        "methods": [_method(method) for method in result.facts.methods],
        "verification": {
            "done": result.verify and not result.unverified,
            "runs": [
                {
                    "method": comparison.method,
                    "label": comparison.label,
                    "inputs": comparison.inputs,
                    "calls": comparison.calls,
                    "runtime_seconds": comparison.seconds,
                    "outputs": [_finite(asdict(output)) for output in comparison.outputs],
                }
                for comparison in result.comparisons
            ],
        },
        "timings": [
            {"method": timing.method, "program_seconds": timing.program, "eager_seconds": timing.eager}
            for timing in result.timings
        ],
        "warnings": result.warnings,
        "notes": result.notes,
        "receipt": result.receipt.to_dict(),
    }


def _method(method: MethodFacts) -> dict[str, Any]:
    return {
        "name": method.name,
        "inputs": method.inputs,
        "outputs": method.outputs,
        "instructions": method.instructions,
        "arena_bytes": {str(memory_id): size for memory_id, size in method.arenas.items()},
        "operators": dict(method.operators.most_common()),
        "delegates": dict(method.delegates.most_common()),
        "planned_tensors": [asdict(tensor) for tensor in method.tensors],
    }


def _finite(fields: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity."""
    return {k: (str(v) if isinstance(v, float) and not math.isfinite(v) else v) for k, v in fields.items()}
