# SPDX-License-Identifier: BSD-3-Clause
"""Functions of this package that the compiler calls: see `sdk.exir.hooks`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from torch.export import ExportedProgram

from sdk.devtools import report
from sdk.devtools.report import MissingKernelWarning, Receipt, missing_kernels


def receipt_of(manager: Any, captured: Mapping[str, ExportedProgram] | None) -> Receipt:
    """The receipt of a manager's programs."""
    return report.receipt_of(manager, captured)


def warn_of_missing_kernels(program: Any) -> None:
    """Warns if the runtime of this process has no kernel for an operator of the program."""
    missing = ", ".join(sorted({name for _, name in missing_kernels(program)}))
    if missing:
        warnings.warn(
            f"The runtime has no kernel of {missing} and will refuse to load this program. Load the library that has "
            f"them before you export, or ignore this MissingKernelWarning where the program runs with kernels of your "
            f"own.",
            MissingKernelWarning,
            stacklevel=4,  # attributes the warning to the caller of the method that writes or returns the bytes
        )


def reports() -> ModuleType:
    """`sdk.devtools.report`."""
    return report
