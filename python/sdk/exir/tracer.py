# SPDX-License-Identifier: BSD-3-Clause
"""Values of traced graphs, and the decompositions that bring a graph to core ATen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

import torch

# The values that a node of a graph can have. Their nested parts are values, too.
Value = Union[  # noqa: UP007 - the operator cannot take forward references
    torch.Tensor,
    str,
    int,
    float,
    bool,
    complex,
    torch.dtype,
    torch.device,
    torch.memory_format,
    torch.layout,
    None,
    tuple["Value", ...],
    list["Value"],
    dict[str, "Value"],
]


def _default_decomposition_table(
    _use_old_decomp_table: bool = False,
) -> dict[torch._ops.OpOverload, Callable[..., Any]]:
    """Maps each operator to a function that computes it with core ATen operators.

    `_use_old_decomp_table` gives the smaller table of operators that have always been decomposed, for graphs captured
    before core ATen was defined.
    """
    from torch._decomp import core_aten_decompositions, get_decompositions

    if not _use_old_decomp_table:
        return dict(core_aten_decompositions())
    aten = torch.ops.aten
    return get_decompositions(
        [aten.log_sigmoid_forward, aten.ones, aten.arange.default, aten.arange.start, aten.transpose.int]
    )
