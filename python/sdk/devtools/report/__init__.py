# SPDX-License-Identifier: BSD-3-Clause
"""The receipt of a lowered model: every node, where it runs, and everything that would otherwise be lost silently.

    manager = to_edge_transform_and_lower(exported, partitioner=[...]).to_executorch()
    receipt = manager.get_receipt({"forward": exported})
    print(receipt)
    receipt.raise_for_losses()

`ExportSession.get_receipt()` does the same. Partitioners give their reasons with `sdk.exir.backend.utils.refuse` (or
`WhyNoPartition`). Backends declare losses with `sdk.exir.backend.declarations.declare_loss`, and other facts that users
should know with `declare_note`.

    _rows, _losses, _operators, _receipt, _text   the receipt: its lines, how they are found, and its table
    _receipt_of                                   the receipt of a manager's programs
    facts                                         the contents of an emitted program
    export_result                                 the records of an export, as plain data
    summary                                       the same for the terminal
    export_report, page, plan_picture             the same as JSON, and as a page with a picture of the memory plan
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdk.extras import lazily

if TYPE_CHECKING:
    from sdk.devtools.report._model import Loss as Loss
    from sdk.devtools.report._model import LossError as LossError
    from sdk.devtools.report._model import LossKind as LossKind
    from sdk.devtools.report._model import MissingKernelWarning as MissingKernelWarning
    from sdk.devtools.report._model import Row as Row
    from sdk.devtools.report._model import Value as Value
    from sdk.devtools.report._operators import calls_without_kernels as calls_without_kernels
    from sdk.devtools.report._operators import missing_kernels as missing_kernels
    from sdk.devtools.report._receipt import Receipt as Receipt
    from sdk.devtools.report._receipt_of import receipt_of as receipt_of

# `facts`, which reads files, works without PyTorch.
_PLACES = {
    **dict.fromkeys(("Loss", "LossError", "LossKind", "MissingKernelWarning", "Row", "Value"), "_model"),
    **dict.fromkeys(("calls_without_kernels", "missing_kernels"), "_operators"),
    "Receipt": "_receipt",
    "receipt_of": "_receipt_of",
}

__all__ = sorted(_PLACES)
__getattr__ = lazily(globals(), _PLACES)
