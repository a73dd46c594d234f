# SPDX-License-Identifier: BSD-3-Clause
"""Language models for Metal Performance Shaders: its settings."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MPSConfig"]


@dataclass
class MPSConfig:
    """Metal Performance Shaders."""

    enabled: bool = False
