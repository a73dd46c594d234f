# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites attention and masked softmaxes so that scores and mask values are not quantised with one scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation

from sdk.backends.arm.quantizer.masks import Numbers, computed_from_inputs, constant_of, is_mask, is_masked
from sdk.backends.arm.quantizer.place import Place, is_float, is_static
from sdk.backends.arm.tosa.integer.masking import MASKED
from sdk.backends.graph.shapes import shape_of
from sdk.backends.quantizer.patterns import ANNOTATION

_aten = torch.ops.aten
_ABSORBS = -(2.0**28)  # adjacent float32 numbers differ by 32 there, so that adding a score changes nothing
_RESHAPES = (
    *(_aten.view.default, _aten.reshape.default, _aten._unsafe_view.default, _aten.flatten.using_ints),
    *(_aten.unflatten.int, _aten.unsqueeze.default, _aten.squeeze.default, _aten.squeeze.dim, _aten.squeeze.dims),
)


def attention(place: Place) -> Node | None:
    """Attention as two bmm calls with a softmax between them; None with dropout or shared heads."""
    given = place.arguments
    query, key, value, mask = (given[name] for name in ("query", "key", "value", "attn_mask"))
    batches = shape_of(query)[:-2]
    alike = is_static(query, key, value) and batches and shape_of(key)[:-2] == batches == shape_of(value)[:-2]
    if given["dropout_p"] or given["enable_gqa"] or not alike:
        return None
    count, length, width = math.prod(batches), shape_of(query)[-2], shape_of(query)[-1]
    scale = 1 / math.sqrt(width) if given["scale"] is None else given["scale"]
    flat = [place.reshape(each, (count, *shape_of(each)[-2:])) for each in (query, key, value)]
    scaled = place.call(_aten.mul.Tensor, flat[0], place.constant(torch.tensor(scale)))
    scores = place.call(_aten.bmm.default, scaled, place.call(_aten.transpose.int, flat[1], 1, 2))
    several = (*batches, length, shape_of(key)[-2])
    if given["is_causal"]:
        mask = place.constant(torch.ones(several[-2:], dtype=torch.bool).tril())
    if mask is None:
        shares = place.call(_aten.softmax.int, scores, -1)
    else:
        masked = _with_mask(place, place.reshape(scores, several), mask)
        shares = place.reshape(place.call(_aten._safe_softmax.default, masked, -1), shape_of(scores))
    return place.reshape(place.call(_aten.bmm.default, shares, flat[2]), (*batches, length, shape_of(value)[-1]))


def _with_mask(place: Place, scores: Node, mask: Node) -> Node:
    """Applies the mask: a bool mask selects scores, a float mask is added to them."""
    if mask.meta["val"].dtype == torch.bool:
        return place.call(_aten.where.self, mask, scores, place.constant(torch.tensor(-math.inf)))
    return _masked(place, (scores, mask), -1) or place.call(_aten.add.Tensor, scores, mask)


def _masked(place: Place, operands: Sequence[Any], dim: int) -> Node | None:
    """Rewrites scores + mask so that both have separate scales, if the mask removes elements from the softmax;
    otherwise returns None. The calls that compute the mask stay in floats."""
    pairs = [each for each in (operands, operands[::-1]) if all(isinstance(node, Node) for node in each)]
    pairs = [each for each in pairs if all(map(is_float, each))]
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


def _known_mask(place: Place, scores: Node, mask: Node, dim: int) -> Node | None:
    """The scores with a mask that is constant or has only a few possible values, otherwise None. If the mask has one
    value besides 0, `where` selects between the scores and this value."""
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
    if others[0] > _ABSORBS:  # added to a whole row, it does not change the probabilities
        nothing = place.call(_aten.logical_not.default, place.call(_aten.any.dim, keeps, dim, True))
        keeps = place.call(_aten.logical_or.default, keeps, nothing)
    return place.call(_aten.where.self, keeps, scores, place.constant(others[0]))


