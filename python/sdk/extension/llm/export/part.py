# SPDX-License-Identifier: BSD-3-Clause
"""A method of a multimodal program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn


@dataclass(frozen=True)
class Part:
    """A method of the program in addition to those of the decoder."""

    module: nn.Module
    inputs: tuple[Tensor, ...]
    sizes: dict[int, Any] | None = None
    """Dynamic sizes of the first input."""
