# SPDX-License-Identifier: BSD-3-Clause
"""`IntegerCall`: a call whose operands and result are quantised, while it is lowered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.parameters import Parameters, parameters_of
from sdk.backends.arm.tosa.lowering.call import Call, Placed
from sdk.backends.arm.tosa.rescale import rescale
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.arm.tosa.specification import INT4_LIMITS
from sdk.backends.graph.quantized import is_any_dequantize
from sdk.backends.transforms.constants import get_constant

_ACCUMULATORS = {DType.INT8: DType.INT32, DType.INT16: DType.INT48}


class IntegerCall(Call):
    """A call whose dequantised operands are represented by their integers.

    Attributes:
        program: The program of the node.
        out: How the result is quantised.
    """

    def __init__(
        self,
        builder: Builder,
        node: Node,
        resolve: Callable[[Node], Placed],
        program: ExportedProgram,
        out: Parameters,
    ) -> None:
        super().__init__(
            builder, node, lambda operand: resolve(operand.args[0] if is_any_dequantize(operand) else operand)
        )
        self.program = program
        self.out = out

    @property
    def dtype(self) -> DType:
        """The type of the result's integers."""
        return self.out.dtype

    def parameters(self, operand: str | Node) -> Parameters:
        """Returns how an operand is quantised. Raises UnsupportedError if it is not quantised."""
        node = self[operand] if isinstance(operand, str) else operand
        if not is_any_dequantize(node):
            raise UnsupportedError(f"its operand {node} is not quantised")
        return parameters_of(node, self.program)

    def activation(self, operand: str | Node) -> Parameters:
        """Returns the `parameters` of an operand with one scale and the integer type of the result."""
        found = self.parameters(operand)
        if found.scales.size != 1:
            raise UnsupportedError("its operand has a scale for each channel")
        if found.dtype != self.out.dtype:
            raise UnsupportedError(
                f"its operand is {found.dtype.name.lower()}, and its result {self.dtype.name.lower()}"
            )
        return found

    def wide_operands(self, nodes: Sequence[Node]) -> list[Value]:
        """Converts quantised operands to int32 and subtracts their zero points. TOSA's int16 has no zero points."""
        zeros = [self.activation(node).zero_point for node in nodes]
        if any(zeros) and self.dtype == DType.INT16:
            raise UnsupportedError("its operand is int16 with a zero point")
        return [
            rescale(self.b, value, 1.0, zero, DType.INT32)
            for value, zero in zip(self.operands(*nodes), zeros, strict=True)
        ]

    @property
    def sums(self) -> tuple[DType, DType]:
        accumulator = _ACCUMULATORS[self.out.dtype]
        return accumulator, accumulator

    def stored(self, number: float) -> float:
        return int(self.out.quantized(np.float32(number)))

    def zero_point(self, name: str) -> int:
        return self.parameters(name).zero_point

    def bias_scales(self) -> np.ndarray:
        """Returns the scale of a convolution's sums: the scale of the input times that of the weight, which may have
        several."""
        return self.activation("input").scale * self.parameters("weight").scales.reshape(-1)

    def bias(self, channels: int) -> Value:
        values = np.zeros(channels)
        if self["bias"] is not None:
            tensor = get_constant(self.program, self["bias"])
            if tensor is None:
                raise UnsupportedError("its bias is not a constant")
            values = tensor.detach().cpu().numpy().astype(np.float64)
        dtype = self.sums[0]
        limit = 2**31 if dtype == DType.INT32 else 2**47
        integers = np.clip(np.rint(values / self.bias_scales()), -limit, limit - 1)
        return self.b.constant(integers.astype(np.int32 if dtype == DType.INT32 else np.int64), dtype)

    def weight(self, value: Value) -> Value:
        """Stores a weight that was quantised to four bits as int4, if the specification has the extension int4, which
        is for activations of int8."""
        found, extension = self.parameters("weight"), self.b.specification.support_extension("int4")
        fits = INT4_LIMITS[0] <= found.low and found.high <= INT4_LIMITS[1]
        if not (fits and extension and value.constant is not None and self.activation("input").dtype == DType.INT8):
            return value
        return self.b.constant(value.constant, DType.INT4)

    def finished(self, sums: Value, first: int) -> Value:
        """Rescales sums to integers of the result. Compilers for NPUs do this within the convolution if nothing is in
        between."""
        factors = self.bias_scales() / self.out.scale
        return self.rescaled(sums, factors if factors.size == 1 else factors[first : first + sums.shape[-1]])

    def rescaled(self, value: Value, factors: Any, zero_point: int = 0) -> Value:
        """Integers with a zero point, times a factor, in the quantisation of the result."""
        return rescale(self.b, value, factors, zero_point, self.out.dtype, self.out.zero_point)
