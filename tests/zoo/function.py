# SPDX-License-Identifier: BSD-3-Clause
"""A function as a module, to be exported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn


class Function(nn.Module):
    """`forward` is the function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)
