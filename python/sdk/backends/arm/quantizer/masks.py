# SPDX-License-Identifier: BSD-3-Clause
"""Masks of softmaxes: values that remove elements, by replacing them or by being added to them.

Such values are not activations. A scale whose range includes them would round all scores to one integer.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node
from torch.utils._pytree import tree_map_only

from sdk.backends.arm.tosa.integer.masking import MASKED
from sdk.backends.quantizer.aliases import is_view, is_written

_aten = torch.ops.aten

SOFTMAXES = frozenset((_aten.softmax.int, _aten._softmax.default, _aten._safe_softmax.default))

_MOST_COMPUTED = 1 << 20  # elements
_MOST_NODES = 64
_MOST_NUMBERS = 4
_CONVERSIONS = (_aten.to.dtype, _aten._to_copy.default, _aten.to.dtype_layout, _aten.type_as.default)
_COPIES = (_aten.clone.default, _aten.contiguous.default, _aten.repeat.default)
_CHOICES = (
    *(_aten.where.self, _aten.masked_fill.Scalar, _aten.logical_not.default, _aten.bitwise_not.default),
    *(_aten.logical_and.default, _aten.logical_or.default, _aten.bitwise_and.Tensor, _aten.bitwise_or.Tensor),
    *(
        getattr(getattr(_aten, name), overload)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
        for overload in ("Tensor", "Scalar")
    ),
)
_ARITHMETIC = (
    *(_aten.mul.Tensor, _aten.mul.Scalar, _aten.add.Tensor, _aten.add.Scalar, _aten.sub.Tensor, _aten.sub.Scalar),
    *(_aten.rsub.Scalar, _aten.neg.default, _aten.minimum.default, _aten.maximum.default),
)


def takes_out(node: Any) -> bool:
    """Whether a `where` or an addition masks elements for softmaxes, which are its only users."""
    if not isinstance(node, Node) or not all(user.target in SOFTMAXES for user in node.users):
        return False
    if node.target is _aten.where.self:
        return any(map(is_masked, node.args[1:]))
    return node.target is _aten.add.Tensor and not node.kwargs and len(scores_of(node)) == 1


def scores_of(node: Node) -> list[Any]:
    """The operands that are not masks, of a call for which `takes_out` is true."""
    if node.target is _aten.where.self:
        return [each for each in node.args[1:] if not is_masked(each)]
    return [each for each in node.args[:2] if not _is_added(each)]


def is_masked(operand: Any) -> bool:
    """Whether an operand is a constant that masks all elements."""
    known = constant_of(operand)
    return known is not None and known.is_floating_point() and bool((known <= MASKED).all())


def _is_added(operand: Any) -> bool:
    known = constant_of(operand)
    return known is not None and known.is_floating_point() and is_mask(known.unique())


def is_mask(numbers: Iterable[Any]) -> bool:
    """Whether these numbers, added to scores, either leave a score unchanged or mask it, and mask at least one."""
    return all(number == 0 or number <= MASKED for number in numbers) and any(number != 0 for number in numbers)


def constant_of(node: Any) -> Tensor | None:
    """Returns the tensor of a node that reads a weight, a buffer or a constant of its module, or that a few nodes
    compute from such tensors only, with at most a million elements each. Returns None for other nodes, and if the
    program writes to one of the tensors."""
    if not isinstance(node, Node):
        return None
    order: list[Node] = []
    pending, seen = [node], {node}
    while pending:
        each = pending.pop()
        order.append(each)
        is_known = not is_written(each) if each.op == "get_attr" else _computes(each)
        if len(order) > _MOST_NODES or not is_known:
            return None
        new = [operand for operand in each.all_input_nodes if operand not in seen]
        seen.update(new)
        pending += new
    known: dict[Node, Any] = {}
    for each in (other for other in node.graph.nodes if other in seen):
        if each.op == "get_attr":
            known[each] = functools.reduce(getattr, str(each.target).split("."), node.graph.owning_module)
        else:
            args, kwargs = tree_map_only(Node, known.__getitem__, (each.args, each.kwargs))
            with torch.no_grad():
                known[each] = each.target(*args, **kwargs)
    return known[node] if isinstance(known[node], Tensor) else None


def _computes(node: Node) -> bool:
    """Whether a call returns a small tensor that depends only on its operands."""
    value, target = node.meta.get("val"), node.target
    if not isinstance(target, torch._ops.OpOverload) or not isinstance(value, Tensor):
        return False
    if not all(isinstance(size, int) for size in value.shape):
        return False
    seeded = torch.Tag.nondeterministic_seeded in target.tags
    return not seeded and not target._schema.is_mutable and value.numel() <= _MOST_COMPUTED


def computed_from_inputs(node: Any) -> set[Node] | None:
    """The nodes that compute a tensor from the program's inputs and constants, if they are calls that compute masks:
    elementwise arithmetic, comparisons, choices and views. None if there are other calls, or no input.
    """
    if not isinstance(node, Node):
        return None
    pending, seen = [node], {node}
    while pending:
        each = pending.pop()
        if each.op in ("placeholder", "get_attr"):
            continue
        known = each.target in (*_ARITHMETIC, *_CHOICES, *_CONVERSIONS, *_COPIES) or is_view(each)
        if len(seen) > _MOST_NODES or not (known or constant_of(each) is not None):
            return None
        new = [operand for operand in each.all_input_nodes if operand not in seen]
        seen.update(new)
        pending += new
    return seen if any(each.op == "placeholder" for each in seen) else None


class Numbers:
    """The values that a tensor of a graph can have, if it is computed from comparisons, choices and constants.

    Attributes:
        nodes: The visited nodes, which compute the tensor.
    """

    def __init__(self) -> None:
        self.nodes: set[Node] = set()

    def of(self, node: Any) -> list[Tensor] | None:
        """The values as scalar tensors of `node`'s dtype; None if they are unknown or more than `_MOST_NUMBERS`."""
        value = node.meta.get("val") if isinstance(node, Node) else None
        if not isinstance(value, Tensor) or len(self.nodes) > _MOST_NODES:
            return None
        self.nodes.add(node)
        known = constant_of(node)
        if known is not None:
            return _few(known.unique().unbind())
        if value.dtype == torch.bool:
            return [torch.tensor(False), torch.tensor(True)]
        target = node.target
        if target is _aten.where.self:
            return self._chosen(*node.args)
        if target in _ARITHMETIC:
            return self._computed(node)
        if target in _CONVERSIONS:
            found = self.of(node.args[0])
            return None if found is None else _few([each.to(value.dtype) for each in found])
        if target in _COPIES or is_view(node):
            return self.of(node.args[0])
        return None

    def _chosen(self, condition: Node, first: Any, second: Any) -> list[Tensor] | None:
        """Returns the values that `where` may select. In where(b != 0, a, b), the only one from b is 0."""
        both = [self.of(first), [torch.tensor(0.0)] if _is_nonzero(condition, second) else self.of(second)]
        return None if both[0] is None or both[1] is None else _few([*both[0], *both[1]])

    def _computed(self, node: Node) -> list[Tensor] | None:
        found = [self.of(each) if isinstance(each, Node) else [each] for each in node.args]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        return _few([node.target(*numbers, **node.kwargs) for numbers in itertools.product(*known)])


def _few(numbers: Iterable[Tensor]) -> list[Tensor] | None:
    found = {float(number): number for number in numbers}
    return list(found.values()) if len(found) <= _MOST_NUMBERS else None


def _is_nonzero(condition: Node, operand: Any) -> bool:
    """Whether a condition tests that an operand is not 0."""
    converted = condition.target in _CONVERSIONS or (condition.target is _aten.ne.Scalar and condition.args[1] == 0)
    return converted and condition.args[0] is operand
