# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the representation of each tensor, so that few tensors need a copy in another one.

A choice is made for each call, whose operands and results have the same representation, or for each result where an
operator treats them apart. Its cost is the number of elements of the copies (transitions) around it. The choices are
improved one by one and in connected groups with the same representation, until none gets better.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from sdk.backends.vulkan.graph.ir import Call, GpuGraph, Tensor
from sdk.backends.vulkan.op_registry import get_op_features
from sdk.backends.vulkan.options import Options
from sdk.backends.vulkan.representations import ANY_STORAGE, BUFFER, WIDTH, Reprs, TensorRepr, valid_reprs

_ANYWHERE = TensorRepr(BUFFER, WIDTH)
_ROUNDS = 8


@dataclass(eq=False)
class _Choice:
    """Several tensors that must have one representation: results and operands of calls."""

    allowed: Reprs
    made: list[Tensor] = field(default_factory=list)
    read: list[Tensor] = field(default_factory=list)
    chosen: TensorRepr = _ANYWHERE


@dataclass
class _Readers:
    """The users of a tensor: choices, and sets of allowed representations."""

    choices: list[_Choice] = field(default_factory=list)
    sets: list[Reprs] = field(default_factory=list)


def allowed_storage(reprs: Reprs, options: Options) -> Reprs:
    """The representations that the program's runtime takes if ExecuTorch's takes `reprs`: this SDK's also takes
    contiguous buffers."""
    return reprs if options.compat else reprs | {_ANYWHERE}


def choose(graph: GpuGraph, options: Options) -> int:
    """Sets the representation of each tensor and adds the transitions; returns their number. Raises RuntimeError for a
    call that no representation suits."""
    solver = _Solver(graph, options)
    solver.improve()
    return solver.apply()


