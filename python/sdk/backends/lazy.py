# SPDX-License-Identifier: BSD-3-Clause
"""Names of a package that are imported when they are first used, so that importing the package needs little."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazily(namespace: dict[str, Any], places: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module with the given globals. `places` has the module of each name."""

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        namespace[name] = getattr(importlib.import_module(places[name]), name)
        return namespace[name]

    return find
