# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites what PT2E could not quantise as a whole: attention, matrix products of more than three dimensions, operators
with several results, quotients by numbers, norms, limits, and masks that are added to scores."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_map_only
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation

from sdk.backends.arm.quantizer.masks import (
    SOFTMAXES,
    Numbers,
    computed_from_inputs,
    constant_of,
    is_mask,
    is_view,
)
from sdk.backends.arm.tosa.integer.masking import MASKED
from sdk.backends.quantizer.patterns import ANNOTATION, CONVOLUTIONS, LINEAR, TRANSPOSED

_aten = torch.ops.aten
_ABSORBS = -(2.0**28)  # of which a step of float32 is 32


def rewrite(model: GraphModule) -> None:
    """Changes `model`. What has no such form stays as it is."""
    copies: dict[Node, Node] = {}
    for node in list(model.graph.nodes):
        write = _REWRITES.get(node.target) if node.op == "call_function" else None
        result = write(_Place(model, node, copies)) if write is not None else None
        if isinstance(result, Node):
            node.replace_all_uses_with(result)
            model.graph.erase_node(node)
    model.graph.eliminate_dead_code()
    model.recompile()


class _Place:
    """The place of a call, where nodes that stand for it are written."""

    def __init__(self, model: GraphModule, node: Node, copies: dict[Node, Node]) -> None:
        self._model = model
        self._copies = copies
        self.node = node
        schema = node.target._schema.arguments
        given = {argument.name: argument.default_value for argument in schema}
        given.update(zip((argument.name for argument in schema), node.args, strict=False))
        self.arguments: dict[str, Any] = {**given, **node.kwargs}

    def call(self, target: Any, *arguments: Any) -> Node:
        with self.node.graph.inserting_before(self.node):
            made = self.node.graph.call_function(target, arguments)
        values = tree_map_only(Node, lambda each: each.meta["val"], arguments)
        made.meta = {**self.node.meta, "val": target(*values)}
        return made

    def constant(self, tensor: Tensor) -> Node:
        number = 0
        while hasattr(self._model, f"_constant_{number}"):
            number += 1
        name = f"_constant_{number}"
        self._model.register_buffer(name, tensor)
        with self.node.graph.inserting_before(self.node):
            made = self.node.graph.get_attr(name)
        value = self.node.meta["val"]
        mode = (value[0] if isinstance(value, list | tuple) else value).fake_mode
        made.meta = {**self.node.meta, "val": mode.from_tensor(tensor)}
        return made

    def copy(self, node: Node, known: Tensor) -> Node:
        """The constant that a node computes, once for all that read it."""
        if node.op == "get_attr":
            return node
        if node not in self._copies:
            self._copies[node] = self.constant(known)
        return self._copies[node]

    def reshape(self, node: Node, shape: Sequence[int]) -> Node:
        return node if _shape(node) == tuple(shape) else self.call(_aten.reshape.default, node, list(shape))


def _shape(node: Node) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)


def _is_static(*nodes: Node) -> bool:
    return all(isinstance(size, int) for node in nodes for size in _shape(node))


def _attention(place: _Place) -> Node | None:
    given = place.arguments
    query, key, value, mask = (given[name] for name in ("query", "key", "value", "attn_mask"))
    batches = _shape(query)[:-2]
    alike = _is_static(query, key, value) and batches and _shape(key)[:-2] == batches == _shape(value)[:-2]
    if given["dropout_p"] or given["enable_gqa"] or not alike:
        return None
    count, length, width = math.prod(batches), _shape(query)[-2], _shape(query)[-1]
    scale = 1 / math.sqrt(width) if given["scale"] is None else given["scale"]
    flat = [place.reshape(each, (count, *_shape(each)[-2:])) for each in (query, key, value)]
    scaled = place.call(_aten.mul.Tensor, flat[0], place.constant(torch.tensor(scale)))
    scores = place.call(_aten.bmm.default, scaled, place.call(_aten.transpose.int, flat[1], 1, 2))
    several = (*batches, length, _shape(key)[-2])
    if given["is_causal"]:
        mask = place.constant(torch.ones(several[-2:], dtype=torch.bool).tril())
    if mask is None:
        shares = place.call(_aten.softmax.int, scores, -1)
    else:
        masked = _with_mask(place, place.reshape(scores, several), mask)
        shares = place.reshape(place.call(_aten._safe_softmax.default, masked, -1), _shape(scores))
    return place.reshape(place.call(_aten.bmm.default, shares, flat[2]), (*batches, length, _shape(value)[-1]))


