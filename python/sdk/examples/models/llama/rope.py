# SPDX-License-Identifier: BSD-3-Clause
"""Rotary position embeddings; the definitions are those of `sdk.extension.llm.model.rope`."""

from sdk.extension.llm.model.rope import Rope

__all__ = ["Rope"]
