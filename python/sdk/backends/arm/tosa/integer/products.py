# SPDX-License-Identifier: BSD-3-Clause
"""Integer convolutions, linear layers and matrix multiplications: the sums are exact and rescaled once."""

from __future__ import annotations

import math

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.integer.registry import lowers_integers
from sdk.backends.arm.tosa.lowering.call import Placed
from sdk.backends.arm.tosa.lowering.convolution import convolution_sums, convolved
from sdk.backends.arm.tosa.lowering.reductions import running_sums
from sdk.backends.arm.tosa.schema import DType


def _check_weight(call: IntegerCall, axis: int) -> None:
    weight = call.parameters("weight")
    if weight.dtype != DType.INT8 or weight.zero_point:
        raise UnsupportedError("its weight is not symmetric int8")
    if weight.scales.size > 1 and weight.axis != axis:
        raise UnsupportedError("the scales of its weight are not those of the output channels")


@lowers_integers("aten.convolution.default")
def convolution(call: IntegerCall) -> Placed:
    if call["transposed"] and call["groups"] != 1 and call.parameters("weight").scales.size > 1:
        raise UnsupportedError("it is transposed and has groups, whose channels share scales")
    _check_weight(call, 1 if call["transposed"] else 0)
    return convolved(call)


@lowers_integers("aten.linear.default")
def linear(call: IntegerCall) -> Value:
    """Lowers a linear layer as a convolution with a 1x1 kernel."""
    _check_weight(call, 0)
    value, weight = call.value("input"), call.value("weight")
    outputs, inputs = weight.shape
    rows = math.prod(value.shape[:-1])
    sums = convolution_sums(
        call,
        "CONV2D",
        call.b.reshape(value, (1, rows, 1, inputs)),
        call.b.reshape(weight, (outputs, 1, 1, inputs)),
        call.bias(outputs),
        (1, rows, 1, outputs),
        {"pad": [0, 0, 0, 0], "stride": [1, 1], "dilation": [1, 1]},
    )
    return call.b.reshape(call.rescaled(sums, call.bias_scales() / call.out.scale), call.shape)


@lowers_integers("aten.bmm.default", "aten.mm.default")
def matmul(call: IntegerCall) -> Value:
    parameters = [call.activation(name) for name in ("self", "mat2")]
    values = [call.value(name) for name in ("self", "mat2")]
    batches = [call.b.reshape(each, (*((1,) if each.rank == 2 else ()), *each.shape)) for each in values]
    sums = call.b.matmul(batches[0], batches[1], [each.zero_point for each in parameters], call.sums[0])
    factor = parameters[0].scale * parameters[1].scale / call.out.scale
    return call.b.reshape(call.rescaled(sums, factor), call.shape)


@lowers_integers("aten.cumsum.default")
def cumsum(call: IntegerCall) -> Placed:
    given = call.activation("self")
    sums = running_sums(
        call, given.dtype, lambda values, ones: call.b.matmul(values, ones, [given.zero_point, 0], call.sums[0])
    )
    return Placed(call.rescaled(sums.value, given.scale / call.out.scale), sums.order)
