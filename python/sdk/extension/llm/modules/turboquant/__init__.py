# SPDX-License-Identifier: BSD-3-Clause
"""TurboQuant: keys and values in 4 bits (Zandieh, Daliri, Hadian and Mirrokni, arXiv 2504.19874)."""

from __future__ import annotations

from sdk.extension.llm.modules.turboquant.kv_cache import TurboQuantKVCache

__all__ = ["TurboQuantKVCache"]
