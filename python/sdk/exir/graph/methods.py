# SPDX-License-Identifier: BSD-3-Clause
"""Programs by method name, and errors that name the method."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, TypeAlias

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from sdk.exir._messages import add_context
from sdk.exir.sym_util import assumed_bounds, record_numbers

Programs: TypeAlias = ExportedProgram | dict[str, ExportedProgram]


def as_methods(programs: Programs) -> dict[str, ExportedProgram]:
    """The programs by method name; a single one is `forward`. Raises TypeError for anything else. Their symbols know
    which inputs they are, also if the programs were loaded from files."""
    methods = {"forward": programs} if isinstance(programs, ExportedProgram) else programs
    if isinstance(methods, Mapping) and all(isinstance(p, ExportedProgram) for p in methods.values()):
        for program in methods.values():
            record_numbers(program)
        return dict(methods)
    if isinstance(programs, torch.nn.Module):
        raise TypeError(
            f"expected an ExportedProgram, got the module {type(programs).__name__}; call "
            f"torch.export.export(module, inputs) first"
        )
    raise TypeError(
        f"expected an ExportedProgram or a dict from method name to ExportedProgram, got {type(programs).__name__}"
    )


def warn_of_merged_inputs(method: str, program: ExportedProgram) -> None:
    """Warns about example inputs that are the same tensor object: torch.export merges them, and the program ignores one
    of the inputs.
    """
    if program.example_inputs is None:
        return
    by_tensor: dict[int, list[str]] = {}
    examples = pytree.tree_leaves(program.example_inputs)
    for name, example in zip(program.graph_signature.user_inputs, examples, strict=False):
        if isinstance(example, torch.Tensor):
            by_tensor.setdefault(id(example), []).append(str(name))
    unread = {node.name for node in program.graph.nodes if node.op == "placeholder" and not node.users}
    for names in by_tensor.values():
        ignored = [name for name in names if name in unread]
        if len(names) > 1 and ignored:
            warnings.warn(
                f"method {method!r} was exported with the same tensor object as {' and '.join(names)}, so torch.export "
                f"made one input of them and the program ignores {', '.join(ignored)}. Export it with a separate "
                f"tensor for each, for example a clone().",
                stacklevel=4,
            )


def warn_of_unbounded_inputs(method: str, program: ExportedProgram) -> list[str]:
    """Warns about dimensions of inputs that have no upper bound, for which memory is planned as in the example inputs.
    Returns the texts."""
    found: dict[Any, tuple[int, list[str]]] = {}
    for node in program.graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        for dim, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            for symbol, assumed in assumed_bounds(size).items():
                found.setdefault(symbol, (assumed, []))[1].append(f"dimension {dim} of {node.name!r}")
    texts = [
        f"{' and '.join(places)} {'has' if len(places) == 1 else 'have'} no upper bound: memory is planned for the "
        f"size in the example inputs ({assumed}), and the runtime refuses larger inputs. Export with a bound, such as "
        f'torch.export.Dim("batch", max=64), or with an example of the largest size'
        for assumed, places in found.values()
    ]
    for text in texts:
        warnings.warn(f"method {method!r}: {text}", stacklevel=4)
    return texts


def find_method(programs: dict[str, ExportedProgram], name: str) -> ExportedProgram:
    """The program of method `name`. Raises KeyError, with the known names."""
    if name not in programs:
        raise KeyError(f"there is no method {name!r}; the methods are {', '.join(sorted(programs))}")
    return programs[name]


def in_method(method: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls `function`; the message of an error names the method."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        add_context(error, f"in method {method!r}")
        raise


def unwrap_op(op: Any) -> torch._ops.OpOverload:
    """Returns the ATen operator of an operator in the edge dialect. Returns other operators unchanged."""
    return getattr(op, "_op", op) if not isinstance(op, torch._ops.OpOverload) else op
