# SPDX-License-Identifier: BSD-3-Clause
"""What errors about a part of a model say: the same words as those of passes."""

from __future__ import annotations

from sdk.exir._messages import add_context, source_of

__all__ = ["add_context", "source_of"]
