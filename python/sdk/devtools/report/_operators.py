# SPDX-License-Identifier: BSD-3-Clause
"""Compares the operators of a program with the kernels of this package's runtime and of ExecuTorch."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from torch._ops import OpOverload
from torch.fx import GraphModule

from sdk.devtools.report._rows import is_runtime_operator
from sdk.exir._messages import source_of


def program_operators(program: Any) -> dict[str, list[str]]:
    """Maps each method to the operators of its kernel calls."""
    return {
        plan.name: [f"{op.name}.{op.overload}" if op.overload else op.name for op in plan.operators]
        for plan in program.execution_plan
    }


def runtime_operators() -> set[str] | None:
    """Returns the operators that have kernels in this process, including those of loaded libraries. None if the runtime
    is not built."""
    try:
        from sdk.extension.pybindings.portable_lib import _get_operator_names
    except ImportError:
        return None
    return set(_get_operator_names())


def missing_kernels(program: Any) -> list[tuple[str, str]]:
    """(method, operator) for each operator without a kernel in this process; empty if the runtime is not built."""
    known = runtime_operators()
    if known is None:
        return []
    return [
        (method, name)
        for method, names in program_operators(program).items()
        for name in names
        if name not in known and not is_runtime_operator(name)
    ]


def calls_without_kernels(manager: Any) -> list[str]:
    """Returns the calls of a manager's programs that have no kernel in this process, each with its line of the
    model."""
    missing = {name for _, name in missing_kernels(manager.executorch_program)}
    lines = [
        f"{node.target.name()}{source_of(node)}"
        for method in sorted(manager.methods)
        for module in manager.exported_program(method).graph_module.modules()
        if isinstance(module, GraphModule)
        for node in module.graph.nodes
        if isinstance(node.target, OpOverload) and node.target.name() in missing
    ]
    return list(dict.fromkeys(lines))


def newer_operators(program: Any) -> list[str]:
    """Returns the operators of the program for which ExecuTorch 1.4 has neither a portable nor a quantised kernel.
    Operators of other namespaces belong to the user and are not listed."""
    known = _executorch_operators()
    names = {name for names in program_operators(program).values() for name in names}
    namespaces = {name.partition("::")[0] for name in known}
    return sorted(
        name
        for name in names
        if name not in known and not is_runtime_operator(name) and name.partition("::")[0] in namespaces
    )


@cache
def _executorch_operators() -> frozenset[str]:
    text = resources.files(__package__).joinpath("executorch_1_4_operators.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))
