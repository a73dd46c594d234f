# SPDX-License-Identifier: BSD-3-Clause
"""Scratch tensors that an out variant requires in addition to its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch


class ScratchTensorMetadata(NamedTuple):
    """A tensor that a kernel needs while it runs."""

    dtype: torch.dtype
    shape: torch.Size
    layout: torch.layout = torch.strided
    device: torch.device = torch.device("cpu")
    is_sparse: bool = False


GetScratchMetas = Callable[..., "dict[str, ScratchTensorMetadata]"]


def attach_get_scratch_metas_fn(out_variant: torch._ops.OpOverload) -> Callable[[GetScratchMetas], GetScratchMetas]:
    """Decorator for a function that takes the arguments of a call of `out_variant` and returns the scratch tensors that
    the call needs, by argument name."""

    def decorate(get_scratch_metas: GetScratchMetas) -> GetScratchMetas:
        out_variant.get_scratch_metas = get_scratch_metas
        return get_scratch_metas

    return decorate


def scratch_argument_names(op: torch._ops.OpOverload) -> Sequence[str]:
    """Out arguments of an operator that are not results."""
    results = {name for r in op._schema.returns if r.alias_info is not None for name in r.alias_info.before_set}
    return [a.name for a in op._schema.arguments if a.is_out and not (a.alias_info.before_set & results)]
