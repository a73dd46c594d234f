# SPDX-License-Identifier: BSD-3-Clause
"""Metal Performance Shaders: programs for the GPU of Apple's chips, by MPSGraph."""

from __future__ import annotations

from typing import Any

__all__ = ["MPSBackend"]


def __getattr__(name: str) -> Any:
    # Imported when it is used: declarations of backends are read without torch.
    if name == "MPSBackend":
        from sdk.backends.apple.mps.mps_preprocess import MPSBackend

        return MPSBackend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
