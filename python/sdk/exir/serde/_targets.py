# SPDX-License-Identifier: BSD-3-Clause
"""Checks the functions that the nodes of a serialised program call.

torch's reader follows any dotted name from `torch`, `operator` or `math`, so that `torch.os.system` and
`torch.ops.load_library` are functions to it. Here a name must be in a list, or name a registered operator whose effects
stay within tensors.
"""

from __future__ import annotations

import math
import operator
import re
import types
from typing import Any

import torch
from torch._export.serde import schema
from torch._export.serde.serialize import _SYM_OPS

from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.graph.branch_constants import GRAPHS
from sdk.exir.serde import _memory

_OPERATOR = re.compile(r"torch\.ops\.(\w+\.\w+\.\w+)", re.ASCII)
_HIGHER_ORDER = re.compile(r"torch\.ops\.higher_order\.(\w+)", re.ASCII)
_EXTENSION = re.compile(r"#(edge|backend):(\w+\.\w+\.\w+)", re.ASCII)

_OPERATORS = {"auto_functionalized": 0, "auto_functionalized_v2": 0, "with_effects": 1, "out_dtype": 0}
"""Higher-order operators that take an operator, with its position among the arguments. `GRAPHS` has those that take
graphs. Others run Triton kernels, compiled code or methods of objects."""

HIGHER_ORDER = frozenset((*GRAPHS, *_OPERATORS, "executorch_call_delegate"))

_OUTSIDE = frozenset(("aten._print", "aten.warn"))
_FILE = re.compile(r"file|path|ur[il]", re.IGNORECASE)
"""The names of arguments that are files: an operator that takes one as a text reads or writes it. `aten.from_file` and
`aten.save` do, and the image and sound operators of other packages."""
_PEERS = re.compile(r"(group|pg|process)_name|process_group|ranks|(stream|event|device)_index")
"""The names of arguments that are other processes, or work of a device: an operator that takes one talks to them."""
_OUTSIDE_NAMESPACES = frozenset(
    (
        *("prim", "profiler", "debugprims", "debug_mode_ops", "inductor", "static_runtime", "symm_mem", "rpc", "onnx"),
        *("c10d", "c10d_functional", "_c10d_functional", "_c10d_functional_autograd", "_dtensor", "cplib", "streams"),
        *("inductor_prims", "onnx_symbolic", "export", "_inductor_test", "_test", "cuda"),
    )
)
"""Namespaces of operators that talk to other processes, read files, trust addresses, read attributes by name, or have
no meaning outside of PyTorch's own tools."""

_MATH = ("ceil", "floor", "trunc", "sqrt", "log2")
_ARITHMETIC = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos", "abs", "getitem"),
    *("eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "xor", "lshift", "rshift", "not_"),
)
_BATCHING = (
    *("_add_batch_dim", "_remove_batch_dim", "_vmap_increment_nesting", "_vmap_decrement_nesting", "_make_dual"),
    *("_unpack_dual", "_jvp_increment_nesting", "_jvp_decrement_nesting", "_unwrap_for_grad", "_enter_dual_level"),
    *("_exit_dual_level", "lazy_load_decompositions"),
)
FUNCTIONS = frozenset(
    (
        *(f"{function.__module__}.{function.__name__}" for function in _SYM_OPS),
        *(f"torch.{name}" for name in dir(torch) if name.startswith(("sym_", "_sym_"))),
        *(f"math.{name}" for name in _MATH),
        *(f"_operator.{name}" for name in _ARITHMETIC),
        *(f"torch._functorch.predispatch.{name}" for name in _BATCHING),
    )
)
"""Functions that are not operators: arithmetic on sizes, and the functions to which torch.vmap is traced."""


