# SPDX-License-Identifier: BSD-3-Clause
"""Context of errors in backends, in the form that errors in passes have."""

from __future__ import annotations

from sdk.exir._messages import add_context, source_of

__all__ = ["add_context", "source_of"]
