# SPDX-License-Identifier: BSD-3-Clause
"""Computes the scratch memory that a call needs. The memory planner places it."""

from __future__ import annotations

from typing import Any

from torch.fx import Node

from sdk.backends.cortex_m.library.cmsis_nn import Backend

_SCRATCH = ("scratch", "output_scratch")


def required_cmsis_nn_buffer_sizes(node: Node, backend: Backend) -> list[int] | None:
    """The bytes of each scratch argument, the last arguments of a call; None for operators without. The kernels of this
    SDK read the operands directly, and need no scratch memory."""
    schema: Any = getattr(node.target, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema is not None else []
    return [0] * sum(name in _SCRATCH for name in names) or None