def registered(name: str) -> torch._ops.OpOverload:
    """The operator `namespace.name.overload`. Raises ExportError for one that is not registered, or whose effects are
    outside of the program."""
    found: Any = torch.ops
    if name.count(".") == 2:
        for part in name.split("."):
            found = getattr(found, part, None)
    if not isinstance(found, torch._ops.OpOverload):
        raise ExportError(
            ExportErrorType.MISSING_PROPERTY,
            f"the program calls {name!r}, which is not registered here; import what registers it and read again",
        )
    namespace, operator_name, _ = name.split(".")
    takes_file = any("str" in str(a.type) and _FILE.search(a.name) for a in found._schema.arguments)
    has_peers = any(_PEERS.fullmatch(a.name) and "Tensor" not in str(a.type) for a in found._schema.arguments)
    is_outside = namespace in _OUTSIDE_NAMESPACES or f"{namespace}.{operator_name}" in _OUTSIDE
    if is_outside or takes_file or has_peers:
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            f"the program calls {name!r}, which acts outside of the program: it is not read",
        )
    return found


def check_target(name: str) -> str:
    """Returns `name` if a node may call it. Raises ExportError otherwise."""
    if found := _EXTENSION.fullmatch(name):
        registered(found[2])
    elif (found := _HIGHER_ORDER.fullmatch(name)) and found[1] in HIGHER_ORDER:
        if not isinstance(getattr(torch.ops.higher_order, found[1], None), torch._ops.HigherOrderOperator):
            raise ExportError(
                ExportErrorType.NOT_SUPPORTED, f"the program calls {name!r}, which this PyTorch does not have"
            )
    elif found := _OPERATOR.fullmatch(name):
        registered(found[1])
    elif name not in FUNCTIONS and name not in _memory.NAMES:
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            f"the program calls {name[:120]!r}, expected a registered operator or arithmetic on sizes: it is not read",
        )
    return name


def check_functions(node: schema.Node) -> schema.Node:
    """Returns `node` if the functions among its arguments are those that its target calls: graphs of the file or
    registered operators, and only where the target expects them. Raises ExportError otherwise."""
    found = _HIGHER_ORDER.fullmatch(node.target)
    name = found[1] if found else ""
    wanted = dict.fromkeys(GRAPHS.get(name, ()), "as_graph")
    if name in _OPERATORS:
        wanted[_OPERATORS[name]] = "as_operator"
    by_position = [given for given in node.inputs if given.kind == schema.ArgumentKind.POSITIONAL or not given.name]
    for position, kind in wanted.items():
        if position >= len(by_position) or by_position[position].arg.type != kind:
            raise _refused(node, f"its argument {position} is not a {kind.removeprefix('as_')}")
    functions = [by_position[position].arg for position in wanted]
    for function in functions:
        if function.type == "as_operator" and not (
            _OPERATOR.fullmatch(function.value) or _EXTENSION.fullmatch(function.value)
        ):
            raise _refused(node, f"the function {function.value[:80]!r} is not a registered operator")
    if any(has_function(given.arg) for given in node.inputs if not any(given.arg is each for each in functions)):
        raise _refused(node, "it gets a graph or an operator where it takes none")
    return node


def has_function(argument: schema.Argument) -> bool:
    """Whether an argument is or has a graph or an operator."""
    if argument.type == "as_string_to_argument":
        return any(map(has_function, argument.value.values()))
    return argument.type in ("as_graph", "as_operator")


def _refused(node: schema.Node, reason: str) -> ExportError:
    return ExportError(ExportErrorType.NOT_SUPPORTED, f"the program calls {node.target[:120]!r}: {reason}")


def check_source(name: str) -> None:
    """Checks the name of the function that a node was made from. Tools only show it, but torch's reader looks up each
    part of the name, such as `torch.nn`. Raises ExportError for a name that leads out of PyTorch."""
    if name.startswith("#"):
        check_target(name)
        return
    for prefix, found in _ROOTS:
        if name.startswith(prefix):
            for part in name.split(".")[prefix.count(".") + 1 :]:
                if not hasattr(found, part):
                    return  # torch's reader keeps the text
                found = getattr(found, part)
                if isinstance(found, types.ModuleType) and found.__name__.partition(".")[0] != "torch":
                    raise ExportError(
                        ExportErrorType.NOT_SUPPORTED, f"{name[:120]!r} is not the name of a function of PyTorch"
                    )
            return


_ROOTS: tuple[tuple[str, Any], ...] = (
    ("torch.nn", torch.nn),
    ("torch", torch),
    ("_operator", operator),
    ("math", math),
)