def _with_mask(place: _Place, scores: Node, mask: Node) -> Node:
    """A mask of bool chooses."""
    if mask.meta["val"].dtype == torch.bool:
        return place.call(_aten.where.self, mask, scores, place.constant(torch.tensor(-math.inf)))
    return _masked(place, (scores, mask), -1) or place.call(_aten.add.Tensor, scores, mask)


def _masked(place: _Place, operands: Sequence[Any], dim: int) -> Node | None:
    """A sum of scores and a mask that takes elements out of a softmax, as something that keeps the scores apart from
    the mask's numbers; else None. What computes a mask stays in floats."""
    pairs = [each for each in (operands, operands[::-1]) if all(isinstance(node, Node) for node in each)]
    pairs = [each for each in pairs if all(map(_is_float, each))]
    for scores, mask in pairs:
        masked = _known_mask(place, scores, mask, dim)
        if masked is not None:
            return masked
    pairs = [(scores, mask) for scores, mask in pairs if constant_of(scores) is None]
    unknown = [(scores, mask) for scores, mask in pairs if _leaves_in_floats(computed_from_inputs(mask))]
    if len(unknown) == 2:
        total = _in_floats(place.call(_aten.add.Tensor, *operands))
        return _less_the_largest(place, None, total, dim)
    return _less_the_largest(place, *unknown[0], dim) if unknown else None


def _known_mask(place: _Place, scores: Node, mask: Node, dim: int) -> Node | None:
    """With a mask that is a constant, or that is computed and has a few known numbers: for one number, a choice between
    the scores and the number."""
    known = constant_of(mask)
    if known is not None:
        if is_mask(known.unique()):
            return place.call(_aten.add.Tensor, scores, place.copy(mask, known))
        return _less_the_largest(place, scores, known, dim) if bool((known <= MASKED).any()) else None
    read = Numbers()
    numbers = read.of(mask)
    if numbers is None or not any(number <= MASKED for number in numbers):
        return None
    _leaves_in_floats(read.nodes | (computed_from_inputs(mask) or set()))
    others = [each for each in numbers if each != 0]
    if len(others) != 1:
        return _less_the_largest(place, scores, mask, dim)
    keeps = _in_floats(place.call(_aten.eq.Scalar, mask, 0))
    if others[0] > _ABSORBS:  # added to all of a row, it leaves the row's shares as they are
        nothing = place.call(_aten.logical_not.default, place.call(_aten.any.dim, keeps, dim, True))
        keeps = place.call(_aten.logical_or.default, keeps, nothing)
    return place.call(_aten.where.self, keeps, scores, place.constant(others[0]))


def _less_the_largest(place: _Place, scores: Node | None, mask: Node | Tensor, dim: int) -> Node:
    """Scores with a mask whose numbers are not known, or a constant of more than numbers that take out. Numbers that
    take out become minus infinity; the others are an activation that is added to the scores. From a row of nothing but
    numbers that take out, its largest number is subtracted first, which does not change the shares. Where float32 has
    no digits of a score beside that number, the shares are equal; where it is minus infinity, they are 0. `scores` is
    None if the mask has them in it."""

    def compute(target: Any, *arguments: Any) -> Any:
        if any(isinstance(each, Node) for each in arguments):
            nodes = [place.constant(each) if isinstance(each, Tensor) else each for each in arguments]
            return _in_floats(place.call(target, *nodes))
        return target(*arguments)

    ranks = [len(_shape(each) if isinstance(each, Node) else each.shape) for each in (mask, scores) if each is not None]
    rank = max(ranks)
    for _ in range(rank - ranks[0]):
        mask = compute(_aten.unsqueeze.default, mask, 0)
    largest = compute(_aten.amax.default, mask, [dim % rank], True)
    zero, limit = torch.tensor(0.0), MASKED / 2  # the scores may be in the mask, or a bias
    least = compute(_aten.where.self, compute(_aten.gt.Scalar, largest, limit), zero, largest)
    relative = compute(_aten.sub.Tensor, mask, least)
    keeps = compute(_aten.gt.Scalar, relative, limit)
    kept = compute(_aten.where.self, keeps, relative, zero)
    keeps, absorbed, kept = (
        place.constant(each) if isinstance(each, Tensor) else each
        for each in (keeps, compute(_aten.le.Scalar, largest, _ABSORBS), kept)
    )
    if scores is not None:
        digits = place.call(_aten.where.self, absorbed, place.constant(zero), scores)
        kept = place.call(_aten.add.Tensor, digits, kept)
    return place.call(_aten.where.self, keeps, kept, place.constant(torch.tensor(-math.inf)))


