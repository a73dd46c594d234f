# SPDX-License-Identifier: BSD-3-Clause
"""`expand(rows)`: makes a test method for each row of arguments, like `parameterized.expand`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def expand(rows: Iterable[Any], **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Needs the package `parameterized`, which only the test environment has."""
    from parameterized import parameterized  # type: ignore[import-not-found]

    decorator: Callable[[Callable[..., Any]], Callable[..., Any]] = parameterized.expand(list(rows), **options)
    return decorator
