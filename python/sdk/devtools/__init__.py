# SPDX-License-Identifier: BSD-3-Clause
"""Tools that inspect programs and their runs."""

from __future__ import annotations

from typing import Any

_WHERE = {
    "BundledProgram": "sdk.devtools.bundled_program.core",
    "ETRecord": "sdk.devtools.etrecord",
    "Inspector": "sdk.devtools.inspector",
    "generate_etrecord": "sdk.devtools.etrecord",
    "parse_etrecord": "sdk.devtools.etrecord",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    from sdk.extras import needing_torch

    with needing_torch(f"{__name__}.{name}"):
        return getattr(importlib.import_module(_WHERE[name]), name)
