# SPDX-License-Identifier: BSD-3-Clause
"""Elementwise operators."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import argument, name_of
from sdk.backends.graph.sums import shift_of, terms_of
from sdk.backends.transforms.constants import get_constant
from sdk.backends.xnnpack.operators.operator import XNNPartitionerConfig, are_alike, rank_of
from sdk.backends.xnnpack.quantization import Scale
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NODES, StepKind
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter, is_half


def wants_nhwc(writer: SubgraphWriter, operands: list[Any]) -> bool:
    """Whether a node that supports any layout should compute in NHWC: if one of its operands already exists in NHWC."""
    images = [
        operand for operand in operands if rank_of(operand) in (4, 5) and get_constant(writer.program, operand) is None
    ]
    return bool(images) and any(writer.has(image, True) and not writer.has(image, False) for image in images)


class UnaryConfig(XNNPartitionerConfig):
    """Elementwise functions of one operand."""

    NODES_OF: ClassVar[dict[str, str]] = {
        "aten.abs.default": "Abs",
        "aten.ceil.default": "Ceiling",
        "aten.cos.default": "Cos",
        "aten.exp.default": "Exp",
        "aten.floor.default": "Floor",
        "aten.log.default": "Log",
        "aten.neg.default": "Negate",
        "aten.rsqrt.default": "ReciprocalSquareRoot",
        "aten.sigmoid.default": "Sigmoid",
        "aten.sin.default": "Sin",
        "aten.sqrt.default": "SquareRoot",
        "aten.tanh.default": "Tanh",
    }
    target_names = tuple(NODES_OF)

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        return None  # the kernel is a table of all 256 results

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        operand = node.args[0]
        nhwc = wants_nhwc(writer, [operand])
        self.add(writer, node, writer.read(operand, nhwc), writer.result(node, nhwc))

    def add(self, writer: SubgraphWriter, node: Node, source: int, result: int) -> None:
        writer.add(NODES[self.NODES_OF[node.target.__name__]](source, result))


class HardswishConfig(UnaryConfig):
    """Replaces an addition, a clamp, a multiplication and a division by one hard-swish node."""

    NODES_OF: ClassVar[dict[str, str]] = {"aten.hardswish.default": "Hardswish"}
    target_names = tuple(NODES_OF)
    keep_whole = True


class GeluConfig(UnaryConfig):
    target_names = ("aten.gelu.default",)

    def needs_step(self, node: Node) -> bool:
        return argument(node, 1) != "none"

    def is_in_floats(self, node: Node) -> bool:
        return self.needs_step(node)

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        return "its approximation by tanh is computed in floats" if self.needs_step(node) else None

    def add(self, writer: SubgraphWriter, node: Node, source: int, result: int) -> None:
        if argument(node, 1) == "none":
            writer.add(NODES["Gelu"](source, result))
        else:
            writer.add_step(StepKind.GELU_TANH, [source], result)


class PowerConfig(UnaryConfig):
    target_names = ("aten.pow.Tensor_Scalar",)
    POWERS: ClassVar[dict[float, str]] = {2: "Square", 0.5: "SquareRoot", -0.5: "ReciprocalSquareRoot"}

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        exponent = argument(node, 1)
        if exponent in (0.5, -0.5) and is_half(node) and not _is_sum_of_squares(program, node.args[0]):
            return f"the power {exponent} of -inf is NaN in XNNPACK, but not in PyTorch's float16"
        if exponent in self.POWERS or exponent == 3:
            return None
        return f"the exponent is {exponent}, and XNNPACK takes 2, 3, 0.5 and -0.5"

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        return "the scale of its square is unknown" if argument(node, 1) == 3 else None

    def add(self, writer: SubgraphWriter, node: Node, source: int, result: int) -> None:
        exponent = argument(node, 1)
        if exponent != 3:
            writer.add(NODES[self.POWERS[exponent]](source, result))
            return
        square = writer.temporary(list(writer.values[source].dims))
        writer.add(NODES["Square"](source, square))
        writer.add(NODES["Multiply"](source, square, result), (-math.inf, math.inf))


def _is_sum_of_squares(program: ExportedProgram, node: Any) -> bool:
    """Whether a result is a number or squares added to squares, or to their mean or sum, as in RMS norms. Such a result
    is neither -inf nor -0."""
    shifted = shift_of(node, program)
    if shifted is not None:
        return shifted[1] > -math.inf and _has_squares(shifted[0])
    terms = terms_of(node)
    return terms is not None and all(map(_has_squares, terms))


def _has_squares(total: Any) -> bool:
    """Whether a tensor is squares, or their mean or sum."""
    squares = total.args[0] if name_of(total) in ("aten.mean.dim", "aten.sum.dim_IntList") else total
    is_square = name_of(squares) == "aten.mul.Tensor" and squares.args[0] is squares.args[1]
    return is_square or (name_of(squares) == "aten.pow.Tensor_Scalar" and squares.args[1] == 2)


class ClampConfig(UnaryConfig):
    """relu, relu6, hardtanh and clamp."""

    target_names = ("aten.relu.default", "aten.hardtanh.default", "aten.clamp.default")

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        low, high = torch.tensor(self.limits(node)).to(node.meta["val"].dtype).tolist()
        return None if low < high else f"its limits {low} and {high} leave no range"

    def add(self, writer: SubgraphWriter, node: Node, source: int, result: int) -> None:
        writer.add(NODES["Clamp"](source, result), self.limits(node))

    @staticmethod
    def limits(node: Node) -> tuple[float, float]:
        if node.target.__name__ == "aten.relu.default":
            return 0.0, math.inf
        low, high = argument(node, 1), argument(node, 2)
        return -math.inf if low is None else float(low), math.inf if high is None else float(high)


class LeakyReluConfig(UnaryConfig):
    target_names = ("aten.leaky_relu.default",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        slope = float(argument(node, 1))
        return None if math.isfinite(slope) else f"the slope is {slope}"

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        ratio = operands[0].scale / result.scale
        factors = (ratio, abs(ratio * float(argument(node, 1))))
        return None if all(2**-8 <= factor <= 2**7 for factor in factors) else "its scales are too far apart"

    def add(self, writer: SubgraphWriter, node: Node, source: int, result: int) -> None:
        writer.add(NODES["LeakyReLU"](float(argument(node, 1)), source, result))


class EluConfig(UnaryConfig):
    target_names = ("aten.elu.default",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        alpha, scale, input_scale = (float(argument(node, i)) for i in (1, 2, 3))
        if scale != 1 or input_scale != 1:
            return f"it is scaled by {scale} and {input_scale}, and XNNPACK takes 1"
        return None if alpha > 0 and math.isfinite(alpha) else f"alpha is {alpha}, and XNNPACK takes positive numbers"

    def add(self, writer: SubgraphWriter, node: Node, source: int, result: int) -> None:
        writer.add(NODES["ELU"](float(argument(node, 1)), source, result))


class BinaryConfig(XNNPartitionerConfig):
    """Elementwise functions of two operands, with broadcasting."""

    NODES_OF: ClassVar[dict[str, str]] = {
        "aten.div.Tensor": "Div",
        "aten.div.Scalar": "Div",
        "aten.maximum.default": "Maximum",
        "aten.minimum.default": "Minimum",
    }
    target_names: ClassVar[tuple[str, ...]] = tuple(NODES_OF)

    def constants_read(self, node: Node, program: ExportedProgram) -> list[Any]:
        numbers = [operand for operand in node.args[:2] if isinstance(operand, (int, float))]
        return [*super().constants_read(node, program), *numbers]

    def is_in_floats(self, node: Node) -> bool:
        # PyTorch uses a number as float32; it may be outside the normal range of half precision.
        return any(isinstance(number, (int, float)) and not _is_normal_half(number) for number in node.args[:2])

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        operands = list(node.args[:2])
        nhwc = _fit_as_images(operands) and wants_nhwc(writer, operands)
        first, second = (writer.read(o, nhwc and rank_of(o) > 0, rank_of(node)) for o in operands)
        result = writer.result(node, nhwc)
        kind = NODES[self.NODES_OF[node.target.__name__]]
        clamps = kind.__name__ not in ("XNNMaximum", "XNNMinimum")
        writer.add(kind(first, second, result), (-math.inf, math.inf) if clamps else None)


def _fit_as_images(operands: list[Any]) -> bool:
    """Whether operands in NHWC broadcast as they do in the default order."""
    ranks = {rank_of(operand) for operand in operands} - {0}
    if ranks == {5}:  # The images are the slices of volumes; a volume of depth 1 would not be repeated.
        first, *others = [operand.meta["val"].shape for operand in operands if rank_of(operand)]
        return all(are_alike(first, other) for other in others)
    # An operand of a lower rank is aligned with the last dimensions, which are other dimensions in NHWC.
    return ranks == {4}


def _is_normal_half(number: float) -> bool:
    """Whether a number is 0, infinite, or in the normal range of half precision."""
    limits = torch.finfo(torch.float16)
    return number == 0 or math.isinf(number) or limits.smallest_normal <= abs(number) <= limits.max


class ProductConfig(BinaryConfig):
    NODES_OF: ClassVar[dict[str, str]] = {"aten.mul.Tensor": "Multiply", "aten.mul.Scalar": "Multiply"}
    target_names = tuple(NODES_OF)

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        return refusal_of_two_scales(operands, operands[0].scale * operands[-1].scale / result.scale, -16)


class SumConfig(BinaryConfig):
    """Addition and subtraction."""

    NODES_OF: ClassVar[dict[str, str]] = {
        "aten.add.Tensor": "Add",
        "aten.add.Scalar": "Add",
        "aten.sub.Tensor": "Subtract",
        "aten.sub.Scalar": "Subtract",
    }
    target_names = tuple(NODES_OF)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        return None if argument(node, 2) == 1 else f"alpha is {argument(node, 2)}, and XNNPACK takes 1"

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        return refusal_of_two_scales(operands, max(o.scale for o in operands) / result.scale, -10)


def refusal_of_two_scales(operands: list[Scale], ratio: float, least: int) -> str | None:
    """Why two operands cannot be int8, or None. The kernels multiply by `ratio` as a fixed-point number, which has
    enough bits only from 2^`least` on."""
    if len(operands) != 2:
        return "one of its operands is not quantised"
    return None if 2**least <= ratio < 2**8 else "its scales are too far apart"


class PreluConfig(XNNPartitionerConfig):
    target_names = ("aten.prelu.default",)
    keep_whole = True

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        return None if rank_of(node) == 4 else f"its input has {rank_of(node)} dimensions, and XNNPACK takes 4"

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        slope = get_constant(writer.program, node.args[1])
        channels = node.args[0].meta["val"].shape[1]
        slopes = writer.read(node.args[1]) if slope is None else writer.constant(slope.expand(channels))
        writer.add(NODES["PReLU"](writer.read(node.args[0], True), slopes, writer.result(node, True)))


class SoftmaxConfig(XNNPartitionerConfig):
    target_names = ("aten._softmax.default",)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        dim, rank = argument(node, 1), rank_of(node)
        return None if rank > 0 and dim in (-1, rank - 1) else f"dim is {dim}, and XNNPACK takes the last one"

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        writer.add(NODES["Softmax"](writer.read(node.args[0]), writer.result(node)))
