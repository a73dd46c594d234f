# SPDX-License-Identifier: BSD-3-Clause
"""Finds modules of another package by the name of their class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn


def replace_by_name(model: nn.Module, name: str, ours: type[nn.Module], make: Callable[[Any], nn.Module]) -> nn.Module:
    """Replaces the modules inside of a model whose class has this name and is not ours. Returns the model."""
    for parent in list(model.modules()):
        for child_name, child in list(parent.named_children()):
            if type(child).__name__ == name and not isinstance(child, ours):
                setattr(parent, child_name, make(child))
    return model
