# SPDX-License-Identifier: BSD-3-Clause
"""Custom operators that write to their arguments, for example to update a cache in place.

In a functional graph, a call of `auto_functionalized_v2(op, ..., _all_bases=[...])` replaces them, which returns the
results of `op` and then the new value of each base.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch


def is_custom_mutation(op: torch._ops.OpOverload) -> bool:
    """Whether `op` writes to arguments and is neither PyTorch's own, nor an in-place form, nor an out variant."""
    schema = op._schema
    if op.namespace in ("aten", "prims", "prim") or not schema.is_mutable or any(a.is_out for a in schema.arguments):
        return False
    return all(r.alias_info is None for r in schema.returns)


def mutated_names(op: torch._ops.OpOverload) -> list[str]:
    """The arguments that `op` writes to, in order."""
    return [a.name for a in op._schema.arguments if a.alias_info is not None and a.alias_info.is_write]


def bound_arguments(op: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Every argument of a call by its name, with the schema's defaults."""
    positional = [a.name for a in op._schema.arguments if not a.kwarg_only]
    bound = {**dict(zip(positional, args, strict=False)), **kwargs}
    return {a.name: bound.get(a.name, a.default_value) for a in op._schema.arguments}
