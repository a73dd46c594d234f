# SPDX-License-Identifier: BSD-3-Clause
"""Rules that replace several nodes by one call: convolutions with batch norms and clamps, linear layers, RMS norms and
attention."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.shapes import shape_of, tensor_of
from sdk.backends.graph.sums import shift_of
from sdk.backends.transforms.constants import get_constant
from sdk.backends.vulkan.graph.ir import Tensor, Value
from sdk.backends.vulkan.graph.lowering import Lowering, bound_arguments, rule
from sdk.backends.vulkan.graph.quantized import quantized_linear
from sdk.backends.vulkan.graph.rules import converted, untransposed
from sdk.backends.vulkan.op_checks import reduction_storages
from sdk.backends.vulkan.op_features import BOOL, FLOATS, argument_of
from sdk.backends.vulkan.op_registry import called_operator

_CONVOLUTION = "aten.convolution.default"
_BATCH_NORM = "aten._native_batch_norm_legit_no_training.default"
_CASTS = ("aten._to_copy.default", "dim_order_ops._to_dim_order_copy.default")


@rule("aten.relu.default", "aten.hardtanh.default")
def _clamp(lowering: Lowering, node: Node) -> Value | None:
    """Fuses a clamp into the convolution before it."""
    source = node.args[0]
    convolution = _convolution_of(source)
    if convolution is None or not _only_reader(convolution, source, node):
        return None
    low, high = (0.0, sys.float_info.max)
    if called_operator(node) == "aten.hardtanh.default":
        low, high = argument_of(node, 1, "min_val", -1), argument_of(node, 2, "max_val", 1)
    arguments = _convolution_arguments(lowering, convolution, source)
    storages = lowering.features("et_vk.conv_with_clamp.default").storages(convolution)
    return lowering.call("et_vk.conv_with_clamp.default", [*arguments, low, high], node, storages)


@rule(_BATCH_NORM)
def _batch_norm(lowering: Lowering, node: Node) -> Value | None:
    """Folds a batch norm into the weights of the convolution before it."""
    convolution = node.args[0]
    if called_operator(convolution) != _CONVOLUTION or not folds(lowering.program, node):
        return None
    assert isinstance(convolution, Node)
    arguments = _convolution_arguments(lowering, convolution, node)
    result = value_of_first(node)
    storages = lowering.features(_CONVOLUTION).storages(convolution)
    return [lowering.call(_CONVOLUTION, arguments, result, storages)]


def folds(program: ExportedProgram, norm: Node) -> bool:
    """Whether a batch norm can be folded into the weights of the convolution that it reads."""
    convolution = norm.args[0]
    if called_operator(convolution) != _CONVOLUTION:
        return False
    assert isinstance(convolution, Node)
    weights = [*norm.args[1:5], *convolution.args[1:3]]
    constant = all(weight is None or get_constant(program, weight) is not None for weight in weights)
    return constant and len(convolution.users) == 1 and all(user.args[1] == 0 for user in norm.users)


def value_of_first(node: Node) -> torch.Tensor:
    """The fake tensor of the first of several results."""
    first = node.meta["val"][0]
    assert isinstance(first, torch.Tensor)
    return first


def _convolution_of(node: Any) -> Node | None:
    """Returns the convolution that computes `node`, directly or followed by a batch norm."""
    if called_operator(node) == "getitem" and node.args[1] == 0 and called_operator(node.args[0]) == _BATCH_NORM:
        node = node.args[0].args[0]
    return node if called_operator(node) == _CONVOLUTION else None


def _only_reader(convolution: Node, source: Any, reader: Node) -> bool:
    return list(source.users) == [reader] and len(convolution.users) == 1


def _convolution_arguments(lowering: Lowering, convolution: Node, source: Any) -> list[Any]:
    """The arguments of a convolution. If `source` is a batch norm of its result, its weights include the norm."""
    arguments = bound_arguments(convolution)
    norm = source.args[0] if called_operator(source) == "getitem" else source
    if called_operator(norm) == _BATCH_NORM and folds(lowering.program, norm):
        weight, bias = (get_constant(lowering.program, argument) for argument in arguments[1:3])
        assert weight is not None
        arguments[1:3] = [lowering.constant(t) for t in _folded(lowering.program, norm, weight, bias, arguments)]
    return arguments


def _folded(
    program: ExportedProgram, norm: Node, weight: torch.Tensor, bias: torch.Tensor | None, arguments: list[Any]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The weights and bias of a convolution whose results are normalised."""
    gamma, beta, mean, variance = (get_constant(program, argument) for argument in norm.args[1:5])
    assert mean is not None and variance is not None
    eps = norm.args[6]
    assert isinstance(eps, float)
    scale = torch.rsqrt(variance.double() + eps)
    scale = scale if gamma is None else scale * gamma.double()
    shift = -mean.double() if bias is None else bias.double() - mean.double()
    shift = shift * scale if beta is None else shift * scale + beta.double()
    transposed, groups = arguments[6], arguments[8]
    if transposed:  # [inputs, outputs of a group, ...]
        per_group = scale.view(groups, 1, -1).expand(groups, weight.shape[0] // groups, -1)
        factors = per_group.reshape(weight.shape[0], -1, *[1] * (weight.dim() - 2))
    else:
        factors = scale.view(-1, *[1] * (weight.dim() - 1))
    return (weight.double() * factors).to(weight.dtype), shift.to(weight.dtype)


@rule("aten.addmm.default", "aten.mm.default")
def _linear(lowering: Lowering, node: Node) -> Value | None:
    """Lowers a matrix multiplication by a transposed constant to a linear layer."""
    is_addmm = called_operator(node) == "aten.addmm.default"
    bias, x, weight = node.args[:3] if is_addmm else (None, *node.args[:2])
    original = untransposed(lowering.program, weight)
    if original is None or any(argument_of(node, 9, name, 1) != 1 for name in ("beta", "alpha")):
        return None
    if bias is not None and (len(shape_of(bias)) != 1 or get_constant(lowering.program, bias) is None):
        return None
    quantized = quantized_linear(lowering, node, x, original, bias)
    if quantized is not None:
        return quantized
    return lowering.call("aten.linear.default", [x, original, bias], node)


@rule("aten.linear.default")
def _whole_linear(lowering: Lowering, node: Node) -> Value | None:
    """Lowers a linear layer: with computed weights or a computed bias, to a matrix multiplication."""
    x, weight, bias = (*node.args, None)[:3]
    quantized = quantized_linear(lowering, node, x, weight, bias)
    if quantized is not None:
        return quantized
    constants = [get_constant(lowering.program, argument) for argument in (weight, bias) if argument is not None]
    if all(constant is not None for constant in constants):
        return lowering.call("aten.linear.default", [x, weight, bias], node)
    dtype = tensor_of(node).dtype
    rows, columns = shape_of(weight)
    lead = list(shape_of(x)[:-1])
    flat = lowering.call("aten.view_copy.default", [x, [-1, columns]], (dtype, [_product(lead), columns]))
    turned = lowering.call("aten.permute_copy.default", [weight, [1, 0]], (dtype, [columns, rows]))
    product = lowering.call("aten.mm.default", [flat, turned], (dtype, [_product(lead), rows]))
    if bias is not None:
        product = lowering.call("aten.add.Tensor", [product, bias, 1], Tensor(dtype, product.shape))
    if len(lead) == 1:
        return product
    return like(lowering, product, node, x)


def _product(items: list[Any]) -> Any:
    found = 1
    for item in items:
        found = found * item
    return found


def like(lowering: Lowering, value: Tensor, node: Node, source: Node) -> Tensor:
    """Adds a view of a tensor with the shape of `node`. Its dynamic sizes are those of `source` in the same
    dimensions."""
    target = [
        size if isinstance(size, int) else lowering.size_of(source, dim) for dim, size in enumerate(shape_of(node))
    ]
    return lowering.call("aten.view_copy.default", [value, target], node)


@rule("aten.mul.Tensor")
def _rms_norm(lowering: Lowering, node: Node) -> Value | None:
    """x * rsqrt(mean(x * x) + eps) * weight."""
    found = rms_norm_of(lowering.program, node)
    if found is None:
        return None
    x, weight, eps = found
    value = lowering.tensor(x)
    result = tensor_of(node)
    weights = lowering.constant(weight.to(value.dtype))
    norm = lowering.call("et_vk.rms_norm.default", [value, weights, eps], Tensor(value.dtype, value.shape))
    return converted(lowering, norm, result.dtype)


def rms_norm_of(program: ExportedProgram, node: Node) -> tuple[Node, torch.Tensor, float] | None:
    """The input, the weights and the epsilon of an RMS norm, whose last multiplication is `node`."""
    for scaled, weight in (node.args[:2], node.args[1::-1]):
        weights = get_constant(program, _uncast(weight))
        scaled = _uncast(scaled)
        if weights is None or weights.dim() != 1 or called_operator(scaled) != "aten.mul.Tensor":
            continue
        assert isinstance(scaled, Node)
        for x, inverse in (scaled.args[:2], scaled.args[1::-1]):
            eps = _rms_epsilon(program, x, _uncast(inverse))
            source = _uncast(x)
            if eps is not None and isinstance(source, Node) and shape_of(source) == shape_of(node):
                return source, weights, eps
    return None


def _rms_epsilon(program: ExportedProgram, x: Any, inverse: Any) -> float | None:
    """The epsilon of 1 / sqrt(mean(x * x) + epsilon) over the last dimension."""
    if called_operator(inverse) != "aten.rsqrt.default":
        return None
    shifted = shift_of(inverse.args[0], program)
    if shifted is None:
        return None
    mean, eps = shifted
    if called_operator(mean) != "aten.mean.dim" or not argument_of(mean, 2, "keepdim", False):
        return None
    last = tensor_of(mean.args[0]).dim() - 1
    if list(mean.args[1]) not in ([-1], [last]) or not _is_square(mean.args[0], x):
        return None
    return eps


def _is_square(node: Any, x: Any) -> bool:
    if called_operator(node) == "aten.pow.Tensor_Scalar":
        return node.args[1] == 2 and _uncast(node.args[0]) is _uncast(x)
    return called_operator(node) == "aten.mul.Tensor" and all(
        _uncast(argument) is _uncast(x) for argument in node.args[:2]
    )


def _uncast(node: Any) -> Any:
    """The operand of conversions between float types."""
    while (
        called_operator(node) in _CASTS
        and tensor_of(node).is_floating_point()
        and tensor_of(node.args[0]).is_floating_point()
    ):
        node = node.args[0]
    return node


@rule("aten.scaled_dot_product_attention.default")
def _attention(lowering: Lowering, node: Node) -> Value | None:
    """softmax(query @ key^T * scale + mask) @ value. A query for which the mask hides all keys gives zeros."""
    query, key, value, mask, _, is_causal, scale, _ = bound_arguments(node)
    width = shape_of(query)[-1]
    factor = width**-0.5 if scale is None else scale
    dtype = tensor_of(node).dtype
    batch, keys = list(shape_of(query)[:-2]), shape_of(key)[-2]
    queries = shape_of(query)[-2]
    rank = len(batch)
    scaled = lowering.call("aten.mul.Tensor", [query, lowering.scalar(factor, dtype)], (dtype, shape_of(query)))
    order = [*range(rank), rank + 1, rank]
    turned = lowering.call("aten.permute_copy.default", [key, order], (dtype, [*batch, width, keys]))
    flat = [lowering.flattened(v, (dtype, s)) for v, s in ((scaled, shape_of(query)), (turned, [*batch, width, keys]))]
    count = _product(batch)
    scores = lowering.call("aten.bmm.default", flat, (dtype, [count, queries, keys]))
    hides = False
    bias = _mask_of(lowering, mask, dtype)
    if is_causal:
        causal = torch.full((queries, keys), float("-inf"), dtype=dtype).triu(1)
        bias = lowering.constant(causal)
    elif bias is not None:
        hides = bias.constant is None or bool(torch.isneginf(bias.constant).all(-1).any())
    if bias is not None:
        scores = lowering.call(
            "aten.view_copy.default",
            [scores, [*(_static(size, lowering, query, d) for d, size in enumerate(batch)), queries, keys]],
            (dtype, [*batch, queries, keys]),
        )
        scores = lowering.call("aten.add.Tensor", [scores, bias, 1], (dtype, [*batch, queries, keys]))
    weights = lowering.call("aten._softmax.default", [scores, -1, False], Tensor(dtype, scores.shape))
    if hides:
        weights = _zero_where_hidden(lowering, scores, weights)
    if bias is not None:
        weights = lowering.flattened(weights, (dtype, [*batch, queries, keys]))
    values = lowering.flattened(lowering.tensor(value), (dtype, shape_of(value)))
    found = lowering.call("aten.bmm.default", [weights, values], (dtype, [count, queries, shape_of(value)[-1]]))
    return like(lowering, found, node, query)


@rule("llama.custom_sdpa.default")
def _cached_attention(lowering: Lowering, node: Node) -> Value | None:
    """Converts a bool mask to numbers that are added to the scores."""
    arguments = bound_arguments(node)
    if arguments[4] is None:
        return None
    arguments[4] = _mask_of(lowering, arguments[4], tensor_of(node).dtype)
    return lowering.call("llama.custom_sdpa.default", arguments, node)


def attention_refusal(node: Node, program: ExportedProgram) -> str | None:
    """Why attention cannot be lowered to matrix multiplications; None if it can."""
    query, key, value, mask, dropout, is_causal, _, grouped = bound_arguments(node)
    shapes = [shape_of(operand) for operand in (query, key, value)]
    dtypes = {tensor_of(operand).dtype for operand in (query, key, value)}
    if not dtypes <= FLOATS or (mask is not None and tensor_of(mask).dtype not in FLOATS | BOOL):
        return "its operands are neither float16 nor float32, or its mask is neither that nor bool"
    if dropout:
        return "it has dropout"
    if grouped or any(shape[:-2] != shapes[0][:-2] for shape in shapes):
        return "its heads are grouped"
    if any(not isinstance(size, int) for shape in shapes for size in shape[-2:]):
        return "its number of positions is dynamic"
    if len(shapes[0]) not in (3, 4) or (is_causal and mask is not None):
        return "its operands are neither [batch, positions, width] nor [batch, heads, positions, width]"
    return None


def _mask_of(lowering: Lowering, mask: Any, dtype: torch.dtype) -> Tensor | None:
    """Returns the tensor that is added to the scores, or None."""
    if mask is None:
        return None
    value = lowering.tensor(mask)
    if value.dtype != torch.bool:
        return converted(lowering, value, dtype)
    if value.constant is not None:
        return lowering.constant(torch.zeros(value.shape, dtype=dtype).masked_fill(~value.constant, float("-inf")))
    choices = [lowering.scalar(0.0, dtype), lowering.scalar(float("-inf"), dtype)]
    return lowering.call("aten.where.self", [value, *choices], Tensor(dtype, value.shape))


def _zero_where_hidden(lowering: Lowering, scores: Tensor, weights: Tensor) -> Tensor:
    rank = len(scores.shape)
    row = (*scores.shape[:-1], 1)
    best = lowering.call(
        "aten.amax.default",
        [scores, [rank - 1], True],
        Tensor(scores.dtype, row),
        reduction_storages(rank, [rank - 1], True),
    )
    hidden = lowering.call("aten.eq.Scalar", [best, float("-inf")], Tensor(torch.bool, row))
    zero = lowering.scalar(0.0, weights.dtype)
    return lowering.call("aten.where.self", [hidden, zero, weights], Tensor(weights.dtype, weights.shape))


def _static(size: Any, lowering: Lowering, node: Node, dim: int) -> Any:
    return size if isinstance(size, int) else lowering.size_of(node, dim)
