# SPDX-License-Identifier: BSD-3-Clause
"""The reference implementations of `cadence::*`, which the kernels are compared with."""

from __future__ import annotations

from typing import Any

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot.operators.registry import OPERATORS

_VENDOR_ONLY = {"roi_align_box_processor"}


def get_registered_ref_implementations() -> set[str]:
    """Returns the names of the operators that have a reference implementation; overloads follow a point."""
    return set(OPERATORS) - _VENDOR_ONLY


def __getattr__(name: str) -> Any:
    """Returns the implementation of an operator by its name, in which an underscore replaces the point before an
    overload."""
    for declared in OPERATORS.values():
        if name in (declared.name.replace(".", "_"), declared.eager.__name__):
            return declared.eager
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
