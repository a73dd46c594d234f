# SPDX-License-Identifier: BSD-3-Clause
"""Decides which calls of a graph are computed in float16, which in float32, and why. Changes nothing."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch.fx import Node
from torch.utils import _pytree as pytree

from sdk.exir.float16._rules import (
    BOUNDED_RESULTS,
    CASTS,
    FACTORIES,
    PRODUCTS,
    WEIGHTED,
    Range,
    is_aten,
    is_cast_of_truth,
    made_of_integers,
    name_of,
    number_beyond_half,
    refusal_of_weight,
    rule_of,
)
from sdk.exir.operator.aten_rules import DROPPED_OPS

HALF, FLOAT = torch.float16, torch.float32
_UNKNOWN = object()


@dataclass
class Plan:
    """How a conversion to float16 treats each node.

    Attributes:
        halves: The calls that read and compute float16.
        same: Conversions from float32 to float32, which are replaced by their operand in either dtype.
        anew: Calls that are made once for each dtype in which their result is read.
        values: The value (`meta["val"]`) that each of `halves` and `anew` has in float16.
        constants: The dtype of each float32 weight or constant in the program.
        wide: Nodes whose float32 result float16 may not hold. Operators that read them stay in float32, except layers
            and products with another operand.
        kept: How many calls of an operator stay in float32, by (operator, reason).
    """

    halves: set[Node] = field(default_factory=set)
    same: set[Node] = field(default_factory=set)
    anew: set[Node] = field(default_factory=set)
    values: dict[Node, Any] = field(default_factory=dict)
    constants: dict[Node, torch.dtype] = field(default_factory=dict)
    wide: set[Node] = field(default_factory=set)
    kept: Counter[tuple[str, str]] = field(default_factory=Counter)


class Planner:
    """Plans one graph.

    Args:
        mode: The mode of its fake tensors.
        constants: The weights and constants by node, without the buffers that the program changes.
        names: The names of weights and constants in the model, by the names of their nodes.
        wide: The inputs that float16 may not hold: state, and inputs whose examples exceed its range.
    """

    def __init__(
        self, mode: Any, constants: Mapping[Node, torch.Tensor], names: Mapping[str, str], wide: set[Node]
    ) -> None:
        self._mode = mode
        self._names = names
        self._examples = FakeTensorMode()
        self._constants = constants
        self._refusals = {node: refusal_of_weight(value) for node, value in constants.items()}
        self._plan = Plan(wide=set(wide))

    def plan(self, graph: torch.fx.Graph) -> Plan:
        """The plan of a graph, which has no calls that write to their arguments."""
        for node in graph.nodes:
            if node.op == "call_function":
                self._decide(node)
        self._store_constants()
        return self._plan

    def _decide(self, node: Node) -> None:
        plan = self._plan
        if node.target is operator.getitem:
            (source,) = node.all_input_nodes
            if source in plan.wide:
                plan.wide.add(node)
            return
        if node.target in DROPPED_OPS:
            return
        operands = [operand for operand in node.all_input_nodes if is_float(operand)]
        if not operands and not is_float(node):
            return
        if not is_aten(node):
            is_library = isinstance(node.target, torch._ops.OpOverload)
            reason = "an operator of another library" if is_library else "its bodies were captured in float32"
            self._keep(node, reason, wide=False)
        elif _is_same(node):
            plan.same.add(node)
            if node.args[0] in plan.wide:
                plan.wide.add(node)
        elif not operands:
            self._decide_source(node)
        else:
            self._decide_call(node, operands)

    def _decide_source(self, node: Node) -> None:
        """A call that makes a float32 tensor without reading one."""
        rule, number, name = rule_of(node), number_beyond_half(node), name_of(node)
        if rule is None and number is not None:
            self._keep(node, f"float16 does not hold the number {number:.3g}", wide=True)
        elif rule is None and (name in FACTORIES or is_cast_of_truth(node)):
            self._plan.anew.add(node)
            self._plan.values[node] = _cast(node.meta["val"], self._mode)
        elif rule is None and (others := _other_floats(node)):
            self._keep(node, f"it reads {others}", wide=True)
        else:
            rule = rule or made_of_integers(node)
            self._keep(node, rule.reason, rule.range is Range.WIDE)

    def _decide_call(self, node: Node, operands: list[Node]) -> None:
        plan, name = self._plan, name_of(node)
        results = [operand for operand in operands if operand not in self._constants and operand not in plan.anew]
        wide = [operand for operand in results if operand in plan.wide]
        all_wide = bool(wide) and len(wide) == len(results)
        rule = rule_of(node)
        others = _other_floats(node)
        if rule is not None:
            self._keep(node, rule.reason, rule.range is Range.WIDE or (rule.range is Range.AS_OPERANDS and all_wide))
        elif others:
            self._keep(node, f"it has operands or results in {others}", all_wide)
        elif refused := [operand for operand in operands if self._refusals.get(operand)]:
            constant = refused[0]
            reason = f"{self._names[constant.name]}: {self._refusals[constant]}"
            self._keep(node, reason, name not in BOUNDED_RESULTS)
        elif (number := number_beyond_half(node)) is not None:
            self._keep(node, f"float16 does not hold the number {number:.3g}", wide=True)
        elif name not in WEIGHTED and (all_wide if name in PRODUCTS else wide):
            reason = "it reads state or float32 results that float16 may not hold"
            self._keep(node, reason, all_wide and name not in BOUNDED_RESULTS)
        else:
            try:
                plan.values[node] = self._computed(node)
            except Exception:
                self._keep(node, "PyTorch does not compute it in float16", all_wide)
            else:
                plan.halves.add(node)

    def _keep(self, node: Node, reason: str, wide: bool) -> None:
        self._plan.kept[str(node.target), reason] += 1
        if wide:
            self._plan.wide.add(node)

    def _computed(self, node: Node) -> Any:
        """The value of a call in float16: it has the sizes of the float32 result, and the dtypes of a call with example
        operands, because a call with symbolic sizes may restrict these."""
        before, spec = pytree.tree_flatten(node.meta["val"])
        after = [HALF if _is_float_tensor(leaf) else getattr(leaf, "dtype", None) for leaf in before]
        with self._examples:
            args, kwargs = in_half(node, lambda operand: _example(operand.meta["val"]))
            if not any(leaf is _UNKNOWN for leaf in pytree.tree_leaves((args, kwargs))):
                computed = node.target(*args, **kwargs)
                after = [getattr(leaf, "dtype", None) for leaf in pytree.tree_leaves(computed)]
        values = [
            _cast(old, self._mode, new) if isinstance(old, torch.Tensor) and new is not None else old
            for old, new in zip(before, after, strict=True)
        ]
        return pytree.tree_unflatten(values, spec)

    def _store_constants(self) -> None:
        """Stores a tensor, which may have several nodes, in float16 if any operator reads it in float16; its other
        readers convert it. Otherwise it stays in float32."""
        plan = self._plan
        halves = {
            id(tensor)
            for node, tensor in self._constants.items()
            if any(reader in plan.halves for reader in readers(node, plan))
        }
        for node, tensor in self._constants.items():
            plan.constants[node] = HALF if id(tensor) in halves else FLOAT


def readers(node: Node, plan: Plan) -> Iterator[Node]:
    """The calls that read a node, also through calls that return their operand."""
    for user in node.users:
        if user in plan.same:
            yield from readers(user, plan)
        else:
            yield user


def in_half(node: Node, of: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a call in float16: nodes are replaced by `of(node)`, and float32 by float16."""

    def changed(value: Any) -> Any:
        return of(value) if isinstance(value, Node) else HALF if value is FLOAT else value

    args = torch.fx.node.map_aggregate(node.args, changed)
    return args, torch.fx.node.map_aggregate(node.kwargs, changed)