def _in_floats(node: Node) -> Node:
    """Leaves what a node computes as it is."""
    node.meta[ANNOTATION] = QuantizationAnnotation(_annotated=True)
    return node


def _leaves_in_floats(nodes: set[Node] | None) -> bool:
    """Leaves what all of some nodes compute as it is; False if there are none."""
    for node in nodes or ():
        _in_floats(node)
    return nodes is not None


def _softmax(place: _Place) -> None:
    """A softmax of scores and a mask that takes elements out."""
    total = place.node.args[0]
    if isinstance(total, Node) and total.target is _aten.add.Tensor and not total.kwargs:
        masked = _masked(place, total.args[:2], place.arguments["dim"])
        if masked is not None:
            place.node.update_arg(0, masked)


def _product(place: _Place) -> Node | None:
    first, second = place.arguments["self"], place.arguments["other"]
    if not _is_static(first, second) or len(_shape(first)) < 3:
        return None
    *batches, rows, inner = _shape(first)
    shape = (*batches, rows, _shape(second)[-1])
    if len(_shape(second)) == 2:
        flat = place.reshape(first, (math.prod(batches) * rows, inner))
        return place.reshape(place.call(_aten.mm.default, flat, second), shape)
    if _shape(second)[:-2] != tuple(batches):
        return None
    flat, other = (place.reshape(each, (math.prod(batches), *_shape(each)[-2:])) for each in (first, second))
    return place.reshape(place.call(_aten.bmm.default, flat, other), shape)


def _parts(sizes: Callable[[_Place, int], Sequence[int]]) -> Callable[[_Place], None]:
    """Parts along a dimension, as slices."""

    def write(place: _Place) -> None:
        source, dim = place.arguments["self"], place.arguments["dim"]
        if not _is_static(source):
            return
        starts = [0]
        for size in sizes(place, _shape(source)[dim]):
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


def _unbind(place: _Place) -> None:
    for user in list(place.node.users):
        if user.target is operator.getitem:
            chosen = place.call(_aten.select.int, place.arguments["self"], place.arguments["dim"], user.args[1])
            user.replace_all_uses_with(chosen)
            user.graph.erase_node(user)


def _quotient(place: _Place) -> Node | None:
    number = place.arguments["other"]
    if isinstance(number, Node) or not number or not _is_float(place.arguments["self"]):
        return None
    return place.call(_aten.mul.Tensor, place.arguments["self"], place.constant(torch.tensor(1 / float(number))))


def _fill(place: _Place) -> Node | None:
    source, number = place.arguments["self"], place.arguments["value"]
    if not _is_float(source):
        return None
    return place.call(_aten.where.self, place.arguments["mask"], place.constant(torch.tensor(float(number))), source)


def _choice(place: _Place) -> Node | None:
    """A choice with a number, or between two."""
    condition, *both = place.node.args
    if not _is_float(place.node):
        return None
    tensors = [each if isinstance(each, Node) else place.constant(torch.tensor(float(each))) for each in both]
    return place.call(_aten.where.self, condition, *tensors)


