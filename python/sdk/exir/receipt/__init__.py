# SPDX-License-Identifier: BSD-3-Clause
"""The earlier name of `sdk.devtools.report`."""

from __future__ import annotations

from typing import Any

from sdk.exir.hooks import hook


def __getattr__(name: str) -> Any:
    reports = hook("reports")
    if reports is None or name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(reports(), name)
