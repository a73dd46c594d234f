# SPDX-License-Identifier: BSD-3-Clause
"""Rules for operators that need no call, or calls of other names."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.shapes import shape_of, tensor_of
from sdk.backends.transforms.constants import get_constant
from sdk.backends.vulkan.graph.ir import Symbol, Tensor, Value
from sdk.backends.vulkan.graph.lowering import Lowering, bound_arguments, rule
from sdk.backends.vulkan.op_checks import keeps_dims, reduced_dims, reduction_storages
from sdk.backends.vulkan.op_features import argument_of
from sdk.backends.vulkan.op_registry import called_operator

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_NARROWED = {torch.int64: torch.int32, torch.float64: torch.float32}


def untransposed(program: ExportedProgram, weight: Any) -> Node | None:
    """Returns the constant matrix whose transpose a node computes, or None."""
    is_transpose = called_operator(weight) == "aten.t_copy.default" or (
        called_operator(weight) == "aten.permute_copy.default"
        and list(weight.args[1]) in ([1, 0], [-1, -2], [-1, 0], [1, -2])
    )
    if not is_transpose or get_constant(program, weight.args[0]) is None:
        return None
    source = weight.args[0]
    return source if isinstance(source, Node) else None


@rule(
    "aten.clone.default",
    "aten.alias_copy.default",
    "aten.lift_fresh_copy.default",
    "aten.detach_copy.default",
    "dim_order_ops._to_dim_order_copy.default",
    "dim_order_ops._clone_dim_order.default",
    "aten.expand_copy.default",
    "aten._to_copy.default",
    "aten.view_copy.default",
    "aten.copy.default",
    "aten.repeat.default",
)
def _same(lowering: Lowering, node: Node) -> Value | None:
    """Replaces a call that changes neither dtype nor shape by its operand."""
    source = node.args[1 if called_operator(node) == "aten.copy.default" else 0]
    assert isinstance(source, Node)
    before, after = tensor_of(source), tensor_of(node)
    if before.dtype == after.dtype and _same_shape(before.shape, after.shape):
        return lowering.value(source)
    return None


@rule("aten.view_copy.default")
def _view(lowering: Lowering, node: Node) -> Value | None:
    """Replaces a view of a view by a view of the source."""
    source = node.args[0]
    assert isinstance(source, Node)
    while called_operator(source) in (
        "aten.view_copy.default",
        "aten.squeeze_copy.dims",
        "aten.unsqueeze_copy.default",
    ):
        source = source.args[0]
    if _same_shape(tensor_of(source).shape, tensor_of(node).shape):
        return lowering.value(source)
    return lowering.call("aten.view_copy.default", [source, node.args[1]], node)


@rule("dim_order_ops._to_dim_order_copy.default", "aten._to_copy.default")
def _convert(lowering: Lowering, node: Node) -> Value | None:
    """Lowers conversions of the dtype. Memory formats are ignored, because the runtime chooses the layout."""
    source = node.args[0]
    assert isinstance(source, Node)
    if tensor_of(source).dtype == tensor_of(node).dtype:
        return lowering.value(source)
    return converted(lowering, lowering.tensor(source), tensor_of(node).dtype)


def converted(lowering: Lowering, tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """A tensor in another dtype."""
    if tensor.dtype == dtype:
        return tensor
    if tensor.constant is not None:
        return lowering.constant(tensor.constant.to(dtype))
    if lowering.options.downcast_64_bit and _NARROWED.get(tensor.dtype, tensor.dtype) == _NARROWED.get(dtype, dtype):
        return tensor
    result = Tensor(dtype, tensor.shape)
    return lowering.call("aten._to_copy.default", [tensor, *[None] * 4, False, None], result)


@rule(*(f"aten.{name}.Tensor" for name in ("add", "sub", "mul", "div", *_COMPARISONS)))
@rule("aten.div.Tensor_mode", "aten.pow.Tensor_Tensor", "aten.minimum.default", "aten.maximum.default")
@rule("aten.bitwise_and.Tensor", "aten.bitwise_or.Tensor")
def _binary(lowering: Lowering, node: Node) -> Value | None:
    """Converts operands of different types to the type of the result, or to the common type for comparisons."""
    name = called_operator(node)
    left, right = (lowering.tensor(argument) for argument in node.args[:2])
    if any(name == f"aten.{comparison}.Tensor" for comparison in _COMPARISONS):
        dtype = torch.result_type(*(tensor_of(argument) for argument in node.args[:2]))
    else:
        dtype = tensor_of(node).dtype
    arguments = bound_arguments(node)
    arguments[:2] = [converted(lowering, left, dtype), converted(lowering, right, dtype)]
    return lowering.call(name, arguments, node)


@rule(*(f"aten.{name}.Scalar" for name in ("add", "sub", "mul", "div")), "aten.div.Scalar_mode")
def _binary_with_number(lowering: Lowering, node: Node) -> Value | None:
    """Turns a number operand into a tensor without dimensions."""
    name = called_operator(node).replace("Scalar", "Tensor")
    dtype = tensor_of(node).dtype
    arguments = bound_arguments(node)
    number = arguments[1]
    if not isinstance(number, int | float):
        return None
    arguments[0] = converted(lowering, lowering.tensor(arguments[0]), dtype)
    arguments[1] = lowering.scalar(number, dtype)
    return lowering.call(name, arguments, node)


@rule("aten.where.self")
def _where(lowering: Lowering, node: Node) -> Value | None:
    dtype = tensor_of(node).dtype
    condition, *choices = node.args
    values = [converted(lowering, lowering.tensor(choice), dtype) for choice in choices]
    return lowering.call("aten.where.self", [condition, *values], node)


@rule("aten.cat.default")
def _cat(lowering: Lowering, node: Node) -> Value | None:
    """Drops empty operands of concatenations."""
    parts = [part for part in node.args[0] if shape_of(part) != (0,)]
    tensors = [converted(lowering, lowering.tensor(part), tensor_of(node).dtype) for part in parts]
    if len(tensors) == 1:
        return tensors[0]
    return lowering.call("aten.cat.default", [tensors, argument_of(node, 1, "dim", 0)], node)


@rule("aten.squeeze_copy.dims", "aten.unsqueeze_copy.default")
def _squeeze(lowering: Lowering, node: Node) -> Value | None:
    source = node.args[0]
    assert isinstance(source, Node)
    if _same_shape(tensor_of(source).shape, tensor_of(node).shape):
        return lowering.value(source)
    return None


@rule("aten.permute_copy.default")
def _permute(lowering: Lowering, node: Node) -> Value | None:
    """Replaces the identity permutation by its operand."""
    source, order = node.args
    rank = tensor_of(source).dim()
    if [d % rank for d in order] == list(range(rank)):
        return lowering.value(source)
    return None


@rule("aten.mean.dim", "aten.sum.dim_IntList", "aten.amax.default", "aten.amin.default")
def _reduce(lowering: Lowering, node: Node) -> Value | None:
    """Splits a reduction over more than two dimensions into several. Only the last dimension is dropped directly; the
    others keep size 1 until a view drops them."""
    name = called_operator(node)
    source = node.args[0]
    assert isinstance(source, Node)
    dims, shape = reduced_dims(node), list(shape_of(source))
    if not dims:
        return lowering.value(source)
    tail = [None] if name in ("aten.mean.dim", "aten.sum.dim_IntList") else []  # the argument dtype
    value = lowering.tensor(source)
    keep = keeps_dims(node) or dims != [len(shape) - 1]
    groups = _pairs(dims, len(shape))
    for group in groups:
        for dim in group:
            shape[dim] = 1
        last = group is groups[-1] and not keep
        result = tensor_of(node) if last else (value.dtype, shape)
        storages = reduction_storages(len(shape), group, not last)
        value = lowering.call(name, [value, list(group), not last, *tail], result, storages)
    if keep and not keeps_dims(node):
        return viewed(lowering, value, node)
    return value


@rule("aten.argmax.default", "aten.argmin.default")
def _argument_of_extreme(lowering: Lowering, node: Node) -> Value | None:
    name = called_operator(node)
    source = node.args[0]
    assert isinstance(source, Node)
    dim = argument_of(node, 1, "dim")
    value = lowering.tensor(source)
    if dim is None:
        flat = lowering.call("aten.view_copy.default", [value, [-1]], (value.dtype, [tensor_of(source).numel()]))
        found = lowering.call(name, [flat, 0, False], (torch.int64, []), reduction_storages(1, [0], False))
        return viewed(lowering, found, node)
    rank = tensor_of(source).dim()
    keep = keeps_dims(node) or dim % rank != rank - 1
    shape = [1 if d == dim % rank else size for d, size in enumerate(shape_of(source))]
    result = (torch.int64, shape) if keep else node
    found = lowering.call(name, [value, dim, keep], result, reduction_storages(rank, [dim % rank], keep))
    return viewed(lowering, found, node) if keep and not keeps_dims(node) else found


def viewed(lowering: Lowering, value: Tensor, node: Node) -> Tensor:
    """A tensor in the shape of the result of a node. All dynamic sizes but one must be sizes of other nodes."""
    after = shape_of(node)
    if value.shape == after:
        return value
    dynamic = [size for size in after if not isinstance(size, int)]
    target = [size if isinstance(size, int) else -1 for size in after]
    if len(dynamic) > 1:
        # A view cannot have several unknown sizes, so squeeze drops the reduced dimensions.
        return lowering.call("aten.squeeze_copy.dims", [value, _dropped(node)], node)
    return lowering.call("aten.view_copy.default", [value, target], node)


def _dropped(node: Node) -> list[int]:
    dims = argument_of(node, 1, "dim")
    return [dims] if isinstance(dims, int) else reduced_dims(node)


def _pairs(dims: list[int], rank: int) -> list[list[int]]:
    """Groups the dimensions in pairs, so that a texture can be packed along a dimension outside of each group."""
    return [dims[i : i + 2] for i in range(0, len(dims), 2)]


@rule("sym_size.int")
def _sym_size(lowering: Lowering, node: Node) -> Value | None:
    return lowering.call("sym_size.int", list(node.args), Symbol())


def _same_shape(a: Any, b: Any) -> bool:
    """Whether two shapes are equal as far as is known without a guard on dynamic sizes."""
    return len(a) == len(b) and all(_same_size(x, y) for x, y in zip(a, b, strict=True))


def _same_size(a: Any, b: Any) -> bool:
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return bool(a.node.expr == b.node.expr)
