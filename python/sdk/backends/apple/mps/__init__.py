# SPDX-License-Identifier: BSD-3-Clause
"""Metal Performance Shaders: programs for the GPU of Apple's chips, by MPSGraph."""

from __future__ import annotations

from sdk.extras import lazily

_EXPORTS = {"MPSBackend": "sdk.backends.apple.mps.mps_preprocess"}

__all__ = sorted(_EXPORTS)
__getattr__ = lazily(globals(), _EXPORTS)
