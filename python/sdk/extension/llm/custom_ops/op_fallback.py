# SPDX-License-Identifier: BSD-3-Clause
"""Registers `torch.ops.llama.fallback`, a copy of its input: backends leave this call to the runtime."""

from __future__ import annotations

import torch
from torch import Tensor

from sdk.extension.llm.custom_ops._define import define


def fallback(input: Tensor) -> Tensor:
    """A copy of `input`."""
    return input.clone()


def _fallback_meta(input: Tensor) -> Tensor:
    return torch.empty_like(input)


define("fallback", "Tensor input", fallback, _fallback_meta, out="Tensor(z!) output")
