# SPDX-License-Identifier: BSD-3-Clause
"""Base class and functions for all operators that XNNPACK supports."""

from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true

from sdk.backends.graph.names import argument
from sdk.backends.graph.quantized import dynamic_source
from sdk.backends.transforms.constants import is_constant
from sdk.backends.xnnpack.layouts import is_channels_last
from sdk.backends.xnnpack.quantization import Scale
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter
from sdk.exir.sym_util import is_largest_at_bounds, may_be_zero_by_data, upper_bound

MAX_RANK = 6  # of XNNPACK's tensors
FLOATS = (torch.float32, torch.float16)


class ConfigPrecisionType(Enum):
    """The precision in which a part of a model computes."""

    FP32 = 1
    STATIC_QUANT = 2
    DYNAMIC_QUANT = 3


class XNNPartitionerConfig:
    """An operator: which of its calls XNNPACK supports, and how a payload expresses them.

    Attributes:
        target_names: The operators, for example `aten.add.Tensor`.
        keep_whole: Whether the exporter must not decompose the operator (`max_pool2d`).
        weights: Positions of arguments that must be constants.
        integers: Positions of arguments that are indices.
        takes_truth: Whether it also accepts or returns bools.
        takes_integers: Whether it also accepts integers.
        takes_half: Whether it also accepts half precision.
        converts: Whether its result may have another dtype than its operands.
        keeps_scale: Whether its result has the scale of its operands, because it only moves or selects elements.
    """

    target_names: ClassVar[tuple[str, ...]] = ()
    keep_whole: ClassVar[bool] = False
    weights: ClassVar[tuple[int, ...]] = ()
    integers: ClassVar[tuple[int, ...]] = ()
    takes_truth: ClassVar[bool] = False
    takes_integers: ClassVar[bool] = False
    takes_half: ClassVar[bool] = True
    converts: ClassVar[bool] = False
    keeps_scale: ClassVar[bool] = False
    supported_precision_types: ClassVar[tuple[ConfigPrecisionType, ...]] = tuple(ConfigPrecisionType)

    def refusal(self, node: Node, program: ExportedProgram) -> str | None:
        """Returns why XNNPACK does not support a call, for the user, or None if it does."""
        indices = {operand for position in self.integers for operand in _nodes_in(argument(node, position))}
        weights = {argument(node, position) for position in self.weights}
        for operand in (node, *node.all_input_nodes):
            dtypes = self._dtypes_of(operand, operand in indices)
            is_weight = operand in weights and is_constant(program, operand)  # it is stored in the payload's layout
            reason = refusal_of_tensor(operand.meta.get("val"), operand, dtypes, any_layout=is_weight)
            if reason is not None:
                return reason
        sizes = [
            _sizes_that_depend_on_data(operand)
            for operand in (node, *node.all_input_nodes)
            if not is_constant(program, operand)
        ]
        if any(len(each) > 1 or each != sizes[0] for each in sizes):
            names = sorted(set().union(*sizes))
            return f"its tensors must have the same one data-dependent size, or none; found {' and '.join(names)}"
        if not self.converts and len(floats := _floating_types(node)) > 1:
            return f"it mixes {' and '.join(sorted(floats))}"
        for position in self.weights:
            weight = argument(node, position)
            if weight is not None and not is_constant(program, weight):
                return f"{weight} has to be a constant"
        if any(dynamic_source(operand) is not None for operand in node.all_input_nodes):
            reason = self.refusal_when_dynamic(node, program)
            if reason is not None:
                return reason
        return self.refusal_of_call(node, program)

    def refusal_when_dynamic(self, node: Node, program: ExportedProgram) -> str | None:
        """Returns why XNNPACK does not support a call with a dynamically quantised input, or None if it does."""
        return "XNNPACK has no such operator for numbers that are quantised when the model runs"

    def refusal_in_integers(
        self, node: Node, program: ExportedProgram, operands: list[Scale], result: Scale
    ) -> str | None:
        """Why a call between dequantize and quantize must compute in floats; None if it can compute in int8. `operands`
        are the scales of the operands, without the weights."""
        return None if self.keeps_scale else "XNNPACK has no such operator for integers"

    def needs_step(self, node: Node) -> bool:
        """Whether ExecuTorch's format cannot express a call, because it has bool or integer operands or is an
        operator that XNNPACK lacks."""
        tensors = (operand.meta["val"] for operand in (node, *node.all_input_nodes))
        return any(isinstance(tensor, torch.Tensor) and tensor.dtype not in FLOATS for tensor in tensors)

    def packed(self, node: Node, program: ExportedProgram) -> tuple[int, ...]:
        """Positions of the arguments that XNNPACK copies to a packed form when it builds the graph."""
        return self.weights

    def constants_read(self, node: Node, program: ExportedProgram) -> list[Any]:
        """The constants that XNNPACK reads whenever the model runs: operands, and numbers that become constants."""
        packed = self.packed(node, program)
        operands = [operand for i, value in enumerate(node.args) if i not in packed for operand in _nodes_in(value)]
        return [operand for operand in dict.fromkeys(operands) if is_constant(program, operand)]

    def is_in_floats(self, node: Node) -> bool:
        """Whether a call in half precision is computed in float32, with a rounded result."""
        return False

    def _dtypes_of(self, operand: Node, is_index: bool) -> tuple[torch.dtype, ...]:
        if is_index:
            return (torch.int64,)
        dtypes = list(FLOATS) if self.takes_half else [torch.float32]
        if self.takes_truth:
            dtypes.append(torch.bool)
        if self.takes_integers:
            dtypes.append(torch.int64)
        return tuple(dtypes)

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        """Returns why XNNPACK does not support a call, for reasons that are specific to the operator, or None if it
        does."""
        return None

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        """Adds the call to a payload."""
        raise NotImplementedError(f"{type(self).__name__} must define lower()")


