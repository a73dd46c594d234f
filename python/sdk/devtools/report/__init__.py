# SPDX-License-Identifier: BSD-3-Clause
"""The receipt of a lowered model: every node, where it runs, and everything that would otherwise be lost silently.

    manager = to_edge_transform_and_lower(exported, partitioner=[...]).to_executorch()
    receipt = manager.get_receipt({"forward": exported})
    print(receipt)
    receipt.raise_for_losses()

`ExportSession.get_receipt()` does the same. Partitioners give their reasons with `sdk.exir.backend.utils.refuse` (or
`WhyNoPartition`). Backends declare what they change with `sdk.exir.backend.declarations.declare_loss`.

    _rows, _losses, _operators, _receipt, _text   the receipt: its lines, how they are found, and its table
    facts                                         the contents of an emitted program
    export_result                                 the records of an export, as plain data
    summary                                       the same for the terminal
    export_report, page, plan_picture             the same as JSON, and as a page with a picture of the memory plan
"""

from __future__ import annotations

from collections.abc import Mapping

from torch.export import ExportedProgram

from sdk.devtools.report._losses import find_losses
from sdk.devtools.report._model import Loss, LossError, LossKind, MissingKernelWarning, Row, Value
from sdk.devtools.report._operators import calls_without_kernels, missing_kernels, newer_operators, runtime_operators
from sdk.devtools.report._receipt import Receipt
from sdk.devtools.report._rows import rows_of_method
from sdk.exir.program._executorch_manager import ExecutorchProgramManager

__all__ = [
    "Loss",
    "LossError",
    "LossKind",
    "MissingKernelWarning",
    "Receipt",
    "Row",
    "Value",
    "calls_without_kernels",
    "missing_kernels",
    "receipt_of",
]


def receipt_of(manager: ExecutorchProgramManager, captured: Mapping[str, ExportedProgram] | None = None) -> Receipt:
    """Makes the receipt of a manager's programs.

    With `captured`, the programs of torch.export by method name, the dtypes of each program are compared with theirs.
    Only then are downcasts found that no backend declares.
    """
    rows = [
        row for method in sorted(manager.methods) for row in rows_of_method(method, manager.exported_program(method))
    ]
    program = manager.executorch_program
    return Receipt(
        rows=tuple(rows),
        losses=tuple(find_losses(manager, rows, captured or {})),
        notes=tuple(manager._report),
        arenas={
            # Entry 0 of the sizes is reserved; memory ids start at 1.
            plan.name: {memory: size for memory, size in enumerate(plan.non_const_buffer_sizes) if memory > 0}
            for plan in program.execution_plan
        },
        kernels_checked=runtime_operators() is not None,
        newer_operators=tuple(newer_operators(program)),
    )