def _batch_norm(place: _Place) -> Node | None:
    """A norm with known statistics that follows no convolution, whose weights it would become: a convolution of each
    channel with one element, which int8 with a scale for each channel has exactly."""
    given = place.arguments
    source = given["input"]
    rank = source.meta["val"].dim()
    known = {name: constant_of(given[name]) for name in ("weight", "bias", "running_mean", "running_var")}
    missing = any(known[name] is None and isinstance(given[name], Node) for name in known)
    if given["training"] or missing or source.target in (*CONVOLUTIONS, *TRANSPOSED, *LINEAR) or not 2 <= rank <= 4:
        return None
    if known["running_mean"] is None or known["running_var"] is None or not _is_float(source):
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


def _limits(place: _Place) -> Node | None:
    """Limits that are tensors."""
    result = place.arguments["self"]
    for name, limit in (("min", _aten.maximum.default), ("max", _aten.minimum.default)):
        bound = place.arguments[name]
        if bound is not None:
            result = place.call(limit, result, bound)
    return result if _is_float(place.node) else None


def _filled(place: _Place) -> Node | None:
    """A tensor of one number, like another."""
    if not _is_float(place.node) or not _is_static(place.node):
        return None
    number = place.constant(torch.tensor(float(place.arguments["fill_value"])))
    return place.call(_aten.expand.default, number, list(_shape(place.node)))


def _copied(place: _Place) -> Node | None:
    """A copy into a tensor whose elements nothing reads."""
    source = place.arguments["src"]
    if source.meta["val"].dtype != place.node.meta["val"].dtype or not _is_static(place.node):
        return None
    shape = _shape(place.node)
    return source if _shape(source) == shape else place.call(_aten.expand.default, source, list(shape))


def _functional(target: Any) -> Callable[[_Place], Node | None]:
    """What writes its result to an operand that nothing else reads."""

    def write(place: _Place) -> Node | None:
        base = place.node.args[0]
        while isinstance(base, Node) and len(base.users) == 1 and is_view(base):
            base = base.args[0]
        if not isinstance(base, Node) or len(base.users) != 1 or base.op != "call_function":
            return None
        made = place.call(target, *place.node.args)
        made.kwargs = place.node.kwargs
        rewrite = _REWRITES.get(target)
        return made if rewrite is None else (rewrite(place) or made)

    return write


def _nothing(place: _Place) -> Node | None:
    """Copies, if nothing is written to them or to what they copy, and dropout that drops nothing."""
    source = base = place.node.all_input_nodes[0]
    while is_view(base):
        base = base.all_input_nodes[0]
    if place.arguments.get("train") or _is_written(base) or _is_written(place.node):
        return None
    return source


def _is_written(node: Node) -> bool:
    """Whether an operator writes to a tensor or to a view of it."""
    for user in node.users:
        target = user.target
        if isinstance(target, torch._ops.OpOverload) and target._schema.is_mutable and user.args[0] is node:
            return True
        if is_view(user) and _is_written(user):
            return True
    return False


def _is_float(node: Node) -> bool:
    return node.meta["val"].dtype == torch.float32


_REWRITES: dict[Any, Callable[[_Place], Node | None]] = {
    _aten.scaled_dot_product_attention.default: _attention,
    **dict.fromkeys(SOFTMAXES, _softmax),
    _aten.matmul.default: _product,
    _aten.chunk.default: _parts(lambda place, size: _even(-(-size // place.arguments["chunks"]), size)),
    _aten.split.Tensor: _parts(lambda place, size: _even(place.arguments["split_size"], size)),
    _aten.split_with_sizes.default: _parts(lambda place, size: place.arguments["split_sizes"]),
    _aten.unbind.int: _unbind,
    _aten.div.Tensor: _quotient,
    _aten.masked_fill.Scalar: _fill,
    **dict.fromkeys((_aten.where.Scalar, _aten.where.ScalarSelf, _aten.where.ScalarOther), _choice),
    _aten.batch_norm.default: _batch_norm,
    _aten.clamp.Tensor: _limits,
    _aten.full_like.default: _filled,
    _aten.copy.default: _copied,
    _aten.masked_fill_.Scalar: _functional(_aten.masked_fill.Scalar),
    _aten.add_.Tensor: _functional(_aten.add.Tensor),
    **dict.fromkeys((_aten.contiguous.default, _aten.clone.default, _aten.dropout.default), _nothing),
}