def _less_the_largest(place: Place, scores: Node | None, mask: Node | Tensor, dim: int) -> Node:
    """Returns the scores with their mask added, for a mask whose values are not known, or a constant mask that also has
    finite summands. Values that mask an element become minus infinity; the others are an activation that is added to
    the scores. If a row is masked completely, its largest mask value is subtracted from the mask first, which does not
    change the probabilities. If that value is so large that adding a score to it is lost in float32, the probabilities
    of the row are equal; if it is minus infinity, they are 0. `scores` is None if the mask already contains them."""

    def compute(target: Any, *arguments: Any) -> Any:
        if any(isinstance(each, Node) for each in arguments):
            nodes = [place.constant(each) if isinstance(each, Tensor) else each for each in arguments]
            return _in_floats(place.call(target, *nodes))
        return target(*arguments)

    ranks = [
        len(shape_of(each) if isinstance(each, Node) else each.shape) for each in (mask, scores) if each is not None
    ]
    rank = max(ranks)
    for _ in range(rank - ranks[0]):
        mask = compute(_aten.unsqueeze.default, mask, 0)
    largest = compute(_aten.amax.default, mask, [dim % rank], True)
    zero, limit = torch.tensor(0.0), MASKED / 2  # the mask may contain the scores, or a bias
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
    """Keeps the result of a node in floats."""
    node.meta[ANNOTATION] = QuantizationAnnotation(_annotated=True)
    return node


def _leaves_in_floats(nodes: set[Node] | None) -> bool:
    """Keeps the results of all nodes in floats. Returns False for None."""
    for node in nodes or ():
        _in_floats(node)
    return nodes is not None


def softmax(place: Place) -> None:
    """Rewrites the operand of a softmax: a choice or a sum of scores and a mask, possibly followed by reshapes and
    limits."""
    scores, steps = place.node.args[0], []
    while isinstance(scores, Node) and (scores.target in _RESHAPES or _limit(scores) is not None):
        steps.append(scores)
        scores = scores.args[0]
    operands = _operands(scores)
    for step in reversed(steps):
        operands = operands and _after(place, step, operands)
    if operands is None:
        return
    masked = None
    if operands[0] is None:
        masked = _masked(place, operands[1:], place.arguments["dim"])
    elif steps and any(map(is_masked, operands[1:])):
        known = [(each, constant_of(each)) for each in operands]
        masked = place.call(_aten.where.self, *(each if to is None else place.copy(each, to) for each, to in known))
    if masked is not None:
        place.node.update_arg(0, masked)


Operands = tuple[Any, ...]
"""The condition and operands of a choice; None and operands of a sum."""


def _operands(node: Any) -> Operands | None:
    target = node.target if isinstance(node, Node) else None
    if target is _aten.where.self:
        return node.args
    return (None, *node.args[:2]) if target is _aten.add.Tensor and not node.kwargs else None


def _after(place: Place, step: Node, operands: Operands) -> Operands | None:
    """Moves a reshape or a limit from the result of a choice or sum to the operands; None if that is not possible."""
    nodes = [each for each in operands if each is not None]
    if not all(isinstance(each, Node) for each in nodes) or not is_static(step, *nodes):
        return None
    limit, whole = _limit(step), torch.broadcast_shapes(*map(shape_of, nodes))
    if limit is None:
        return tuple(each and _reshaped(place, each, whole, shape_of(step)) for each in operands)
    mask = _mask_of(operands[1:])
    if mask is None or shape_of(step) != whole or not all(map(is_float, operands[1:])):
        return None
    # Scores are always above the limit, so only the mask needs it.
    return tuple(place.call(_aten.maximum.default, each, limit) if each is mask else each for each in operands)


def _mask_of(operands: Sequence[Node]) -> Node | None:
    """The operand that is the mask: its values are known, or computed from the inputs alone. None if neither operand or
    both may be the mask."""
    for known in (constant_of, lambda each: Numbers().of(each), computed_from_inputs):
        found = [each for each in operands if known(each) is not None]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _reshaped(place: Place, operand: Node, whole: tuple[int, ...], shape: tuple[int, ...]) -> Node:
    """The operand in the shape `shape`, expanded to `whole` first. A scalar stays a scalar."""
    if shape_of(operand) == whole:
        return place.reshape(operand, shape)
    if not shape_of(operand):
        return operand
    return place.reshape(place.call(_aten.expand.default, operand, list(whole)), shape)


def _limit(node: Node) -> Node | None:
    """The lower limit of a call, if it is a number that scores do not reach; otherwise None."""
    if node.target not in (_aten.maximum.default, _aten.max.other):
        return None
    known = constant_of(node.args[1])
    return node.args[1] if known is not None and known.numel() == 1 and float(known) <= _ABSORBS else None
