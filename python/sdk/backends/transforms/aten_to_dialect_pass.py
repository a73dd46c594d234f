# SPDX-License-Identifier: BSD-3-Clause
"""`AtenToDialectPass`: replaces operators, by one function for each."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.pass_base import ExportPass


@dataclass
class DialectNodeSpec:
    """The call that replaces another."""

    op: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kwargs = self.kwargs or {}


Substitution = Callable[[Node, "AtenToDialectPass"], DialectNodeSpec | None]


class AtenToDialectPass(ExportPass):
    """Make a subclass for a dialect, and register a function for each operator that it replaces:

        @MyPass.register_dialect_substitution(torch.ops.aten.add.Tensor)
        def add(node, dialect_pass):
            return DialectNodeSpec(torch.ops.mine.add.default, node.args)

    A function that returns None leaves its node. `dialect_pass.exported_program` is there for functions that add or
    change weights (`sdk.backends.transforms.utils`). A subclass has the functions of its base too.
    """

    _substitutions: ClassVar[dict[Any, Substitution]] = {}

    def __init__(self, exported_program: ExportedProgram) -> None:
        super().__init__()
        self.exported_program = exported_program

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._substitutions = dict(cls._substitutions)

    @classmethod
    def register_dialect_substitution(cls, target: Any) -> Callable[[Substitution], Substitution]:
        """Returns a decorator for the function of the operator `target`. Raises RuntimeError if the operator already
        has a function."""

        def register(function: Substitution) -> Substitution:
            if target in cls._substitutions:
                other = getattr(cls._substitutions[target], "__name__", "another function")
                raise RuntimeError(
                    f"{cls.__name__}: Multiple substitutions registered for {target}, the first is {other}"
                )
            cls._substitutions[target] = function
            return function

        return register

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for node in list(graph_module.graph.nodes):
            substitution = self._substitutions.get(node.target) if node.op == "call_function" else None
            spec = None if substitution is None else substitution(node, self)
            if spec is None:
                continue
            with graph_module.graph.inserting_before(node):
                new = graph_module.graph.call_function(spec.op, spec.args, spec.kwargs)
            new.meta = {**node.meta, "stack_trace": f"{node.meta.get('stack_trace', '')}\n{_here()}"}
            node.replace_all_uses_with(new)
            graph_module.graph.erase_node(node)
            modified = True
        if modified:
            graph_module.graph.eliminate_dead_code()
            graph_module.recompile()
        return PassResult(graph_module, modified)


def _here() -> str:
    return "".join(traceback.format_stack(limit=3)[:-1])
