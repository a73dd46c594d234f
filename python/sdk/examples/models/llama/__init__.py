# SPDX-License-Identifier: BSD-3-Clause
"""Language models under ExecuTorch's names; `sdk.extension.llm` defines them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdk.examples.models.llama.model import Llama2Model

__all__ = ["Llama2Model"]


def __getattr__(name: str) -> Any:
    """Imports `Llama2Model` at its first use, because the modules of this package do not need it."""
    if name != "Llama2Model":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sdk.examples.models.llama.model import Llama2Model

    return Llama2Model
