# SPDX-License-Identifier: BSD-3-Clause
"""Turns planned graphs into programs."""

from __future__ import annotations

from sdk.exir.emit._emit_program import EmitterOutput, emit_program

__all__ = ["EmitterOutput", "emit_program"]
