# SPDX-License-Identifier: BSD-3-Clause
"""The operators of Cadence's kernel libraries, and a check that a library has all operators of a program."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import torch
from torch.fx import GraphModule, Node

from sdk.exir import ExecutorchProgramManager
from sdk.exir.memory_planning._parts import are_parts

LIBRARIES = ("hifi", "fusion_g3", "vision")
"""The families of DSPs for which Cadence has kernels, as `functions_*.yaml` name them."""

_ENTRY = re.compile(r"^- (?:op|func): ([\w.:]+)", re.MULTILINE)
_BUILT_IN = ("executorch_prim", "_operator")


class MissingKernelError(ValueError):
    """A program calls operators for which the chosen library has no kernel."""


@cache
def operators_of(library: str) -> frozenset[str]:
    """Returns the out variants that a library has kernels for, such as `aten::add.out`."""
    if library not in LIBRARIES:
        raise ValueError(f"library: expected one of {', '.join(LIBRARIES)}, found {library!r}")
    text = Path(__file__).with_name(f"functions_{library}.yaml").read_text(encoding="utf-8")
    return frozenset(name if "::" in name else f"aten::{name}" for name in _ENTRY.findall(text))


def check_kernels(program: ExecutorchProgramManager, library: str) -> None:
    """Raises MissingKernelError if a method calls an operator without a kernel in a library. The message names the
    nodes."""
    known = operators_of(library)
    missing: dict[str, list[str]] = {}
    for method in sorted(program.methods):
        for module in program.exported_program(method).graph_module.modules():
            for node in module.graph.nodes if isinstance(module, GraphModule) else ():
                name = _called(node)
                if name is not None and name not in known:
                    missing.setdefault(name, []).append(f"{method}/{node.name}")
    if missing:
        places = "\n".join(f"  {name}: {', '.join(nodes)}" for name, nodes in sorted(missing.items()))
        raise MissingKernelError(
            f"functions_{library}.yaml has no kernels for {len(missing)} operators of the program:\n{places}\n"
            "Choose another library or optimisation level, or run the program on the portable kernels"
        )


def _called(node: Node) -> str | None:
    """Returns the operator that the instruction of a node calls, or None for nodes without an operator."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload) or are_parts(node):
        return None
    return None if node.target.namespace in _BUILT_IN else node.target.name()
