# SPDX-License-Identifier: BSD-3-Clause
"""Corrects passes of coremltools that would change the results of some quantised programs."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def register() -> None:
    """Replaces the passes in coremltools' registry, in this process."""
    from sdk.backends.apple.coreml._coremltools import coremltools

    coremltools()
    from coremltools.converters.mil.mil.passes.defs import optimize_quantization as original
    from coremltools.converters.mil.mil.passes.pass_registry import register_pass

    @register_pass(namespace="common", override=True)
    class int_op_canonicalization(original.int_op_canonicalization):  # noqa: N801 -- the name of the pass
        """Moves a reshape from floats to integers, but only if both sides have the same scale and zero point."""

        def match_pattern(self, op: Any) -> Any:
            matched = super().match_pattern(op)
            return matched if matched is not None and _undoes(*matched) else None

    @register_pass(namespace="common", override=True)
    class dequantize_quantize_pair_elimination(original.dequantize_quantize_pair_elimination):  # noqa: N801
        """Removes a dequantize and the quantize after it, unless their dtypes saturate at different bounds."""

        @staticmethod
        def try_dequantize_quantize_pair_elimination(op: Any) -> bool:
            followers = op.outputs[0].child_ops if op.op_type == "dequantize" else []
            if any(f.op_type == "quantize" and f.outputs[0].dtype != op.input.dtype for f in followers):
                return False
            found = original.dequantize_quantize_pair_elimination.try_dequantize_quantize_pair_elimination(op)
            return bool(found)


def _undoes(dequantize: Any, quantize: Any) -> bool:
    """Whether both use the same single scale and zero point. A reshape would have to move the parameters of an axis
    with the axis."""
    if dequantize.input.dtype != quantize.outputs[0].dtype:
        return False
    parameters = []
    for op in (dequantize, quantize):
        values = (op.scale.val, 0 if op.zero_point is None else op.zero_point.val)
        if any(getattr(value, "size", 1) != 1 for value in values):
            return False
        parameters.append(tuple(float(value) for value in values))
    return parameters[0] == parameters[1]
