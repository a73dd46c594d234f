# SPDX-License-Identifier: BSD-3-Clause
"""Markers of the API life cycle: `@experimental("...")` and `@deprecated("...")` warn when the marked function or class
is used.

The message of a deprecation names the replacement and the earliest version that may remove the old name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import deprecated

__all__ = ["ExperimentalWarning", "deprecated", "experimental"]


class ExperimentalWarning(DeprecationWarning):
    """An API that may change or be removed without notice."""

    def __init__(self, /, *args: Sequence[Any], **kwargs: dict[str, Any]) -> None:
        super().__init__(*args, **kwargs)


class experimental(deprecated):  # noqa: N801 (public name, spelled like `deprecated`)
    """Decorator for classes, functions and overloads that are experimental."""

    def __init__(
        self, message: str, /, *, category: type[Warning] | None = ExperimentalWarning, stacklevel: int = 1
    ) -> None:
        super().__init__(message, category=category, stacklevel=stacklevel)
