# SPDX-License-Identifier: BSD-3-Clause
"""Registers `moe_ops`: the matrix multiplication of a mixture of experts, which ATen has for bfloat16 only."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.library import Library


def _grouped_mm(input: Tensor, weight: Tensor, offs: Tensor) -> Tensor:
    """Rows [offs[g - 1], offs[g]) of input (s, k) times weight[g] of (groups, k, n): (s, n), with zeros in the rows
    from the last offset on. `offs` are non-decreasing integers."""
    result = input.new_zeros(input.shape[0], weight.shape[2])
    begin = 0
    for matrix, end in zip(weight, offs.tolist(), strict=True):
        result[begin:end] = input[begin:end] @ matrix
        begin = end
    return result


def _grouped_mm_meta(input: Tensor, weight: Tensor, offs: Tensor) -> Tensor:
    return input.new_empty(input.shape[0], weight.shape[2])


def _grouped_mm_out(input: Tensor, weight: Tensor, offs: Tensor, *, out: Tensor) -> Tensor:
    result = torch.ops.moe_ops.grouped_mm.default(input, weight, offs)
    return out.resize_(result.shape).copy_(result)


_lib = Library("moe_ops", "DEF")
_lib.define("grouped_mm(Tensor input, Tensor weight, Tensor offs) -> Tensor")
_lib.define("grouped_mm.out(Tensor input, Tensor weight, Tensor offs, *, Tensor(a!) out) -> Tensor(a!)")
_lib.impl("grouped_mm", _grouped_mm, "CPU")
_lib.impl("grouped_mm", _grouped_mm_meta, "Meta")
_lib.impl("grouped_mm.out", _grouped_mm_out, "CompositeExplicitAutograd")

GROUPED = {"transformers::grouped_mm_fallback": torch.ops.moe_ops.grouped_mm.default}
"""Maps operators of other libraries to the equivalent operator here: an exported model of transformers calls the
library's own."""
