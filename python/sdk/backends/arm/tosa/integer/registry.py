# SPDX-License-Identifier: BSD-3-Clause
"""The table of lowerings of quantised operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sdk.backends.arm.tosa.schema import DType

INTEGER: dict[str, Callable[..., Any]] = {}
"""By names like `aten.add.Tensor`: a function that gets an `IntegerCall` and returns the integers of the result."""

UNQUANTIZED: dict[str, DType] = {}
"""Those of the table whose results are not quantised, with the type that these have: comparisons, and positions."""


def lowers_integers(*names: str, result: DType | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Puts a function into the table. `result` is the type of results that are not quantised."""

    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert name not in INTEGER, name
            INTEGER[name] = function
            if result is not None:
                UNQUANTIZED[name] = result
        return function

    return put
