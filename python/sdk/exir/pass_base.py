# SPDX-License-Identifier: BSD-3-Clause
"""Base classes of passes.

`ExportPass` re-interprets a graph node by node: override `call_operator` (and `placeholder`, `output`,
`call_cond`, ...) to change what each node becomes. It keeps metadata and recomputes fake values, which makes it
the safe choice for passes outside this package. `ExportedProgramPassBase` is for passes that change weights or the
signature as well as the graph.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Union

import torch
from torch._export.pass_base import (
    _ExportPassBaseDeprecatedDoNotUse as _ExportPassBase,
)
from torch._export.pass_infra.node_metadata import NodeMetadata
from torch._export.pass_infra.proxy_value import ProxyValue as _ProxyValue
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.exir import memory
from sdk.exir._messages import add_context, describe_value, explain_failed_pass, operator_name, remember_node
from sdk.exir.delegate import executorch_call_delegate, is_lowered_module
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.graph.symbols import SYM_TYPES, SymbolTable

__all__ = [
    "Argument",
    "ExportPass",
    "ExportPassBaseError",
    "ExportedProgramPassBase",
    "ExportedProgramPassResult",
    "NodeMetadata",
    "PassBase",
    "PassResult",
    "PassType",
    "ProxyValue",
]

Argument = Any
_GUARDS = "_guards_fn"
Fn = Callable[..., Any]
PassType = Union["ExportedProgramPassBase", Callable[[GraphModule], PassResult | None]]


class ExportPassBaseError(RuntimeError):
    """A pass found a graph that breaks the rules of the dialect."""


class ProxyValue(_ProxyValue[Any]):
    """A value while a pass runs, with the node that computes it. A symbolic number has no value yet: code that took it
    for a number would fix it at the number of the example."""

    def __bool__(self) -> bool:
        return bool(self._known("used in boolean context"))

    def __int__(self) -> int:
        return int(self._known("converted to int"))

    def __index__(self) -> int:
        return operator.index(self._known("used in index context"))

    def __float__(self) -> float:
        return float(self._known("converted to float"))

    def _known(self, use: str) -> Any:
        if isinstance(self.data, SYM_TYPES):
            raise ExportPassBaseError(
                f"the symbolic number {self.data} cannot be {use}, because it is known only when the program runs. "
                "Pass it on to an operator"
            )
        return self.data


class ExportPass(_ExportPassBase):
    """Rebuilds the graph by running it on fake tensors, with a hook for every kind of node.

    `call_operator(op, args, kwargs, meta)` is called for each operator; return `super().call_operator(...)` with
    what should be in the graph instead, or one of the arguments to drop the node. `placeholder`, `output`,
    `call_getitem`, `call_cond`, `call_while`, `call_map`, `call_scan`, `call_delegate` and `call_submodule` do the same
    for other nodes.
    """

    class ExportTracer(_ExportPassBase.ExportTracer):
        def create_arg(self, a: Argument) -> Any:
            if isinstance(a, torch.nn.Module) and is_lowered_module(a):
                if a not in self.submodules:
                    name = f"lowered_module_{sum(is_lowered_module(m) for m in self.submodules)}"
                    self.root.add_module(name, a)
                    self.submodules[a] = name
            elif isinstance(a, SYM_TYPES):
                return self._node_of(a)
            elif isinstance(a, torch.Tensor) and hasattr(a, "constant") and a.constant is None:
                raise ExportPassBaseError(
                    f"a pass put the fake tensor {a} into the graph. Build new tensors with operators "
                    f"(super().call_operator), "
                    "or pass a real torch.tensor(...) to make a constant."
                )
            return super().create_arg(a)

        def _node_of(self, size: Any) -> Any:
            """The node that computes a symbolic number, which a pass took, for example, from the shape of a tensor."""
            symbols = SymbolTable(self.graph)
            for node in self.graph.nodes:
                symbols.add(node, node.meta.get("val"))
            try:
                return symbols.node_for(size)
            except KeyError as error:
                raise ExportPassBaseError(
                    f"a pass put the symbolic size {size} into the graph, but no earlier node computes it: "
                    f"{error.args[0]}. Compute it with operators (super().call_operator)"
                ) from error

    class ExportInterpreter(_ExportPassBase.ExportInterpreter):
        def __init__(self, callback: _ExportPassBase, gm: GraphModule) -> None:
            super().__init__(callback, gm)
            self.extra_traceback = False  # run_node records the node; whoever calls the pass names it in the error

        def run_node(self, n: torch.fx.Node) -> Argument:
            try:
                return super().run_node(n)
            except Exception as error:
                remember_node(error, n)
                raise

        def call_function(self, target: Any, args: tuple, kwargs: dict) -> ProxyValue:
            meta = NodeMetadata(self.node.meta)
            if target is executorch_call_delegate:
                return self.callback.call_delegate(args[0], tuple(args[1:]), kwargs, meta)
            if target is torch.ops.higher_order.while_loop:
                return self.callback.call_while(*args, meta)
            if target is torch.ops.higher_order.scan:
                return self.callback.call_scan(*args, meta)
            if isinstance(target, EdgeOpOverload) or _is_python_function(target):
                return self.callback.call_operator(target, args, kwargs, meta)
            return super().call_function(target, args, kwargs)

        def get_attr(self, target: str, args: tuple, kwargs: dict) -> Argument:
            attribute = super().get_attr(target, args, kwargs)
            if isinstance(attribute, torch.Tensor):
                return self.callback.call_attribute(attribute)
            return attribute

        def call_module(self, target: str, args: tuple, kwargs: dict) -> None:
            # `ExportedProgram.module()` of PyTorch 2.13 puts its checks of input shapes into the graph. They were
            # a hook before. A rebuilt graph has neither, because a pass may change the inputs.
            if target != _GUARDS:
                raise ExportPassBaseError(
                    f"call_module {target} is not allowed in this dialect: call an operator instead"
                )

        def call_method(self, target: str, args: tuple, kwargs: dict) -> None:
            raise ExportPassBaseError(f"call_method {target} is not allowed in this dialect: call an operator instead")

    def __call__(self, graph_module: GraphModule) -> PassResult:
        try:
            return super().__call__(graph_module)
        except Exception as error:
            explain_failed_pass(error, self, [self])
            raise

    def _fx(self, kind: str, target: Any, args: tuple, kwargs: dict[str, Argument], meta: NodeMetadata) -> ProxyValue:
        try:
            return _with_checks(super()._fx(kind, target, args, kwargs, meta))
        except Exception as error:
            values = torch.utils._pytree.tree_map_only(ProxyValue, lambda proxy: proxy.data, (args, kwargs))
            call = ", ".join(
                [*map(describe_value, values[0]), *(f"{k}={describe_value(v)}" for k, v in values[1].items())]
            )
            add_context(error, f"The pass called {operator_name(target)}({call}).")
            raise

    def placeholder(self, name: str, arg: Argument, meta: NodeMetadata) -> ProxyValue:
        """An input; `arg` is its fake value."""
        return _with_checks(super().placeholder(name, arg, meta))

    def should_preserve_symbolic_input_metadata(self) -> bool:
        """Whether inputs must keep their symbolic sizes. Override this in a pass that changes them on purpose."""
        return True

    def call_attribute(self, value: torch.Tensor) -> Argument:
        """A constant of a control-flow branch."""
        return value

    def call_delegate(
        self, lowered_module: Any, args: tuple, kwargs: dict[str, Argument], meta: NodeMetadata
    ) -> ProxyValue:
        """A call of a lowered submodule; `args` are its inputs."""
        return self._fx("call_function", executorch_call_delegate, (lowered_module, *args), kwargs, meta)

    def call_while(
        self,
        cond_fn: GraphModule,
        body_fn: GraphModule,
        carried_inputs: Sequence[Argument],
        additional_inputs: Sequence[Argument],
        meta: NodeMetadata,
    ) -> ProxyValue:
        """A loop. Runs the pass over its condition and its body."""
        inputs = (*carried_inputs, *additional_inputs)
        parts = [self.call_submodule(part, inputs).graph_module for part in (cond_fn, body_fn)]
        operands = (tuple(carried_inputs), tuple(additional_inputs))
        return self._fx("call_function", torch.ops.higher_order.while_loop, (*parts, *operands), {}, meta)

    def call_scan(
        self,
        combine_fn: GraphModule,
        init: Sequence[Argument],
        xs: Sequence[Argument],
        additional_inputs: Sequence[Argument],
        meta: NodeMetadata,
    ) -> ProxyValue:
        """A scan. Runs the pass over its body, which gets one element of each of `xs`."""
        placeholders = combine_fn.graph.find_nodes(op="placeholder")
        elements = [node.meta["val"] for node in placeholders[len(init) : len(init) + len(xs)]]
        part = self.call_submodule(combine_fn, (*init, *elements, *additional_inputs)).graph_module
        operands = (list(init), list(xs), tuple(additional_inputs))
        return self._fx("call_function", torch.ops.higher_order.scan, (part, *operands), {}, meta)

    def call_submodule(self, graph_module: GraphModule, inputs: tuple[Argument, ...]) -> PassResult:
        """A graph module: the whole program, or a branch. Runs the pass over it."""
        result = super().call_submodule(graph_module, inputs)
        result.graph_module.graph.eliminate_dead_code()
        return result

    def call(self, graph_module: GraphModule) -> PassResult:
        result = super().call(graph_module)
        # Re-interpretation makes a fresh module: what was stored on the old one belongs to the new one as well.
        result.graph_module.meta.update(graph_module.meta)
        _restore_lowered_module_names(graph_module, result.graph_module)
        if self.should_preserve_symbolic_input_metadata():
            _check_symbolic_inputs(graph_module, result.graph_module)
        return result


def _with_checks(value: _ProxyValue[Any]) -> ProxyValue:
    return ProxyValue(value.data, value.proxy_or_node)


def _check_symbolic_inputs(old: GraphModule, new: GraphModule) -> None:
    """Raises ExportPassBaseError if a pass fixed a symbolic number or size of an input, or dropped the input."""
    found = [_symbols_of(node) for node in new.graph.find_nodes(op="placeholder")]
    for position, node in enumerate(old.graph.find_nodes(op="placeholder")):
        wanted = _symbols_of(node)
        if wanted and (position >= len(found) or found[position] != wanted):
            now = found[position] if position < len(found) else "no input"
            raise ExportPassBaseError(
                f"Input at position {position} did not preserve symbolic metadata across the pass: expected the sizes "
                f"{dict(wanted)}, found {dict(now) if isinstance(now, list) else now}. A pass that changes sizes of "
                "inputs returns False from should_preserve_symbolic_input_metadata()"
            )


def _symbols_of(node: torch.fx.Node) -> list[tuple[int, Any]]:
    """The symbolic numbers of an input, and the positions and symbols of its symbolic sizes."""
    symbols = []
    for leaf in torch.utils._pytree.tree_leaves(node.meta.get("val")):
        numbers = leaf.shape if isinstance(leaf, torch.Tensor) else (leaf,)
        symbols += [(i, each.node.expr) for i, each in enumerate(numbers) if isinstance(each, SYM_TYPES)]
    return symbols


def _is_python_function(target: Any) -> bool:
    return getattr(target, "__module__", "") == memory.alloc.__module__


def _restore_lowered_module_names(old: GraphModule, new: GraphModule) -> None:
    names = {id(module): name for name, module in old.named_children() if is_lowered_module(module)}
    for name, module in list(new.named_children()):
        wanted = names.get(id(module))
        if wanted is None or wanted == name:
            continue
        for node in new.graph.nodes:
            if node.op == "get_attr" and node.target == name and getattr(new, name) is module:
                node.target = wanted
        if not hasattr(new, wanted):
            setattr(new, wanted, module)
    new.recompile()


@dataclass(frozen=True)
class ExportedProgramPassResult:
    """The program a pass returns, and whether it differs from the one it was given."""

    exported_program: ExportedProgram
    modified: bool


class ExportedProgramPassBase(ABC):
    """A pass over an `ExportedProgram`: graph, signature and weights. `requires` and `ensures` raise if a
    condition does not hold."""

    def __call__(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        self.requires(exported_program)
        result = self.call(exported_program)
        if not isinstance(result, ExportedProgramPassResult):
            raise TypeError(
                "a pass over a program must return an ExportedProgramPassResult(exported_program, modified), got "
                f"{type(result).__name__}"
            )
        self.ensures(result.exported_program)
        return result

    @abstractmethod
    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        """Does the work."""

    def requires(self, exported_program: ExportedProgram) -> None:  # noqa: B027
        """Checks the program before `call`. Does nothing unless overridden."""

    def ensures(self, exported_program: ExportedProgram) -> None:  # noqa: B027
        """Checks the program after `call`. Does nothing unless overridden."""
