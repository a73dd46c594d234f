# SPDX-License-Identifier: BSD-3-Clause
"""`receipt_of`: makes the receipt of lowered programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torch.export import ExportedProgram

from sdk.devtools.report._losses import find_losses
from sdk.devtools.report._operators import newer_operators, runtime_operators
from sdk.devtools.report._receipt import Receipt
from sdk.devtools.report._rows import rows_of_method
from sdk.exir.backend.declarations import get_notes
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from sdk.exir.program._executorch_manager import ExecutorchProgramManager


def receipt_of(manager: ExecutorchProgramManager, captured: Mapping[str, ExportedProgram] | None = None) -> Receipt:
    """Makes the receipt of a manager's programs.

    `captured` maps method names to the programs that torch.export returned; the lowered programs' dtypes are compared
    with theirs. Without it, the receipt lists only downcasts that a backend declares, and not the operators of a
    float16 program that stay in float32.
    """
    rows = [
        row for method in sorted(manager.methods) for row in rows_of_method(method, manager.exported_program(method))
    ]
    program = manager.executorch_program
    return Receipt(
        rows=tuple(rows),
        losses=tuple(find_losses(manager, rows, captured or {})),
        notes=(*manager._report, *_notes_of_captured(captured or {}), *_notes_of_backends(manager)),
        arenas={
            # Entry 0 of the sizes is reserved; memory ids start at 1.
            plan.name: {memory: size for memory, size in enumerate(plan.non_const_buffer_sizes) if memory > 0}
            for plan in program.execution_plan
        },
        kernels_checked=runtime_operators() is not None,
        newer_operators=tuple(newer_operators(program)),
    )


def _notes_of_captured(captured: Mapping[str, ExportedProgram]) -> Iterator[str]:
    """The notes on the operators that a change of dtype left in float32."""
    for method, program in captured.items():
        for what in get_notes(program.graph_module):
            yield f"{method}: {what}"


def _notes_of_backends(manager: ExecutorchProgramManager) -> Iterator[str]:
    for method in sorted(manager.methods):
        for lowered in get_lowered_backend_modules(manager.exported_program(method).graph_module):
            for what in get_notes(lowered):
                yield f"{method}: {lowered.backend_id} says: {what}"
