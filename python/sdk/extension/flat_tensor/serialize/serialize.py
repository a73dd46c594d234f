# SPDX-License-Identifier: BSD-3-Clause
"""The `.ptd` container, which the compiler writes too: see `sdk.exir._serialize._flat_tensor`."""

from __future__ import annotations

from sdk.exir._serialize._flat_tensor import (
    _FLATBUFFER_ALIGNMENT,
    FlatTensorConfig,
    FlatTensorHeader,
    FlatTensorSerializer,
    _deserialize_to_flat_tensor,
    _get_extended_header,
)

__all__ = [
    "_FLATBUFFER_ALIGNMENT",
    "FlatTensorConfig",
    "FlatTensorHeader",
    "FlatTensorSerializer",
    "_deserialize_to_flat_tensor",
    "_get_extended_header",
]
