# SPDX-License-Identifier: BSD-3-Clause
"""Matrix multiplications and linear layers."""

from __future__ import annotations

import math
from typing import Any

from torch.fx import Node

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.lowering.call import Call
from sdk.backends.arm.tosa.lowering.registry import lowers
from sdk.backends.arm.tosa.types import FLOATS


def _float_operands(call: Call) -> None:
    if call.dtype not in FLOATS:
        raise UnsupportedError("it multiplies matrices of integers; floats are lowered")


@lowers("aten.bmm.default")
def bmm(call: Call) -> Value:
    _float_operands(call)
    return call.b.matmul(call.value("self"), call.value("mat2"))


def _product(call: Call, first: Node, second: Node) -> Value:
    """A multiplication of two matrices."""
    left, right = (call.b.reshape(value, (1, *value.shape)) for value in (call.value(first), call.value(second)))
    return call.b.reshape(call.b.matmul(left, right), call.shape)


@lowers("aten.mm.default")
def mm(call: Call) -> Value:
    _float_operands(call)
    return _product(call, call["self"], call["mat2"])


@lowers("aten.addmm.default")
def addmm(call: Call) -> Value:
    _float_operands(call)
    product = _product(call, call["mat1"], call["mat2"])
    return _scaled_sum(call, product, call.value("self"))


def _scaled_sum(call: Call, product: Value, added: Value) -> Value:
    added = call.b.cast(added, product.dtype)
    product, added = (
        value if factor == 1 else call.b.mul(value, factor)
        for value, factor in ((product, call["alpha"]), (added, call["beta"]))
    )
    return call.b.add(product, added)


@lowers("aten.linear.default")
def linear(call: Call) -> Value:
    """Rows times the transposed weight. A constant weight is transposed at compile time."""
    _float_operands(call)
    weight = call.value("weight", (1, 0))
    value = call.value("input")
    rows = call.b.reshape(value, (1, math.prod(value.shape[:-1]), value.shape[-1]))
    product: Any = call.b.matmul(rows, call.b.reshape(weight, (1, *weight.shape)))
    product = call.b.reshape(product, call.shape)
    return product if call["bias"] is None else call.b.add(product, call.b.cast(call.value("bias"), product.dtype))
