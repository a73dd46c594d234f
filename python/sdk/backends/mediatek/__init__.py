# SPDX-License-Identifier: BSD-3-Clause
"""MediaTek's NPUs, by NeuroPilot. Nothing here imports MediaTek's packages until a partition is compiled."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdk.backends.mediatek.partitioner import NeuropilotPartitioner
    from sdk.backends.mediatek.preprocess import NeuropilotBackend
    from sdk.backends.mediatek.quantizer import NeuropilotQuantizer, Precision

__all__ = ["NeuropilotBackend", "NeuropilotPartitioner", "NeuropilotQuantizer", "Precision"]

_MODULES = {"NeuropilotBackend": "preprocess", "NeuropilotPartitioner": "partitioner"}


def __getattr__(name: str) -> Any:
    """Imports a name when it is used, so that the declaration of the backend can be read without torch."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES.get(name, 'quantizer')}"), name)
