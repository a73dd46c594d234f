# SPDX-License-Identifier: BSD-3-Clause
"""The operators of ExecuTorch 1.4 for Neutron, with the limits of ExecuTorch's page and of the target's sizes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import arguments_of, name_of
from sdk.backends.graph.quantized import is_any_dequantize
from sdk.backends.graph.shapes import shape_of
from sdk.backends.npu.operators import Limits, table
from sdk.backends.nxp.backend.neutron_target_spec import NeutronTargetSpec
from sdk.backends.nxp.neutron.activations import finite
from sdk.backends.transforms.constants import is_constant

LIMITS: Final = Limits(
    title="Neutron",
    # Floats occur only between a dequantise and a quantise call; the NPU computes in int8.
    dtypes=frozenset((torch.int8, torch.uint8, torch.float32)),
    most_dimensions=7,
    largest_size=2**31 - 1,
)

_NAMES = (
    "_adaptive_avg_pool2d.default", "_softmax.default", "abs.default", "add.Tensor", "addmm.default", "amax.default",
    "amin.default", "avg_pool2d.default", "bmm.default", "cat.default", "clamp.default", "clone.default",
    "constant_pad_nd.default", "convolution.default", "exp.default", "hardtanh.default", "leaky_relu.default",
    "linear.default", "log.default", "max_pool2d_with_indices.default", "maximum.default", "mean.dim",
    "minimum.default", "mm.default", "mul.Tensor", "neg.default", "permute_copy.default", "prelu.default",
    "relu.default", "sigmoid.default", "slice_copy.Tensor", "squeeze_copy.dims", "sub.Tensor", "sum.dim_IntList",
    "tanh.default", "transpose_copy.int", "unsqueeze_copy.default", "upsample_bilinear2d.vec",
    "upsample_nearest2d.vec", "view_copy.default",
)  # fmt: skip

OPERATORS: Final = table(
    LIMITS.title,
    (*(f"aten.{name}" for name in _NAMES), "dim_order_ops._clone_dim_order.default", "getitem"),
)

WHOLE: Final = tuple(
    f"aten.{name}" for name in ("linear.default", "prelu.default", "upsample_bilinear2d.vec", "upsample_nearest2d.vec")
)
"""The operators that the exporter would decompose and Neutron has."""

_NO_CONSTANT = "its weight is not a constant"
_LARGEST_WINDOW = 4096
_LARGEST_SUM = 65535  # multiplications that are summed for one element of a convolution

Condition = Callable[[Node, dict[str, Any], ExportedProgram, NeutronTargetSpec], "str | None"]


def refusal(node: Node, program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    """Returns why Neutron does not get a call of one of its operators, or None if it does."""
    name = name_of(node)
    if name in _ONE_SCALE and len({_scale(each) for each in _tensors(node)} - {None}) > 1:
        return "its result has another scale than its operands"
    condition = CONDITIONS.get(name)
    return None if condition is None else condition(node, arguments_of(node), program, target)


def _tensors(node: Node) -> list[Node]:
    """The operands of a call, and the calls that read its results."""
    results = [user for user in node.users if name_of(user) != "getitem"]
    results += [reader for user in node.users if name_of(user) == "getitem" for reader in user.users]
    return [*node.all_input_nodes, *results]


def _scale(node: Node) -> Any:
    """The scale, zero point and dtype in a call that quantises or dequantises with one scale; None for others."""
    return node.args[1:3] if "_per_tensor" in name_of(node) else None


def _average(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    if given["ceil_mode"]:
        return "its output size is rounded up (ceil_mode)"
    if given.get("divisor_override") is not None:
        return f"its divisor is {given['divisor_override']}; Neutron divides by the number of elements in the window"
    if not given["count_include_pad"] and any(given["padding"]):
        return "its windows leave the padding out (count_include_pad)"
    return _window(given["kernel_size"], given["stride"])


def _window(*sizes: Any) -> str | None:
    largest = max((size for each in sizes for size in each), default=1)
    if largest <= _LARGEST_WINDOW:
        return None
    return f"its window or stride is {largest}; Neutron has at most {_LARGEST_WINDOW}"


def _adaptive(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    sizes = shape_of(node.args[0])[-2:]
    if any(size % out for size, out in zip(sizes, given["output_size"], strict=True)):
        return "its windows have several sizes: the input is not a multiple of the output"
    return _window([size // out for size, out in zip(sizes, given["output_size"], strict=True)])


def _maximum(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    if given["ceil_mode"]:
        return "its output size is rounded up (ceil_mode)"
    if any(each != 1 for each in given["dilation"]):
        return "its window is dilated"
    return _window(given["stride"])


def _convolution(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    source, weight, bias, stride, padding, dilation, transposed, _, groups = list(given.values())
    if len(shape_of(source)) > 4:
        return f"its input has {len(shape_of(source))} dimensions; Neutron has at most 4"
    if not _is_stored(weight, program):
        return _NO_CONSTANT
    if (reason := _bias(bias, program)) is not None:
        return reason
    kernel, channels = shape_of(weight)[2:], shape_of(source)[1]
    if (reason := _window(kernel, () if transposed else stride, () if transposed else dilation)) is not None:
        return reason
    macs = target.get_num_macs()
    summed = prod(kernel) * -(-channels // macs) * macs
    if summed > _LARGEST_SUM:
        return f"an element sums {summed} products, with the channels rounded up to {macs}; Neutron has {_LARGEST_SUM}"
    return _transposed(kernel, stride, padding, dilation, groups) if transposed else None


def _transposed(kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> str | None:
    if groups > 1:
        return "it is a transposed convolution with groups"
    if any(each != 1 for each in dilation):
        return "it is a transposed convolution that is dilated"
    if any(step > min(size, 2) for step, size in zip(stride, kernel, strict=True)):
        return (
            f"it is a transposed convolution with the stride {list(stride)}; Neutron has at most 2, within the kernel"
        )
    if any(each >= size for each, size in zip(padding, kernel, strict=True)):
        return "it is a transposed convolution whose padding is not smaller than its kernel"
    return None


def _bias(bias: Any, program: ExportedProgram) -> str | None:
    if bias is None:
        return None
    if not _is_stored(bias, program):
        return "its bias is not a constant"
    return None if is_any_dequantize(bias) else "its bias is not quantised; quantise the model with NeutronQuantizer"


def _is_stored(node: Node, program: ExportedProgram) -> bool:
    """Whether an operand is a constant, or dequantises one. Before decomposition, such a call is not constant yet."""
    return is_constant(program, node.args[0] if is_any_dequantize(node) else node)


def _prelu(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    return _broadcast(node) if _is_stored(given["weight"], program) else _NO_CONSTANT


def _linear(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    return _bias(given["bias"], program) if _is_stored(given["weight"], program) else _NO_CONSTANT


def _matrices(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    if not is_constant(program, given["mat2"]):
        return "its second matrix is not a constant"
    if name_of(node) == "aten.mm.default":
        return None
    if (given["alpha"], given["beta"]) != (1, 1):
        return "it scales what it adds (alpha or beta)"
    bias: Any = given["self"] if "self" in given else given["input"]
    if list(shape_of(bias)) not in ([shape_of(node)[1]], [1, shape_of(node)[1]]):
        return "its bias has not one element for each column"
    return _bias(bias, program)


def _batches(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    zeros = [each.args[2] for each in node.all_input_nodes if is_any_dequantize(each)]
    return "an operand has a zero point other than 0" if any(zeros) else None


def _binary(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    if given.get("alpha", 1) != 1:
        return f"it multiplies its second operand by {given['alpha']} (alpha)"
    return _broadcast(node)


def _broadcast(node: Node) -> str | None:
    size = prod(shape_of(node))
    if any(prod(shape_of(each)) == size for each in node.all_input_nodes):
        return None
    return "both operands are expanded; Neutron expands one"


def _either(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    return _broadcast(node)


def _limits(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    bounds = [finite(each) for each in list(given.values())[1:3]]
    return "it limits nothing" if bounds == [None, None] else None


def _pad(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    return "it has a negative padding" if min(given["pad"], default=0) < 0 else None


def _slice(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    return None if given["step"] == 1 else f"its step is {given['step']}; Neutron has 1"


def _softmax(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    shape = shape_of(node)
    if len(shape) < 2:
        return "it has one dimension; Neutron computes a softmax over the last of several"
    dim = given["dim"] % len(shape)
    if dim != len(shape) - 1 and (dim, len(shape)) != (1, 4):
        return f"it is over the dimension {given['dim']}; Neutron has the last one, and the channels of images"
    macs, channels = target.get_num_macs(), shape[dim]
    rest = prod(shape) // channels
    if channels % macs or channels >= 4096 // target.get_num_pipes() * 4:
        most = 4096 // target.get_num_pipes() * 4
        return f"it is over {channels} elements; Neutron has multiples of {macs} below {most}"
    if rest > 4096 or channels * rest // macs > 65536:
        return f"there are {rest} softmaxes over {channels} elements each; Neutron has at most 4096"
    return None


def _resized(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    before, after = shape_of(node.args[0])[-2:], shape_of(node)[-2:]
    less = int(bool(given.get("align_corners")))
    if less and 1 in before:
        return "it aligns the corners of an image of one row or column"
    factors = [(new - less) / (old - less) for new, old in zip(after, before, strict=True)]
    return None if set(factors) <= {1, 2, 4, 8} else f"it resizes by {factors}; Neutron has 1, 2, 4 and 8"


def _rank(node: Node, given: dict[str, Any], program: ExportedProgram, target: NeutronTargetSpec) -> str | None:
    rank = len(shape_of(node))
    return None if rank < 8 else f"its result has {rank} dimensions; Neutron has at most 7"


_ONE_SCALE = frozenset(
    f"aten.{name}"
    for name in (
        "_adaptive_avg_pool2d.default", "amax.default", "amin.default", "avg_pool2d.default", "cat.default",
        "constant_pad_nd.default", "max_pool2d_with_indices.default", "maximum.default", "mean.dim",
        "minimum.default", "permute_copy.default", "sum.dim_IntList",
    )
)  # fmt: skip
"""The operators whose result has the scale of their operands."""

CONDITIONS: Final[dict[str, Condition]] = {
    f"aten.{name}": condition
    for name, condition in {
        "_adaptive_avg_pool2d.default": _adaptive,
        "_softmax.default": _softmax,
        "add.Tensor": _binary,
        "addmm.default": _matrices,
        "avg_pool2d.default": _average,
        "bmm.default": _batches,
        "clamp.default": _limits,
        "constant_pad_nd.default": _pad,
        "convolution.default": _convolution,
        "hardtanh.default": _limits,
        "linear.default": _linear,
        "max_pool2d_with_indices.default": _maximum,
        "maximum.default": _either,
        "minimum.default": _either,
        "mm.default": _matrices,
        "mul.Tensor": _binary,
        "prelu.default": _prelu,
        "slice_copy.Tensor": _slice,
        "sub.Tensor": _binary,
        "upsample_bilinear2d.vec": _resized,
        "upsample_nearest2d.vec": _resized,
        "view_copy.default": _rank,
    }.items()
}
"""The conditions on calls, by operator."""