def refusal_of_tensor(
    value: Any, node: Node, dtypes: tuple[torch.dtype, ...] = (torch.float32,), any_layout: bool = False
) -> str | None:
    """Why XNNPACK cannot represent a tensor; None if it can. With `any_layout`, its strides do not matter."""
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
        value = value[0]
    if not isinstance(value, torch.Tensor):
        return f"{node} is {type(value).__name__}, and XNNPACK takes tensors only"
    if value.dtype not in dtypes:
        names, *wanted = (str(dtype).removeprefix("torch.") for dtype in (value.dtype, *dtypes))
        return f"{node} is {names}, and XNNPACK takes {' or '.join(wanted)}"
    if value.dim() > MAX_RANK:
        return f"{node} has {value.dim()} dimensions, and XNNPACK takes {MAX_RANK}"
    bounds = [upper_bound(size) for size in value.shape]
    if None in bounds:
        return f"{node} has a dimension without an upper bound"
    if any(map(may_be_zero_by_data, value.shape)):
        return f"{node} may be empty: a size depends on data"
    if not all(map(is_largest_at_bounds, value.shape)):
        return f"{node} has a dimension that decreases when a size on which it depends increases"
    if 0 in bounds:
        return f"{node} is empty"
    if not any_layout and not isinstance(node.meta["val"], (list, tuple)) and is_channels_last(node) is None:
        return f"{node} is neither contiguous nor channels_last"
    # Integers are also read through views, which expect the default order.
    if value.dtype == torch.int64 and is_channels_last(node):
        return f"{node} has integers in channels_last order"
    return None


def _sizes_that_depend_on_data(tensor: Node) -> set[str]:
    """The sizes that depend on data. Equal sizes may have different upper bounds, if only an assertion makes them
    equal."""
    sizes = getattr(tensor.meta.get("val"), "shape", ())
    return {str(size) for size in sizes if isinstance(size, torch.SymInt) and free_unbacked_symbols(size)}


def _floating_types(node: Node) -> set[str]:
    """The floating-point dtypes of a call's operands and first result."""
    values = [operand.meta.get("val") for operand in (node, *node.all_input_nodes)]
    tensors = [value[0] if isinstance(value, (list, tuple)) and value else value for value in values]
    return {
        str(tensor.dtype).removeprefix("torch.")
        for tensor in tensors
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
    }


def _nodes_in(argument: Any) -> list[Node]:
    items = argument if isinstance(argument, (list, tuple)) else [argument]
    return [item for item in items if isinstance(item, Node)]


def pair(value: Any) -> tuple[int, int]:
    """Returns height and width, which may be given as one number."""
    numbers = list(value) if isinstance(value, (list, tuple)) else [value]
    return (int(numbers[0]), int(numbers[-1]))


def is_static(shape: Any) -> bool:
    """Whether all sizes are known ahead of time."""
    return all(isinstance(size, int) for size in shape)


def are_alike(first: Any, second: Any) -> bool:
    """Whether sizes are known to be equal. Symbolic sizes cannot be compared as members of a set."""
    return all(statically_known_true(a == b) for a, b in zip(first, second, strict=True))


def rank_of(node: Any) -> int:
    """The number of dimensions of an operand; 0 for numbers."""
    return node.meta["val"].dim() if isinstance(node, Node) else 0
