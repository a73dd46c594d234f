# SPDX-License-Identifier: BSD-3-Clause
"""The table of lowerings of quantised operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

INTEGER: dict[str, Callable[..., Any]] = {}
"""By names like `aten.add.Tensor`: a function that gets an `IntegerCall` and returns the integers of the result."""

PREDICATES: set[str] = set()
"""Those of the table whose results are bool, which is not quantised."""


def lowers_integers(*names: str, is_bool: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Puts a function into the table."""

    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert name not in INTEGER, name
            INTEGER[name] = function
            if is_bool:
                PREDICATES.add(name)
        return function

    return put
