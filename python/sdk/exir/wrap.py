# SPDX-License-Identifier: BSD-3-Clause
"""Names kept for code that wraps functions for capture; `torch.export.export` needs no wrapping."""

from __future__ import annotations

from torch.fx import wrap

__all__ = ["wrap"]
