# SPDX-License-Identifier: BSD-3-Clause
"""Functions that other packages of the SDK provide for the compiler, which imports none of them.

A package `sdk.NAME` provides a function by defining it in `sdk/NAME/exir_hooks.py`. The compiler looks for

    receipt_of(manager, captured)           the receipt that `ExecutorchProgramManager.get_receipt` returns
    warn_of_missing_kernels(program)        called with the schema's program before it is first written
    reports()                               the module that was `sdk.exir.receipt`

and works without them: no receipts, no warning.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import sdk

_FILE = "exir_hooks.py"


@cache
def hook(name: str) -> Callable[..., Any] | None:
    """The function of that name in the first package, in alphabetical order, that defines it; None if none does."""
    packages = {file.parent.name for folder in sdk.__path__ for file in Path(folder).glob(f"*/{_FILE}")}
    for package in sorted(packages):
        found = getattr(importlib.import_module(f"sdk.{package}.{Path(_FILE).stem}"), name, None)
        if found is not None:
            return found
    return None
