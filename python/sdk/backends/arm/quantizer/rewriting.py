# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites what PT2E could not quantise as a whole: attention, matmul of more than three dimensions, operators with
several results, division by numbers, norms, limits, and masks that are added to scores."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from sdk.backends.arm.quantizer.masked_softmax import attention, softmax
from sdk.backends.arm.quantizer.masks import SOFTMAXES, constant_of
from sdk.backends.arm.quantizer.place import Place, is_float, is_static
from sdk.backends.arm.quantizer.weights import divide_weights
from sdk.backends.graph.shapes import shape_of
from sdk.backends.quantizer.aliases import functional_form, is_view, is_written
from sdk.backends.quantizer.patterns import CONVOLUTIONS, LINEAR, TRANSPOSED

_aten = torch.ops.aten


def rewrite(model: GraphModule) -> None:
    """Rewrites `model`. Calls without a quantised form do not change."""
    copies: dict[Node, Node] = {}
    for node in list(model.graph.nodes):
        write = _REWRITES.get(node.target) if node.op == "call_function" else None
        result = write(Place(model, node, copies)) if write is not None else None
        if isinstance(result, Node):
            node.replace_all_uses_with(result)
            model.graph.erase_node(node)
    divide_weights(model)
    model.graph.eliminate_dead_code()
    model.recompile()


def _product(place: Place) -> Node | None:
    first, second = place.arguments["self"], place.arguments["other"]
    if not is_static(first, second) or len(shape_of(first)) < 3:
        return None
    *batches, rows, inner = shape_of(first)
    shape = (*batches, rows, shape_of(second)[-1])
    if len(shape_of(second)) == 2:
        flat = place.reshape(first, (math.prod(batches) * rows, inner))
        return place.reshape(place.call(_aten.mm.default, flat, second), shape)
    if shape_of(second)[:-2] != tuple(batches):
        return None
    flat, other = (place.reshape(each, (math.prod(batches), *shape_of(each)[-2:])) for each in (first, second))
    return place.reshape(place.call(_aten.bmm.default, flat, other), shape)


def _parts(sizes: Callable[[Place, int], Sequence[int]]) -> Callable[[Place], None]:
    """Splits along a dimension, as slices."""

    def write(place: Place) -> None:
        source, dim = place.arguments["self"], place.arguments["dim"]
        if not is_static(source):
            return
        starts = [0]
        for size in sizes(place, shape_of(source)[dim]):
            starts.append(starts[-1] + size)
        for user in list(place.node.users):
            if user.target is operator.getitem:
                position = user.args[1]
                part = place.call(_aten.slice.Tensor, source, dim, starts[position], starts[position + 1])
                user.replace_all_uses_with(part)
                user.graph.erase_node(user)

    return write


def _even(size: int, whole: int) -> list[int]:
    return [min(size, whole - start) for start in range(0, whole, size)]


def _unbind(place: Place) -> None:
    for user in list(place.node.users):
        if user.target is operator.getitem:
            chosen = place.call(_aten.select.int, place.arguments["self"], place.arguments["dim"], user.args[1])
            user.replace_all_uses_with(chosen)
            user.graph.erase_node(user)


def _quotient(place: Place) -> Node | None:
    number = place.arguments["other"]
    if isinstance(number, Node) or not number or not is_float(place.arguments["self"]):
        return None
    return place.call(_aten.mul.Tensor, place.arguments["self"], place.constant(torch.tensor(1 / float(number))))


def _reversed(place: Place) -> Node | None:
    """rsub, which subtracts the first operand from the second."""
    given = place.arguments
    if given["alpha"] != 1 or not is_float(place.node):
        return None
    first = given["other"] if isinstance(given["other"], Node) else place.constant(torch.tensor(float(given["other"])))
    return place.call(_aten.sub.Tensor, first, given["self"])


