# SPDX-License-Identifier: BSD-3-Clause
"""Calls that coremltools converts to something that computes another result than PyTorch: they stay outside."""

from __future__ import annotations

from torch.fx import Node

_WRONG = {
    "aten.clamp.Tensor": "where the lower bound is above the upper one, coremltools' program gives the lower one",
    "aten.diagonal_copy.default": "coremltools' program returns the whole matrix",
    "aten.diagonal.default": "coremltools' program returns the whole matrix",
}


def refusal_by_rule(name: str, node: Node) -> str | None:
    """Why a call must not be converted; None if nothing is known against it."""
    return _WRONG.get(name)
