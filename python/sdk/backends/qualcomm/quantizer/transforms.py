# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites captured graphs for `QnnQuantizer` before the annotation: calls that QNN lacks are decomposed, the parts of
a norm become the norm, and numbers become tensors, which get scales."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from sdk.backends.graph.names import arguments_of
from sdk.backends.graph.shapes import shape_of
from sdk.backends.graph.sums import shift_of, sum_of
from sdk.backends.transforms.decompose_sdpa import DecomposeScaledDotProductAttention, inline

_aten = torch.ops.aten


def transform_for_annotation(model: GraphModule) -> GraphModule:
    """Changes a graph, and returns its module."""
    for node in list(model.graph.nodes):
        if node.op == "call_function" and node.target in _PRODUCTS:
            _recompose_norm(node)
    model.graph.eliminate_dead_code()
    changed: GraphModule = DecomposeScaledDotProductAttention()(model).graph_module
    for node in list(changed.graph.nodes):
        if node.op == "call_function" and node.target in _DECOMPOSED:
            _decompose(node)
    for node in list(changed.graph.nodes):
        if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
            _lift_numbers(node)
    changed.graph.eliminate_dead_code()
    changed.recompile()
    return changed


_DECOMPOSED: dict[Any, Callable[..., Tensor]] = {
    _aten.silu.default: lambda x: x * torch.sigmoid(x),
    _aten.silu_.default: lambda x: x * torch.sigmoid(x),
    _aten.reciprocal.default: lambda x: 1.0 / x,
    _aten.expm1.default: lambda x: torch.exp(x) - 1.0,
    _aten.log1p.default: lambda x: torch.log(x + 1.0),
    _aten.log2.default: lambda x: torch.log(x) * 1.4426950408889634,
    _aten.log10.default: lambda x: torch.log(x) * 0.4342944819032518,
    _aten.tan.default: lambda x: torch.sin(x) / torch.cos(x),
    _aten.glu.default: lambda x, dim=-1: (
        torch.narrow(x, dim, 0, x.shape[dim] // 2)
        * torch.sigmoid(torch.narrow(x, dim, x.shape[dim] // 2, x.shape[dim] // 2))
    ),
    _aten.addmm.default: lambda bias, first, second, beta=1, alpha=1: (
        _times(bias, beta) + _times(torch.mm(first, second), alpha)
    ),
    **{
        getattr(packet, overload): function
        for packet, function in (
            (_aten.add, lambda first, second, alpha: first + second * alpha),
            (_aten.sub, lambda first, second, alpha: first - second * alpha),
            (_aten.rsub, lambda first, second, alpha: second - first * alpha),
        )
        for overload in ("Tensor", "Scalar")
    },
}
"""For each operator that is decomposed, the function that computes it with others. Sums are decomposed if they have a
factor."""


def _times(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1 else x * factor


def _decompose(node: Node) -> None:
    if sum_of(node) is not None and arguments_of(node)["alpha"] == 1:
        return
    function, kwargs = _DECOMPOSED[node.target], dict(node.kwargs)
    operands = [each for each in node.args if isinstance(each, Node)]

    def compute(*tensors: Tensor) -> Tensor:
        given = iter(tensors)
        return function(*(next(given) if isinstance(each, Node) else each for each in node.args), **kwargs)

    inline(node, compute, operands)


_PRODUCTS = (_aten.mul.Tensor,)


def _recompose_norm(node: Node) -> None:
    """`gamma * (x * rsqrt(mean(x ** 2) + eps))` is an RMS norm, whose parts have too large a range for integers."""
    for gamma, rest in (node.args[:2], node.args[1::-1]):
        found = _parts_of_norm(rest) if _is_constant(gamma) else None
        if found is None:
            continue
        source, eps = found
        weight: Any = gamma
        shape = list(shape_of(weight))
        if shape != list(shape_of(source))[len(shape_of(source)) - len(shape) :]:
            continue
        with node.graph.inserting_before(node):
            norm = node.graph.call_function(_aten.rms_norm.default, (source, shape, weight, eps))
        norm.meta = dict(node.meta)
        node.replace_all_uses_with(norm)
        node.graph.erase_node(node)
        return


def _parts_of_norm(node: Any) -> tuple[Node, float] | None:
    """The operand and the epsilon of `x * rsqrt(mean(x ** 2) + eps)`, over the last dimension."""
    if not _calls(node, *_PRODUCTS):
        return None
    for source, root in (node.args[:2], node.args[1::-1]):
        shifted = shift_of(root.args[0]) if _calls(root, _aten.rsqrt.default) else None
        if shifted is None:
            continue
        mean, eps = shifted
        if not _calls(mean, _aten.mean.dim) or not _is_last(mean) or not _is_square(mean.args[0], source):
            continue
        return source, eps
    return None


def _is_last(mean: Node) -> bool:
    given: Any = mean.args[0]
    dims = [dim % len(shape_of(given)) for dim in mean.args[1] or ()]
    keeps = mean.args[2] if len(mean.args) > 2 else mean.kwargs.get("keepdim", False)
    return dims == [len(shape_of(given)) - 1] and bool(keeps)


def _is_square(node: Any, source: Any) -> bool:
    if _calls(node, *_PRODUCTS):
        return node.args[0] is source and node.args[1] is source
    return _calls(node, _aten.pow.Tensor_Scalar) and node.args[0] is source and node.args[1] == 2


def _calls(node: Any, *targets: Any) -> bool:
    return isinstance(node, Node) and node.op == "call_function" and node.target in targets


def _is_constant(node: Any) -> bool:
    return isinstance(node, Node) and node.op == "get_attr"


_WITH_TENSOR = {
    getattr(getattr(_aten, name), number): getattr(getattr(_aten, name), tensor)
    for names, number, tensor in (
        ("eq ge gt le lt ne add add_ div mul rsub sub bitwise_xor masked_fill masked_fill_", "Scalar", "Tensor"),
        ("div", "Scalar_mode", "Tensor_mode"),
        ("pow", "Tensor_Scalar", "Tensor_Tensor"),
        ("pow", "Scalar", "Tensor_Tensor"),
        ("where", "ScalarSelf", "self"),
        ("where", "ScalarOther", "self"),
        ("where", "Scalar", "self"),
    )
    for name in names.split()
}
"""Overloads with a number operand, and the overloads with a tensor instead."""

_LEAKY = (_aten.leaky_relu.default, _aten.leaky_relu_.default)


def _lift_numbers(node: Node) -> None:
    """Turns number arguments into tensors if the schema, or another overload of the operator, has tensors there."""
    if node.target in _LEAKY:
        slope = node.args[1] if len(node.args) > 1 else 0.01
        node.target, node.args = _aten.prelu.default, (node.args[0], _constant(node, [slope]))
        return
    replaced = _WITH_TENSOR.get(node.target)
    schema: Any = node.target
    args, names = list(node.args), [argument.name for argument in schema._schema.arguments]
    if replaced is not None and "alpha" in names[: len(args)]:  # the overload takes it by name only
        node.kwargs = {**node.kwargs, "alpha": args.pop()}
        node.args = tuple(args)
    for index, (argument, given) in enumerate(zip(schema._schema.arguments, args, strict=False)):
        if isinstance(given, bool) or not isinstance(given, (int, float)):
            continue
        if isinstance(argument.type, torch.TensorType) or (
            replaced is not None and isinstance(argument.type, torch.NumberType)
        ):
            args[index] = _constant(node, given)
    if args != list(node.args):
        node.args, node.target = tuple(args), replaced or node.target


def _constant(node: Node, number: Any) -> Node:
    """A new attribute of the module with a number, before a node."""
    model: Any = node.graph.owning_module
    result, first = node.meta["val"], node.args[0]
    compares = not result.is_floating_point() and isinstance(first, Node)
    dtype = first.meta["val"].dtype if compares and isinstance(first, Node) else result.dtype
    count = 0
    while hasattr(model, f"_number_{count}"):
        count += 1
    tensor = torch.tensor(number, dtype=dtype)
    model.register_buffer(f"_number_{count}", tensor)
    with node.graph.inserting_before(node):
        made = node.graph.get_attr(f"_number_{count}")
    made.meta["val"] = result.fake_mode.from_tensor(tensor)
    return made
