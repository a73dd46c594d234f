# SPDX-License-Identifier: BSD-3-Clause
"""Emission of branches and loops. A program has no blocks: the graphs of a node are emitted in sequence, with
jumps between them.

The values that a loop carries from one iteration to the next have separate memory: they are the results of the node.
They are set to the initial values, and at the end of each iteration to the body's results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from sdk.exir.emit._instructions import Instructions
from sdk.exir.emit._values import Ref, Values
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.memory_planning._lifetimes import control_flow_branches
from sdk.exir.schema import Bool, Int, JumpFalseCall, KernelCall, MoveCall, Tensor

Environment = dict[Node, Any]


class Method(Protocol):
    """The part of `MethodEmitter` that control flow uses."""

    values: Values
    code: Instructions

    def emit_graph(self, graph_module: GraphModule, inputs: Sequence[Ref]) -> list[Ref]: ...

    def results(self, node: Node, spec: Any, shared: bool = True) -> Any: ...

    def argument(self, arg: Any, env: Environment) -> Ref: ...

    def is_supplied_by_user(self, ref: Ref) -> bool: ...


class ControlFlowEmitter:
    """Emits one node: `cond`, `map_impl`, `scan` or `while_loop`."""

    def __init__(self, method: Method, graph_module: GraphModule, node: Node, env: Environment) -> None:
        self.method = method
        self.node = node
        self.env = env
        self.graphs = control_flow_branches(graph_module, node)

    def emit(self) -> Any:
        """The values of the node's results."""
        return _EMITTERS[self.node.target.__name__](self)

    # Branches

    def cond(self) -> Any:
        """`if false jump to ELSE; <then>; move; jump to END; ELSE: <else>; move; END:`."""
        condition, _, _, operands = (*self.node.args, ())[:4]
        then_branch, else_branch = self.graphs
        # A move makes these values refer to a branch's tensors, so they must not be shared.
        results = self.method.results(self.node, self.node.meta["spec"], shared=False)
        refs = self._refs(operands)

        to_else = self._jump_if_false(self._ref(condition))
        self._run_branch(then_branch, refs, results)
        to_end = self._jump()
        self._land(to_else)
        self._run_branch(else_branch, refs, results)
        self._land(to_end)
        return results

    def _run_branch(self, branch: GraphModule, operands: Sequence[Ref], results: Any) -> None:
        outputs = self.method.emit_graph(branch, operands)
        for source, target in zip(outputs, pytree.tree_leaves(results), strict=True):
            if self.method.is_supplied_by_user(target):
                self._copy(source, target)
            else:
                self._move(source, target)

    # Loops

    def while_loop(self) -> Any:
        """`set carry; LOOP: <condition>; if false jump to END; <body>; set carry; jump to LOOP; END:`."""
        _, _, initial, additional = self.node.args
        condition, body = self.graphs
        carry = self._results()
        self._set(carry, self._refs(initial))
        operands = [*carry, *self._refs(additional)]
        start = self._here()
        (again,) = self.method.emit_graph(condition, operands)
        to_end = self._jump_if_false(again)
        self._set(carry, self.method.emit_graph(body, operands))
        self._jump(start)
        self._land(to_end)
        return carry

    def map(self) -> Any:
        """Emits a `scan` without a carry."""
        _, inputs, additional = self.node.args
        return self._scan([], inputs, additional)

    def scan(self) -> Any:
        _, initial, inputs, additional = (*self.node.args, ())[:4]
        return self._scan(initial, inputs, additional)

    def _scan(self, initial: Any, inputs: Any, additional: Any) -> Any:
        """Runs the body on each slice of the inputs along dimension 0 and stacks its results other than the carry."""
        (body,) = self.graphs
        results = self._results()
        carry, stacked = results[: len(initial)], results[len(initial) :]
        sources = self._refs(inputs)
        placeholders = [node for node in body.graph.nodes if node.op == "placeholder"]
        slices = [
            self.method.results(node, node.meta["spec"], shared=False)
            for node in placeholders[len(initial) : len(initial) + len(sources)]
        ]
        operands = [*carry, *slices, *self._refs(additional)]

        self._set(carry, self._refs(initial))
        with self._counted(self._size(sources[0])) as index:
            for source, part in zip(sources, slices, strict=True):
                dim = self.method.values.literal(0)
                self._kernel("aten::select_copy", "int_out", source, dim, index, part, part)
            outputs = self.method.emit_graph(body, operands)
            for whole, part in zip(stacked, outputs[len(initial) :], strict=True):
                self._check_stackable(whole, part)
                self._kernel("executorch_prim::et_copy_index", "tensor", whole, part, index)
            self._set(carry, outputs[: len(initial)])
        return results

    @contextmanager
    def _counted(self, count: Ref) -> Iterator[Ref]:
        """`i = 0; LOOP: if not i < count jump to END; <body>; i = i + 1; jump to LOOP; END:`. Yields `i`."""
        values = self.method.values
        index, more = values.add(Int(0)), values.add(Bool(False))
        # Values outlive a call, so the counter must be set in each call.
        self._move(values.literal(0), index)
        start = self._here()
        self._kernel("executorch_prim::lt", "Scalar", index, count, more)
        to_end = self._jump_if_false(more)
        yield index
        self._kernel("executorch_prim::add", "Scalar", index, values.literal(1), index)
        self._jump(start)
        self._land(to_end)

    def _size(self, tensor: Ref) -> Ref:
        """The first size of a tensor."""
        values = self.method.values
        value = values.tensor(tensor)
        if value.shape_dynamism == 0:
            return values.literal(value.sizes[0])
        size = values.add(Int(0))
        self._kernel("aten::sym_size", "int", tensor, values.literal(0), size)
        return size

    def _set(self, carry: Sequence[Ref], new: Sequence[Ref]) -> None:
        """Assigns all new values of the carry as if simultaneously."""
        values = self.method.values
        pairs = [(source, target) for source, target in zip(new, carry, strict=True) if source != target]
        moved: list[tuple[Ref, Ref]] = []
        for source, target in pairs:
            if isinstance(values.items[target].val, Tensor):
                self._check_separate(source, target, carry)
                place = values.tensor(source).allocation_info
                if place is None or place != values.tensor(target).allocation_info:
                    self._copy(source, target)
            elif source in carry:
                moved.append((values.add(values.items[source].val), target))
                self._move(source, moved[-1][0])
            else:
                moved.append((source, target))
        for source, target in moved:
            self._move(source, target)

    # Checks

    def _check_separate(self, source: Ref, target: Ref, carry: Sequence[Ref]) -> None:
        """Rejects a new value in the memory of another part of the carry, which may be set before the value is read."""
        values = self.method.values
        place = values.tensor(source).allocation_info
        taken = [values.tensor(c).allocation_info for c in carry if c != target and _is_tensor(values, c)]
        if place is not None and place in taken:
            raise self._error("the body returns a part of its state as another part; return a clone of it")

    def _check_stackable(self, whole: Ref, part: Ref) -> None:
        for tensor in map(self.method.values.tensor, (whole, part)):
            if list(tensor.dim_order) != sorted(tensor.dim_order):
                raise self._error(
                    f"stacks tensors with the dim order {list(tensor.dim_order)}, but only contiguous ones can be "
                    "stacked; let the body return `.contiguous()` of its result"
                )

    def _error(self, problem: str) -> ExportError:
        return ExportError(ExportErrorType.NOT_SUPPORTED, f"node {self.node.name} ({self.node.target}): {problem}")

    # Instructions

    def _ref(self, operand: Any) -> Ref:
        return self.method.argument(operand, self.env)

    def _refs(self, operands: Any) -> list[Ref]:
        return [self._ref(operand) for operand in operands]

    def _results(self) -> list[Ref]:
        spec = self.node.meta["spec"]
        results: list[Ref] = self.method.results(self.node, spec if isinstance(spec, (list, tuple)) else [spec], False)
        return results

    def _kernel(self, name: str, overload: str, *arguments: Ref) -> None:
        code = self.method.code
        code.append(self.node, KernelCall(code.operator(name, overload), [int(argument) for argument in arguments]))

    def _copy(self, source: Ref, target: Ref) -> None:
        """Copies the elements, and the sizes of a dynamic tensor."""
        memory_format = self.method.values.literal(None)
        self._kernel("aten::clone", "out", source, memory_format, target, target)

    def _move(self, source: Ref, target: Ref) -> None:
        """Copies the number in `source` to `target`, or makes `target` refer to the same tensor as `source`."""
        self.method.code.append(self.node, MoveCall(move_from=int(source), move_to=int(target)))

    def _jump_if_false(self, condition: Ref, destination: int = 0) -> JumpFalseCall:
        jump = JumpFalseCall(int(condition), destination)
        self.method.code.append(self.node, jump)
        return jump

    def _jump(self, destination: int = 0) -> JumpFalseCall:
        return self._jump_if_false(self.method.values.literal(False), destination)

    def _here(self) -> int:
        return len(self.method.code.items)

    def _land(self, jump: JumpFalseCall) -> None:
        """Sets the target of a jump to the next instruction."""
        jump.destination_instruction = self._here()


def _is_tensor(values: Any, ref: Ref) -> bool:
    return isinstance(values.items[ref].val, Tensor)


_EMITTERS: dict[str, Callable[[ControlFlowEmitter], Any]] = {
    "cond": ControlFlowEmitter.cond,
    "map_impl": ControlFlowEmitter.map,
    "scan": ControlFlowEmitter.scan,
    "while_loop": ControlFlowEmitter.while_loop,
}
