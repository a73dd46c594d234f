# SPDX-License-Identifier: BSD-3-Clause
"""Operators that coremltools' converter lacks or converts wrongly, and that Core ML can compute."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def register() -> None:
    """Adds the operators to coremltools' registry, in this process."""
    from sdk.backends.apple.coreml._coremltools import coremltools

    coremltools()
    from coremltools.converters.mil.frontend.torch.ops import _get_inputs
    from coremltools.converters.mil.frontend.torch.torch_op_registry import _TORCH_OPS_REGISTRY, register_torch_op
    from coremltools.converters.mil.mil import Builder as mb  # noqa: N813 -- the name in coremltools' documents
    from coremltools.converters.mil.mil import types

    def floats(context: Any, node: Any) -> Any:
        (x,) = _get_inputs(context, node, expected=1)
        return x if types.is_float(x.dtype) else mb.cast(x=x, dtype="fp32")

    @register_torch_op(override=True)
    def trunc(context: Any, node: Any) -> None:
        (x,) = _get_inputs(context, node, expected=1)
        if types.is_float(x.dtype):
            x = mb.mul(x=mb.sign(x=x), y=mb.floor(x=mb.abs(x=x)))
        context.add(mb.identity(x=x, name=node.name))

    @register_torch_op(override=True)
    def asinh(context: Any, node: Any) -> None:
        # sign(x) log(|x| + sqrt(x^2 + 1)) keeps the digits of small and of negative x.
        x = floats(context, node)
        size = mb.abs(x=x)
        root = mb.sqrt(x=mb.add(x=mb.square(x=x), y=1.0))
        context.add(mb.mul(x=mb.sign(x=x), y=mb.log(x=mb.add(x=size, y=root)), name=node.name))

    @register_torch_op(override=True)
    def acosh(context: Any, node: Any) -> None:
        x = floats(context, node)
        root = mb.sqrt(x=mb.sub(x=mb.square(x=x), y=1.0))
        context.add(mb.log(x=mb.add(x=x, y=root), name=node.name))

    @register_torch_op(override=True)
    def reciprocal(context: Any, node: Any) -> None:
        # coremltools takes the operation `inverse`, which adds 0.0001 to x.
        context.add(mb.real_div(x=1.0, y=floats(context, node), name=node.name))

    pool = _TORCH_OPS_REGISTRY.get_func("max_pool2d_with_indices")

    @register_torch_op(override=True)
    def max_pool2d_with_indices(context: Any, node: Any) -> None:
        # coremltools expects all arguments; an exported graph leaves out those that have their default.
        defaults = (node.inputs[1], (0, 0), (1, 1), False)
        given = [*node.inputs, *defaults[len(node.inputs) - 2 :]]
        node.inputs = [given[0], given[1], given[2] or given[1], *given[3:]]
        pool(context, node)
