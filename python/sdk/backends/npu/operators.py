# SPDX-License-Identifier: BSD-3-Clause
"""The operators that graphs can have, and tables of the operators and limits of vendors' processors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.utils import _pytree as pytree

from sdk.backends.graph.names import arguments_of, name_of
from sdk.backends.graph.quantized import DEQUANTIZE, DEQUANTIZE_CHANNELS, QUANTIZE, is_any_dequantize
from sdk.backends.graph.shapes import dtype_of, shape_of
from sdk.backends.npu.graph import ASSUME, Call, Ref, Value
from sdk.backends.npu.graph import DEQUANTIZE as DEQUANTIZE_CALL
from sdk.backends.npu.graph import QUANTIZE as QUANTIZE_CALL
from sdk.backends.npu.lowering import Lowering
from sdk.backends.operators import Operators
from sdk.backends.transforms.constants import is_constant


@dataclass(frozen=True)
class Limits:
    """The limits of a processor for tensors.

    Attributes:
        title: The name of the backend, for messages.
        dtypes: The dtypes of tensors.
        most_dimensions: The largest number of dimensions, without those of size 1.
        largest_size: The largest size of a dimension.
    """

    title: str
    dtypes: frozenset[torch.dtype]
    most_dimensions: int
    largest_size: int

    def refusal(self, node: Node) -> str | None:
        """Returns why a processor does not support the tensor of a node, or None if it does. If a call has several
        results, each is checked at the node that reads it."""
        value = node.meta.get("val")
        if isinstance(value, (tuple, list)):
            return None
        if not isinstance(value, torch.Tensor):
            return f"{node.name} is not a tensor"
        if value.dtype not in self.dtypes:
            return f"a tensor is {str(value.dtype).removeprefix('torch.')}, which {self.title} does not have"
        if any(not isinstance(size, int) for size in value.shape):
            return "a size is not known when the program is compiled; its programs have fixed shapes"
        dimensions = sum(size != 1 for size in value.shape)
        if dimensions > self.most_dimensions:
            return f"a tensor has {dimensions} dimensions; {self.title} has at most {self.most_dimensions}"
        if any(size < 1 or size > self.largest_size for size in value.shape):
            return f"a tensor has the sizes {list(value.shape)}; those of {self.title} are 1 to {self.largest_size}"
        return None


Check = Callable[[Node, ExportedProgram], "str | None"]


class Entry:
    """An operator of the catalog.

    Args:
        lower: Writes a call.
        checks: Each gives the reason against a call, or None.
    """

    def __init__(self, lower: Callable[[Lowering, Node], None] = Lowering.emit, checks: Sequence[Check] = ()) -> None:
        self._lower, self._checks = lower, checks

    def refusal(self, node: Node, program: ExportedProgram, limits: Limits) -> str | None:
        """Returns why a call is not supported, or None if it is."""
        for each in (node, *node.all_input_nodes):
            if not is_constant(program, each) and (reason := limits.refusal(each)) is not None:
                return reason
        return next((reason for check in self._checks if (reason := check(node, program)) is not None), None)

    def lower(self, node: Node, lowering: Lowering) -> None:
        """Writes a call that is not refused, unless it was fused into an earlier one."""
        if not lowering.is_done(node):
            self._lower(lowering, node)


def table(title: str, names: Iterable[str]) -> Operators[Entry]:
    """Returns the table of a backend: the operators of the catalog with these names, and those that convert between
    floats and integers."""
    found: Operators[Entry] = Operators(title)
    for name in (*_CONVERSIONS, *names):
        found.add([name], CATALOG[name])
    return found


def can_compute(call: Call) -> bool:
    """Whether graphs can have a call of this name. Payloads that are damaged may contain others."""
    return call.name in _CALLS


def _weight_is_constant(node: Node, program: ExportedProgram) -> str | None:
    weight: Any = node.args[1] if name_of(node) != "aten.embedding.default" else node.args[0]
    if is_any_dequantize(weight):  # before decomposition, this does not count as a constant yet
        weight = weight.args[0]
    return None if is_constant(program, weight) else "its weight is not a constant"


def _is_planar(node: Node, program: ExportedProgram) -> str | None:
    source = node.args[0]
    return None if len(shape_of(source)) in (3, 4) else "it has more than two spatial dimensions"


def _first_only(node: Node, program: ExportedProgram) -> str | None:
    """Refuses calls whose other results are read: the processor has only the first one."""
    others = [item for item in node.users if len(item.args) > 1 and item.args[1] != 0]
    return "more than its first result is read" if any(item.users for item in others) else None


def _is_per_tensor_or_weight(node: Node, program: ExportedProgram) -> str | None:
    if name_of(node) == DEQUANTIZE_CHANNELS and not is_constant(program, node.args[0]):
        return "an activation has a scale for each channel"
    return None


def _has_order(node: Node, program: ExportedProgram) -> str | None:
    order = arguments_of(node).get("dim_order")
    return None if order is None or list(order) == sorted(order) else "its result is not contiguous"


def _copy(lowering: Lowering, node: Node) -> None:
    source = node.args[0]
    if dtype_of(source) == dtype_of(node):
        lowering.emit(node, "aten.clone.default", [source, None])
    else:
        lowering.emit(node, "aten.to.dtype", [source, dtype_of(node), False, False])


def _with_number(lowering: Lowering, node: Node) -> None:
    """Lowers an operator on a tensor and a number to the operator on two tensors."""
    source, number, *rest = arguments_of(node).values()
    kind = torch.float32 if dtype_of(node).is_floating_point else dtype_of(node)
    constant = Ref(lowering.graph.add(Value(kind, (), None, torch.tensor(number, dtype=kind))))
    lowering.emit(node, name_of(node).replace(".Scalar", ".Tensor"), [source, constant, *rest])


_CONVERSIONS = (QUANTIZE, DEQUANTIZE, DEQUANTIZE_CHANNELS)

_PLAIN = tuple(
    f"aten.{name}"
    for name in (
        "_adaptive_avg_pool2d.default", "_log_softmax.default", "_safe_softmax.default", "_softmax.default",
        "abs.default", "add.Tensor", "addmm.default", "alias_copy.default", "amax.default", "amin.default",
        "argmax.default", "argmin.default", "asin.default", "atan.default", "avg_pool2d.default",
        "avg_pool3d.default", "bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "bmm.default",
        "cat.default", "ceil.default", "channel_shuffle.default", "clamp.default", "constant_pad_nd.default",
        "cos.default", "cumsum.default", "div.Tensor", "elu.default", "eq.Tensor", "erf.default", "exp.default",
        "expand_copy.default", "flip.default", "floor.default", "floor_divide.default", "gather.default",
        "ge.Tensor", "gelu.default", "glu.default", "grid_sampler_2d.default", "gt.Tensor", "hardsigmoid.default",
        "hardswish.default", "hardtanh.default", "index.Tensor", "index_put.default", "index_select.default",
        "instance_norm.default", "isinf.default", "isnan.default", "le.Tensor", "leaky_relu.default", "log.default",
        "logical_and.default", "logical_not.default", "lt.Tensor", "matmul.default", "maximum.default", "mean.dim",
        "minimum.default", "mm.default", "mul.Tensor", "ne.Tensor", "neg.default", "permute_copy.default",
        "pixel_shuffle.default", "pixel_unshuffle.default", "pow.Tensor_Scalar", "pow.Tensor_Tensor",
        "prelu.default", "reciprocal.default", "relu.default", "repeat.default", "rms_norm.default",
        "round.default", "rsqrt.default", "scatter.src", "select_copy.int", "sigmoid.default", "sign.default",
        "silu.default", "sin.default", "slice_copy.Tensor", "slice_scatter.default",
        "split_with_sizes_copy.default", "sqrt.default", "squeeze_copy.dim", "squeeze_copy.dims", "stack.default",
        "sub.Tensor", "sum.dim_IntList", "t_copy.default", "tanh.default", "topk.default", "transpose_copy.int",
        "unsqueeze_copy.default", "upsample_bicubic2d.vec", "upsample_bilinear2d.default",
        "upsample_bilinear2d.vec", "upsample_nearest2d.default", "upsample_nearest2d.vec", "view_copy.default",
        "where.self",
    )
)  # fmt: skip

_FIRST = (
    "aten._native_batch_norm_legit_no_training.default", "aten.adaptive_max_pool2d.default", "aten.max.dim",
    "aten.max_pool2d_with_indices.default", "aten.min.dim", "aten.native_group_norm.default",
    "aten.native_layer_norm.default",
)  # fmt: skip

CATALOG: dict[str, Entry] = {
    QUANTIZE: Entry(Lowering.quantize),
    **dict.fromkeys((DEQUANTIZE, DEQUANTIZE_CHANNELS), Entry(Lowering.dequantize, [_is_per_tensor_or_weight])),
    "getitem": Entry(Lowering.item),
    **{name: Entry() for name in _PLAIN},
    **{name: Entry(checks=[_first_only]) for name in _FIRST},
    **{f"aten.{name}.Scalar": Entry(_with_number) for name in ("add", "div", "mul", "sub")},
    "aten.convolution.default": Entry(checks=[_weight_is_constant, _is_planar]),
    "aten.linear.default": Entry(checks=[_weight_is_constant]),
    "aten.embedding.default": Entry(checks=[_weight_is_constant]),
    **dict.fromkeys(
        (
            "aten._to_copy.default",
            "aten.clone.default",
            "dim_order_ops._to_dim_order_copy.default",
            "dim_order_ops._clone_dim_order.default",
        ),
        Entry(_copy, [_has_order]),
    ),
}
"""Every operator that graphs can have, by its name in the edge dialect."""

_CALLS = frozenset(CATALOG) | {QUANTIZE_CALL, DEQUANTIZE_CALL, ASSUME, "aten.to.dtype"}


def computes(node: Node) -> bool:
    """Whether a call does more than move elements and change how they are stored."""
    return name_of(node) not in _FREE and bool(pytree.tree_leaves(node.meta.get("val")))


_FREE = {
    *_CONVERSIONS, "getitem", "aten.alias_copy.default", "aten.clone.default", "aten._to_copy.default",
    "dim_order_ops._to_dim_order_copy.default", "dim_order_ops._clone_dim_order.default",
}  # fmt: skip