class _Solver:
    def __init__(self, graph: GpuGraph, options: Options) -> None:
        self.graph = graph
        self.options = options
        self.maker: dict[Tensor, _Choice] = {}
        self.readers: dict[Tensor, _Readers] = defaultdict(_Readers)
        self.of_call: dict[Call, _Choice | None] = {}
        self.choices: list[_Choice] = []
        for value in graph.inputs:
            if isinstance(value, Tensor):
                self._make(self._choice(ANY_STORAGE, [value]), value)
        for call in graph.calls:
            self._add(call)

    def improve(self) -> None:
        for choice in self.choices:
            costs = {candidate: self._cost_with({choice: candidate}) for candidate in sorted(choice.allowed)}
            choice.chosen = min(costs, key=lambda candidate, costs=costs: costs[candidate])  # type: ignore[misc]
        for _ in range(_ROUNDS):
            better = False
            for choice in self.choices:
                better |= self._switch([choice])
            for group in self._groups():
                better |= self._switch(group)
            if not better:
                return

    def apply(self) -> int:
        for tensor, choice in self.maker.items():
            tensor.repr = choice.chosen
        copies: dict[tuple[Tensor, TensorRepr], Tensor] = {}
        calls: list[Call] = []

        def read(tensor: Tensor, wanted: Reprs) -> Tensor:
            if tensor.constant is not None or tensor.repr in wanted:
                return tensor
            target = next((r for r in sorted(wanted) if (tensor, r) in copies), None)
            if target is None or tensor.is_state:  # state may have changed since the last copy
                target = min(wanted, key=self._rank)
                copy = copies[tensor, target] = Tensor(tensor.dtype, tensor.shape, repr=target)
                calls.append(Call("aten.clone.default", [tensor, None], copy, features=get_op_features("aten.clone")))
            return copies[tensor, target]

        for call in self.graph.calls:
            common = self.of_call[call]
            for position, argument in enumerate(call.args):
                wanted = call.inputs[position]
                if wanted is None:
                    continue
                wanted = self._wanted(call, position, common)
                if isinstance(argument, Tensor):
                    call.args[position] = read(argument, wanted)
                elif isinstance(argument, list):
                    call.args[position] = [read(a, wanted) if isinstance(a, Tensor) else a for a in argument]
            calls.append(call)
        self.graph.calls = calls
        return len(copies)

    def _wanted(self, call: Call, position: int, choice: _Choice | None) -> Reprs:
        first = next(i for i, reprs in enumerate(call.inputs) if reprs is not None)
        if choice is not None and (call.joint or (call.tied and position == first)):
            return frozenset({choice.chosen})
        reprs = call.inputs[position]
        assert reprs is not None
        return self._valid(reprs, [t for i, t in call.operands() if i == position])

    def _add(self, call: Call) -> None:
        results = call.results()
        first = next((i for i, reprs in enumerate(call.inputs) if reprs is not None), None)
        together: list[Tensor] = []
        for position, tensor in call.operands():
            if call.joint or (call.tied and position == first):
                together.append(tensor)
            else:
                reprs = call.inputs[position]
                if reprs is not None:
                    self.readers[tensor].sets.append(self._valid(reprs, [tensor], call))
        choice = None
        if together:
            reprs = call.inputs[first] if first is not None else None
            assert reprs is not None
            made = results if call.joint and call.tied else results[:1] if call.tied else []
            made = [r for i, r in enumerate(made) if call.outputs[i] == call.outputs[0]]
            choice = self._choice(self._valid(reprs, [*together, *made], call), made)
            choice.read = together
            for tensor in together:
                self.readers[tensor].choices.append(choice)
            for tensor in made:
                self._make(choice, tensor)
        for position, tensor in enumerate(results):
            if tensor not in self.maker:
                self._make(self._choice(self._valid(call.outputs[position], [tensor], call), [tensor]), tensor)
        self.of_call[call] = choice

    def _choice(self, allowed: Reprs, made: list[Tensor]) -> _Choice:
        choice = _Choice(allowed, list(made))
        self.choices.append(choice)
        return choice

    def _make(self, choice: _Choice, tensor: Tensor) -> None:
        self.maker[tensor] = choice

    def _valid(self, reprs: Reprs, tensors: list[Tensor], call: Call | None = None) -> Reprs:
        found = allowed_storage(reprs, self.options)
        for tensor in tensors:
            found = valid_reprs(tensor.shape, found, self.options.texture_limits)
        if not found:
            shapes = ", ".join(str(list(tensor.shape)) for tensor in tensors)
            raise RuntimeError(f"{call.name if call else 'an input'} has tensors that fit no texture: {shapes}")
        return found

    def _rank(self, repr: TensorRepr) -> tuple[bool, bool, TensorRepr]:
        preferred = self.options.preferred
        return (repr.storage_type != preferred.storage_type, repr.memory_layout != preferred.memory_layout, repr)

    def _cost_with(self, changed: dict[_Choice, TensorRepr]) -> tuple[int, int]:
        """The cost of choices: the number of elements that the transitions around them copy, and a penalty for
        representations that are not preferred."""
        tensors = {tensor for choice in changed for tensor in (*choice.made, *choice.read)}

        def chosen(choice: _Choice) -> TensorRepr:
            return changed.get(choice, choice.chosen)

        cost = 0
        for tensor in tensors:
            maker = self.maker.get(tensor)
            if maker is None:
                continue
            here = chosen(maker)
            there = {chosen(choice) for choice in self.readers[tensor].choices} - {here}
            there |= {min(wanted, key=self._rank) for wanted in self.readers[tensor].sets if here not in wanted}
            cost += len(there) * tensor.numel
        rank = sum(10 * a + b for a, b, _ in map(self._rank, changed.values()))
        return cost, rank

    def _switch(self, group: list[_Choice]) -> bool:
        """Gives a group the cheapest representation. Returns whether it changed."""
        common = frozenset.intersection(*(choice.allowed for choice in group))
        before = group[0].chosen
        best, cost = before, self._cost_with(dict.fromkeys(group, before))
        for candidate in sorted(common - {before}, key=self._rank):
            other = self._cost_with(dict.fromkeys(group, candidate))
            if other < cost:
                best, cost = candidate, other
        for choice in group:
            choice.chosen = best
        return best != before

    def _groups(self) -> list[list[_Choice]]:
        """Returns groups of connected choices that could change to a common representation."""
        groups = []
        for target in sorted(frozenset().union(*(choice.allowed for choice in self.choices))):
            seen: set[_Choice] = set()
            for start in self.choices:
                if start in seen or target not in start.allowed or start.chosen == target:
                    continue
                group, pending = [], [start]
                seen.add(start)
                while pending:
                    choice = pending.pop()
                    group.append(choice)
                    for other in self._neighbours(choice):
                        if other not in seen and target in other.allowed and other.chosen == start.chosen:
                            seen.add(other)
                            pending.append(other)
                if len(group) > 1:
                    groups.append(group)
        return groups

    def _neighbours(self, choice: _Choice) -> list[_Choice]:
        found = [self.maker[tensor] for tensor in choice.read if tensor in self.maker]
        for tensor in choice.made:
            found += self.readers[tensor].choices
        return found
