# SPDX-License-Identifier: BSD-3-Clause
"""The operators of the edge dialect that OpenVINO gets, and which of their calls it computes as PyTorch does."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node
from torch.utils import _pytree as pytree

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import (
    DEQUANTIZE,
    DEQUANTIZE_CHANNELS,
    QUANTIZE,
    QUANTIZE_CHANNELS,
    is_any_dequantize,
    is_any_quantize,
)
from sdk.backends.openvino.dialect import in_aten, is_dtype_known
from sdk.backends.openvino.quantized import parameters_of
from sdk.backends.openvino.rewrites import REWRITES, Rewrite
from sdk.backends.operators import Operators
from sdk.backends.transforms.constants import is_constant
from sdk.exir.sym_util import lower_bound

Reason = str | None
Check = Callable[[Node, ExportedProgram], Reason]

FLOATS = frozenset({torch.float32, torch.float16, torch.bfloat16})

_MOST_ADDED = 1 << 15
_MOST_ADDED_IN_SEQUENCE = 1024


@dataclass(frozen=True)
class OpenvinoOperator:
    """An operator that OpenVINO's frontend converts.

    Attributes:
        check: Returns why this operator's call is refused, or None.
        rewrite: Replaces a call by several calls of ATen, or returns None to keep the call.
    """

    check: Check
    rewrite: Rewrite | None = None

    def refusal(self, node: Node, program: ExportedProgram) -> Reason:
        """Returns why OpenVINO does not get a call, or None if it does."""
        return _refusal_of_values(node) or self.check(node, program)

    def lower(self, node: Node, graph: Graph, args: Any, kwargs: Any) -> Node:
        """Adds a call, or the calls that replace it, to a graph of ATen with arguments of that graph. Returns the
        result."""
        call = None if self.rewrite is None else self.rewrite(graph, node, args, kwargs)
        return graph.call_function(*in_aten(node, args, kwargs)) if call is None else call


def _refusal_of_values(node: Node) -> Reason:
    """Refuses tensors that cannot be an input or output of a partition: any tensor of a node may become one."""
    if node.op != "call_function":
        return "it calls no operator"
    for value in _values((node, *node.all_input_nodes)):
        if not is_dtype_known(value.dtype):
            return f"a tensor is {_text(value.dtype)}"
        if value.dim() > 8:
            return "a tensor has more than 8 dimensions"
    # A call may have additional results without elements, which are not used.
    result = [node] if isinstance(node.meta.get("val"), torch.Tensor) else []
    for value in _values((*result, *node.all_input_nodes)):
        if any(isinstance(size, int) and size == 0 for size in value.shape):
            return "a tensor has no elements, on which OpenVINO crashes"
    return None


def _values(nodes: Iterable[Node]) -> list[torch.Tensor]:
    leaves = pytree.tree_leaves([node.meta.get("val") for node in nodes])
    return [value for value in leaves if isinstance(value, torch.Tensor)]


def _text(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _any(node: Node, program: ExportedProgram) -> Reason:
    """Any dtype: the operator moves elements."""
    return None


def _floats(node: Node, program: ExportedProgram) -> Reason:
    """Floats only: OpenVINO computes int64 in 32 bits, and some operators on integers in floats."""
    for operand in node.all_input_nodes:
        for value in _values([operand]):
            if value.dtype not in FLOATS:
                return f"it computes with {_text(value.dtype)}: OpenVINO's integers have other limits"
    return None


def _first_result(node: Node, program: ExportedProgram) -> Reason:
    """Refuses calls whose results other than the first are used. For norms, OpenVINO has only the normalised tensor;
    for pools, it treats NaN differently in the indices."""
    if any(user.target is not operator.getitem or user.args[1] != 0 for user in node.users):
        return "another than its first result is read: its statistics, or its indices"
    return _floats(node, program)


def _sum(node: Node, program: ExportedProgram) -> Reason:
    """Refuses long sums: OpenVINO adds elements in sequence, which loses digits that PyTorch keeps."""
    (source,), (result,) = _values(node.all_input_nodes[:1]), _values([node])
    sizes = [size for size in (*source.shape, *result.shape) if not isinstance(size, int)]
    if not sizes and source.numel() > _MOST_ADDED * result.numel():
        return f"it adds more than {_MOST_ADDED} numbers"
    return _floats(node, program)


def _running_sum(node: Node, program: ExportedProgram) -> Reason:
    (source,) = _values(node.all_input_nodes[:1])
    size = source.shape[node.args[1]] if source.dim() else 1
    if not isinstance(size, int) or size > _MOST_ADDED_IN_SEQUENCE:
        return f"it adds more than {_MOST_ADDED_IN_SEQUENCE} numbers"
    return _floats(node, program)


def _average(node: Node, program: ExportedProgram) -> Reason:
    if len(node.args) > 6 and node.args[6] is not None:
        return "it has a divisor_override"
    return _floats(node, program)


def _elu(node: Node, program: ExportedProgram) -> Reason:
    if any(factor != 1 for factor in node.args[2:4]):
        return "its scale is not 1"
    return _floats(node, program)


def _not_of_a_number(node: Node, program: ExportedProgram) -> Reason:
    if not node.meta["val"].dim():
        return "its operand has no dimensions"
    return _floats(node, program)


def _gather(node: Node, program: ExportedProgram) -> Reason:
    """If a dimension of the data is larger than that of the indices, PyTorch reads only its first elements. A slice
    would do this, but OpenVINO removes it."""
    data, indices = _values((node.args[0], node.args[2]))
    dim = node.args[1] % max(data.dim(), 1)
    pairs = [pair for other, pair in enumerate(zip(data.shape, indices.shape, strict=True)) if other != dim]
    if any(not isinstance(size, int) or size != index for size, index in pairs):
        return "its indices have other sizes than its data"
    return _first_is_float(node, program)


def _index_put(node: Node, program: ExportedProgram) -> Reason:
    if len(node.args) > 3 and node.args[3]:
        return "it accumulates: OpenVINO adds one of several values at a position only"
    return _first_is_float(node, program)


def _resize(node: Node, program: ExportedProgram) -> Reason:
    """Resizing to one pixel without align_corners reads the middle pixel in PyTorch, but the first one in OpenVINO."""
    sizes = zip(*(value.shape[2:] for value in _values((node.args[0], node))), strict=True)
    if not node.args[2] and any(old != 1 and (lower_bound(new) or 1) < 2 for old, new in sizes):
        return "its height or width may be 1, for which OpenVINO takes the first pixel"
    return _floats(node, program)


def _first_is_float(node: Node, program: ExportedProgram) -> Reason:
    """Requires a float as the first operand; the others are indices, masks or weights."""
    for value in _values(node.all_input_nodes[:1]):
        if value.dtype not in FLOATS:
            return f"it computes with {_text(value.dtype)}: OpenVINO's integers have other limits"
    return None


def _bools(node: Node, program: ExportedProgram) -> Reason:
    for value in _values(node.all_input_nodes):
        if value.dtype != torch.bool:
            return f"it computes with {_text(value.dtype)}: OpenVINO has this operator for bool only"
    return None


def _conversion(node: Node, program: ExportedProgram) -> Reason:
    """Refuses conversions to fewer digits: OpenVINO removes them if they are converted back, and with them the
    rounding."""
    (source,), (result,) = _values(node.all_input_nodes[:1]), _values([node])
    rounds = source.dtype in FLOATS and result.dtype in FLOATS - {torch.float32, source.dtype}
    return f"it rounds {_text(source.dtype)} to {_text(result.dtype)}, which OpenVINO may leave out" if rounds else None


def _quantize(node: Node, program: ExportedProgram) -> Reason:
    if node.args[-1] not in (torch.int8, torch.uint8):
        return "it does not quantise to int8 or uint8"
    if not all(is_any_dequantize(user) and parameters_of(user) == parameters_of(node) for user in node.users):
        return "its result is also read as integers, or dequantised with other parameters"
    return None


def _dequantize(node: Node, program: ExportedProgram) -> Reason:
    source = node.args[0]
    if is_any_quantize(source) or is_constant(program, source):
        return None
    return "it dequantises integers that are neither constant nor the result of a quantize"


def _table(check: Check, names: str) -> dict[str, Check]:
    return {(name if name.count(".") == 2 else f"aten.{name}"): check for name in names.split()}


_CHECKS: dict[str, Check] = {
    **_table(
        _floats,
        """
        _adaptive_avg_pool2d.default _adaptive_avg_pool3d.default _log_softmax.default _softmax.default
        abs.default acos.default acosh.default add.Scalar add.Tensor
        addmm.default amax.default amin.default asin.default asinh.default atan.default atanh.default
        bmm.default ceil.default clamp.Tensor clamp.default
        convolution.default cos.default cosh.default div.Scalar div.Tensor div.Tensor_mode eq.Scalar eq.Tensor
        erf.default exp.default expm1.default floor.default fmod.Scalar fmod.Tensor ge.Scalar ge.Tensor gelu.default
        grid_sampler_2d.default gt.Scalar gt.Tensor hardsigmoid.default hardswish.default hardtanh.default isinf.default
        isnan.default le.Scalar le.Tensor linear.default log.default log10.default log1p.default
        log2.default lt.Scalar lt.Tensor max.dim maximum.default min.dim minimum.default mm.default
        mul.Scalar mul.Tensor ne.Scalar ne.Tensor neg.default
        pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor prod.default prod.dim_int reciprocal.default relu.default
        rms_norm.default rsqrt.default scaled_dot_product_attention.default sigmoid.default sign.default
        silu.default sin.default sinh.default sqrt.default sub.Scalar sub.Tensor tan.default tanh.default
        topk.default sort.default argmax.default argmin.default
        upsample_nearest2d.vec trunc.default mish.default softplus.default
        """,
    ),
    **_table(
        _first_is_float,
        "embedding.default index_select.default index.Tensor scatter.src scatter.value scatter_add.default "
        "masked_fill.Scalar",
    ),
    **_table(_average, "avg_pool1d.default avg_pool2d.default avg_pool3d.default"),
    **_table(_elu, "elu.default"),
    **_table(_sum, "mean.default mean.dim sum.dim_IntList var.correction var.dim"),
    **_table(_running_sum, "cumsum.default"),
    **_table(_not_of_a_number, "leaky_relu.default"),
    **_table(_gather, "gather.default"),
    **_table(_resize, "upsample_bilinear2d.vec upsample_bicubic2d.vec"),
    **_table(_index_put, "index_put.default"),
    **_table(
        _first_result,
        "max_pool2d_with_indices.default max_pool3d_with_indices.default native_group_norm.default "
        "native_layer_norm.default _native_batch_norm_legit_no_training.default",
    ),
    **_table(
        _bools,
        "any.default any.dim any.dims logical_not.default logical_and.default logical_or.default "
        "logical_xor.default bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor bitwise_not.default",
    ),
    **_table(
        _any,
        """
        alias_copy.default cat.default clone.default constant_pad_nd.default expand_copy.default flip.default
        permute_copy.default pixel_shuffle.default reflection_pad1d.default
        reflection_pad2d.default reflection_pad3d.default repeat.default roll.default select_copy.int
        select_scatter.default slice_copy.Tensor slice_scatter.default split_with_sizes_copy.default
        squeeze_copy.dim squeeze_copy.dims stack.default tril.default triu.default
        unsqueeze_copy.default view_copy.default where.self full.default full_like.default
        scalar_tensor.default arange.start_step dim_order_ops._clone_dim_order.default
        """,
    ),
    **_table(_conversion, "_to_copy.default dim_order_ops._to_dim_order_copy.default"),
    **dict.fromkeys((QUANTIZE, QUANTIZE_CHANNELS), _quantize),
    **dict.fromkeys((DEQUANTIZE, DEQUANTIZE_CHANNELS), _dequantize),
}

OPERATORS = Operators[OpenvinoOperator]("OpenVINO")
for _name, _check in _CHECKS.items():
    OPERATORS.add([_name], OpenvinoOperator(_check, REWRITES.get(_name.removeprefix("aten."))))

WHOLE = (
    "aten.rms_norm.default",
    "aten.scaled_dot_product_attention.default",
    "aten.tril.default",
    "aten.triu.default",
    "aten.upsample_bicubic2d.vec",
)
"""Operators that the compiler would decompose and OpenVINO has whole."""

_MOVES = frozenset(
    name for name, check in _CHECKS.items() if check in (_any, _conversion) and not name.endswith("where.self")
)


def computes(node: Node) -> bool:
    """Whether a call is worth a delegate: it does more than move or convert elements."""
    return node.op == "call_function" and node.target is not operator.getitem and name_of(node) not in _MOVES
