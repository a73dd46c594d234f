# SPDX-License-Identifier: BSD-3-Clause
"""Exports language models.

- read: `load` builds a model from a checkpoint (`checkpoint`, `gguf`), with the settings of `config`;
- quantise: `quantize` replaces layers, `quantize.pt2e` a captured graph; `dtypes` converts floats to 16 bits;
- write: `exporter` captures and lowers for the backends of the settings, and adds metadata and the `tokenizer`.

`export_llm` is the command, and `LLMEdgeManager` does the steps with any model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdk.extension.llm.export.builder import LLMEdgeManager

__all__ = ["LLMEdgeManager"]


def __getattr__(name: str) -> Any:
    """Imports `LLMEdgeManager` at its first use, because most modules of this package do not need it."""
    if name != "LLMEdgeManager":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sdk.extension.llm.export.builder import LLMEdgeManager

    return LLMEdgeManager