def _gated(place: Place) -> Node | None:
    """Multiplies one half by the sigmoid of the other half."""
    source, dim = place.arguments["self"], place.arguments["dim"]
    if not is_static(source) or not is_float(source):
        return None
    size = shape_of(source)[dim]
    value, gate = (place.call(_aten.slice.Tensor, source, dim, at, at + size // 2) for at in (0, size // 2))
    return place.call(_aten.mul.Tensor, value, place.call(_aten.sigmoid.default, gate))


def _extremes(values: Any, positions: Any) -> Callable[[Place], None]:
    """The largest or smallest elements along a dimension, and where they are."""

    def write(place: Place) -> None:
        given = place.arguments
        if not is_float(given["self"]):
            return
        # A captured graph has a getitem for both results, even if one is not read.
        for user in [user for user in place.node.users if user.users]:
            source, dim, keepdim = (given[name] for name in ("self", "dim", "keepdim"))
            if user.args[1] == 0:
                result = place.call(values, source, [dim], keepdim)
            else:
                result = place.call(positions, source, dim, keepdim)
            user.replace_all_uses_with(result)
            user.graph.erase_node(user)

    return write


def _over_all(target: Any) -> Callable[[Place], Node | None]:
    """A reduction over all dimensions, as a call that lists the dimensions."""

    def write(place: Place) -> Node | None:
        source = place.arguments["self"]
        dims = list(range(source.meta["val"].dim()))
        return place.call(target, source, dims) if dims and is_float(source) and is_float(place.node) else None

    return write


def _deviation(*finish: Any) -> Callable[[Place], Node | None]:
    """Variance: the mean of the squared differences from the mean, times n / (n - correction)."""

    def write(place: Place) -> Node | None:
        given, source = place.arguments, place.arguments["self"]
        sizes = source.meta["val"].shape
        dims = [dim % len(sizes) for dim in given.get("dim") or range(len(sizes))]
        if not dims or not is_static(source) or not is_float(source):
            return None
        count = math.prod(sizes[dim] for dim in dims)
        correction = given["correction"] if "correction" in given else int(given["unbiased"])
        degrees = count - (1 if correction is None else correction)
        if degrees <= 0:
            return None
        away = place.call(_aten.sub.Tensor, source, place.call(_aten.mean.dim, source, dims, True))
        result = place.call(_aten.mean.dim, place.call(_aten.mul.Tensor, away, away), dims, given["keepdim"])
        if degrees != count:
            result = place.call(_aten.mul.Tensor, result, place.constant(torch.tensor(count / degrees)))
        for function in finish:
            result = place.call(function, result)
        return result

    return write


def _expanded(place: Place) -> Node | None:
    """The operand, expanded to the sizes of the result. An operand that only provides these sizes is dropped."""
    if not is_static(place.node):
        return None
    return place.call(_aten.expand.default, place.arguments["self"], list(shape_of(place.node)))


def _stack(place: Place) -> Node:
    given = place.arguments
    dim = given["dim"] % place.node.meta["val"].dim()
    return place.call(
        _aten.cat.default, [place.call(_aten.unsqueeze.default, each, dim) for each in given["tensors"]], dim
    )


def _scaled(place: Place) -> Node | None:
    """add or sub with an alpha, by which the second operand is multiplied."""
    given = place.arguments
    if given["alpha"] == 1 or not isinstance(given["other"], Node) or not is_float(place.node):
        return None
    number = place.constant(torch.tensor(float(given["alpha"])))
    return place.call(place.node.target, given["self"], place.call(_aten.mul.Tensor, given["other"], number))


def _instance_norm(place: Place) -> Node | None:
    """Instance norm as a group norm with one channel in each group."""
    given = place.arguments
    if not given["use_input_stats"] or not is_static(given["input"]) or not is_float(given["input"]):
        return None
    channels = shape_of(given["input"])[1]
    return place.call(_aten.group_norm.default, given["input"], channels, given["weight"], given["bias"], given["eps"])


def _fill(place: Place) -> Node | None:
    source, number = place.arguments["self"], place.arguments["value"]
    if not is_float(source):
        return None
    return place.call(_aten.where.self, place.arguments["mask"], place.constant(torch.tensor(float(number))), source)


def _choice(place: Place) -> Node | None:
    """where with a number as one or both of the values."""
    condition, *both = place.node.args
    if not is_float(place.node):
        return None
    tensors = [each if isinstance(each, Node) else place.constant(torch.tensor(float(each))) for each in both]
    return place.call(_aten.where.self, condition, *tensors)


def _batch_norm(place: Place) -> Node | None:
    """Turns a batch norm with known statistics into a depthwise 1x1 convolution, whose weights are exact in int8 with a
    scale for each channel. A norm after a convolution stays, because it is folded into the convolution."""
    given = place.arguments
    source = given["input"]
    rank = source.meta["val"].dim()
    known = {name: constant_of(given[name]) for name in ("weight", "bias", "running_mean", "running_var")}
    missing = any(known[name] is None and isinstance(given[name], Node) for name in known)
    if given["training"] or missing or source.target in (*CONVOLUTIONS, *TRANSPOSED, *LINEAR) or not 2 <= rank <= 4:
        return None
    if known["running_mean"] is None or known["running_var"] is None or not is_float(source):
        return None
    exact = {name: tensor.detach().double() for name, tensor in known.items() if tensor is not None}
    factor = (exact["running_var"] + given["eps"]).rsqrt() * exact.get("weight", 1.0)
    summand = exact.get("bias", 0.0) - exact["running_mean"] * factor
    channels, spatial = factor.numel(), max(rank - 2, 1)
    weight = place.constant(factor.float().reshape(channels, 1, *(1,) * spatial))
    convolution = _aten.conv2d.default if spatial == 2 else _aten.conv1d.default
    ones, zeros = [1] * spatial, [0] * spatial
    value = place.call(_aten.unsqueeze.default, source, 2) if rank == 2 else source
    result = place.call(convolution, value, weight, place.constant(summand.float()), ones, zeros, ones, channels)
    return place.call(_aten.squeeze.dim, result, 2) if rank == 2 else result


def _limits(place: Place) -> Node | None:
    """clamp with tensors as limits."""
    result = place.arguments["self"]
    for name, limit in (("min", _aten.maximum.default), ("max", _aten.minimum.default)):
        bound = place.arguments[name]
        if bound is not None:
            result = place.call(limit, result, bound)
    return result if is_float(place.node) else None


def _filled(place: Place) -> Node | None:
    """full_like."""
    if not is_float(place.node) or not is_static(place.node):
        return None
    number = place.constant(torch.tensor(float(place.arguments["fill_value"])))
    return place.call(_aten.expand.default, number, list(shape_of(place.node)))


def _copied(place: Place) -> Node | None:
    """A copy that overwrites a whole tensor."""
    source = place.arguments["src"]
    if source.meta["val"].dtype != place.node.meta["val"].dtype or not is_static(place.node):
        return None
    shape = shape_of(place.node)
    return source if shape_of(source) == shape else place.call(_aten.expand.default, source, list(shape))


def make_functional(model: GraphModule) -> None:
    """Replaces operators that write in place to an operand that nothing else reads."""
    for node in list(model.graph.nodes):
        target = functional_form(node.target) if node.op == "call_function" else None
        if target is not None and _is_read_once(node.args[0]):
            with node.graph.inserting_before(node):
                made = node.graph.call_function(target, node.args, node.kwargs)
            made.meta = dict(node.meta)
            node.replace_all_uses_with(made)
            node.graph.erase_node(node)


def _is_read_once(base: Any) -> bool:
    """Whether a call computes a tensor that has one reader, directly or through views."""
    while isinstance(base, Node) and len(base.users) == 1 and is_view(base):
        base = base.args[0]
    return isinstance(base, Node) and len(base.users) == 1 and base.op == "call_function"


def _nothing(place: Place) -> Node | None:
    """The operand of a call that changes nothing: a copy, if nothing is written to it or to its source, or dropout that
    drops nothing. None for other calls."""
    source = base = place.node.all_input_nodes[0]
    while is_view(base):
        base = base.all_input_nodes[0]
    if place.arguments.get("train") or is_written(base) or is_written(place.node):
        return None
    return source


_REWRITES: dict[Any, Callable[[Place], Node | None]] = {
    _aten.scaled_dot_product_attention.default: attention,
    **dict.fromkeys(SOFTMAXES, softmax),
    _aten.matmul.default: _product,
    _aten.chunk.default: _parts(lambda place, size: _even(-(-size // place.arguments["chunks"]), size)),
    _aten.split.Tensor: _parts(lambda place, size: _even(place.arguments["split_size"], size)),
    _aten.split_with_sizes.default: _parts(lambda place, size: place.arguments["split_sizes"]),
    _aten.unbind.int: _unbind,
    _aten.div.Tensor: _quotient,
    **dict.fromkeys((_aten.rsub.Scalar, _aten.rsub.Tensor), _reversed),
    _aten.glu.default: _gated,
    _aten.max.dim: _extremes(_aten.amax.default, _aten.argmax.default),
    _aten.min.dim: _extremes(_aten.amin.default, _aten.argmin.default),
    _aten.max.default: _over_all(_aten.amax.default),
    _aten.min.default: _over_all(_aten.amin.default),
    _aten.mean.default: _over_all(_aten.mean.dim),
    _aten.sum.default: _over_all(_aten.sum.dim_IntList),
    **dict.fromkeys((_aten.var.correction, _aten.var.dim), _deviation()),
    **dict.fromkeys((_aten.std.correction, _aten.std.dim), _deviation(_aten.sqrt.default)),
    _aten.stack.default: _stack,
    _aten.expand_as.default: _expanded,
    **dict.fromkeys((_aten.add.Tensor, _aten.sub.Tensor), _scaled),
    _aten.instance_norm.default: _instance_norm,
    _aten.masked_fill.Scalar: _fill,
    **dict.fromkeys((_aten.where.Scalar, _aten.where.ScalarSelf, _aten.where.ScalarOther), _choice),
    _aten.batch_norm.default: _batch_norm,
    _aten.clamp.Tensor: _limits,
    _aten.full_like.default: _filled,
    _aten.copy.default: _copied,
    **dict.fromkeys(
        (_aten.contiguous.default, _aten.clone.default, _aten.dropout.default, _aten.alias.default), _nothing
    ),
}
REWRITTEN = frozenset(_REWRITES)
