# SPDX-License-Identifier: BSD-3-Clause
"""Converts models to 16-bit floats (`model.dtype_override`)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.extension.llm.export.config.llm_config import DtypeOverride
from sdk.extension.llm.export.quantize.low_bit import PackedEmbedding

DTYPES = {
    DtypeOverride.fp32: torch.float32,
    DtypeOverride.fp16: torch.float16,
    DtypeOverride.bf16: torch.bfloat16,
}


def change_dtype(model: nn.Module, dtype: torch.dtype) -> None:
    """Gives the weights, the activations, the caches and the logits of a model another dtype of floats.

    What stays in float32: the sines and cosines of RoPE, whose angles 16 bits do not hold; the arithmetic of norms,
    whose weights and results are rounded; the scales of quantised weights and caches. Shared weights stay shared.
    """
    changed: dict[int, nn.Parameter] = {}
    for module in model.modules():
        for name, weight in module.named_parameters(recurse=False):
            if weight.is_floating_point():
                if id(weight) not in changed:
                    changed[id(weight)] = nn.Parameter(weight.to(dtype), requires_grad=False)
                setattr(module, name, changed[id(weight)])
        for name, buffer in module.named_buffers(recurse=False):
            if _is_cache(module, name, buffer):
                setattr(module, name, buffer.to(dtype))
        if isinstance(module, PackedEmbedding):
            module.dtype = dtype


def _is_cache(module: nn.Module, name: str, buffer: Tensor) -> bool:
    """Whether a buffer holds activations of earlier tokens; tables are not part of the state."""
    is_state = name not in module._non_persistent_buffers_set and not name.endswith("_scales")
    return is_state and buffer.is_floating_point()
