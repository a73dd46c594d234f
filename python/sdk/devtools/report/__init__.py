# SPDX-License-Identifier: BSD-3-Clause
"""The receipt of a lowered model: every node, where it runs, and everything that would otherwise be lost silently.

    manager = to_edge_transform_and_lower(exported, partitioner=[...]).to_executorch()
    receipt = manager.get_receipt({"forward": exported})
    print(receipt)
    receipt.raise_for_losses()

`ExportSession.get_receipt()` does the same. Partitioners give their reasons with `sdk.exir.backend.utils.refuse` (or
`WhyNoPartition`). Backends declare what they change with `sdk.exir.backend.declarations.declare_loss`, and what else
users should know with `declare_note`.

    _rows, _losses, _operators, _receipt, _text   the receipt: its lines, how they are found, and its table
    _receipt_of                                   the receipt of a manager's programs
    facts                                         the contents of an emitted program
    export_result                                 the records of an export, as plain data
    summary                                       the same for the terminal
    export_report, page, plan_picture             the same as JSON, and as a page with a picture of the memory plan
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sdk.extras import needing_torch

if TYPE_CHECKING:
    from sdk.devtools.report._model import Loss, LossError, LossKind, MissingKernelWarning, Row, Value
    from sdk.devtools.report._operators import calls_without_kernels, missing_kernels
    from sdk.devtools.report._receipt import Receipt
    from sdk.devtools.report._receipt_of import receipt_of

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

_OPERATORS = ("calls_without_kernels", "missing_kernels")


def __getattr__(name: str) -> Any:
    # Each name is loaded when it is used: `facts`, which reads files, works without PyTorch.
    import importlib

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    part = "_operators" if name in _OPERATORS else f"_{name.lower()}" if name in ("Receipt", "receipt_of") else "_model"
    with needing_torch(f"{__name__}.{name}"):
        value = getattr(importlib.import_module(f"{__name__}.{part}"), name)
    globals()[name] = value
    return value