def _is_same(node: Node) -> bool:
    """Whether a call converts float32 to float32, in the layout that it has."""
    if name_of(node) not in CASTS or not is_float(node):
        return False
    source = node.args[0]
    return isinstance(source, Node) and is_float(source) and source.meta["val"].stride() == node.meta["val"].stride()


def is_float(node: Node) -> bool:
    """Whether the result of a node is (or has) a float32 tensor."""
    return any(map(_is_float_tensor, _leaves(node)))


def _is_float_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == FLOAT


def _other_floats(node: Node) -> str:
    """Returns the first dtype of a call's operands and results that is neither float32 nor an integer dtype."""
    for place in (*node.all_input_nodes, node):
        for leaf in _leaves(place):
            dtype = getattr(leaf, "dtype", FLOAT)
            if dtype != FLOAT and (dtype.is_floating_point or dtype.is_complex):
                return str(dtype).removeprefix("torch.")
    return ""


def _leaves(node: Node) -> list[Any]:
    return pytree.tree_leaves(node.meta.get("val"))


def _cast(value: torch.Tensor, mode: Any, dtype: torch.dtype = HALF) -> torch.Tensor:
    with mode:
        return value.to(dtype)


def _example(value: Any) -> Any:
    """An operand in float16 without symbols, or a number; _UNKNOWN where its sizes follow from values."""

    def example(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            sizes = [example(size) for size in leaf.shape]
            if any(size is _UNKNOWN for size in sizes):
                return _UNKNOWN
            return torch.empty(sizes, dtype=HALF if _is_float_tensor(leaf) else leaf.dtype)
        if isinstance(leaf, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return leaf.node.hint if leaf.node.has_hint() else _UNKNOWN
        return leaf

    return pytree.tree_map(example, value)
