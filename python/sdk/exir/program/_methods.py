# SPDX-License-Identifier: BSD-3-Clause
"""Programs by method name, and errors that name the method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import torch
from torch.export import ExportedProgram

from sdk.exir._messages import add_context

Programs: TypeAlias = ExportedProgram | dict[str, ExportedProgram]


def as_methods(programs: Programs) -> dict[str, ExportedProgram]:
    if isinstance(programs, ExportedProgram):
        return {"forward": programs}
    if isinstance(programs, Mapping) and all(isinstance(p, ExportedProgram) for p in programs.values()):
        return dict(programs)
    if isinstance(programs, torch.nn.Module):
        raise TypeError(
            f"expected an ExportedProgram, got the module {type(programs).__name__}; call "
            f"torch.export.export(module, inputs) first"
        )
    raise TypeError(
        f"expected an ExportedProgram or a dict from method name to ExportedProgram, got {type(programs).__name__}"
    )


def find_method(programs: dict[str, ExportedProgram], name: str) -> ExportedProgram:
    if name not in programs:
        raise KeyError(f"there is no method {name!r}; the methods are {', '.join(sorted(programs))}")
    return programs[name]


def in_method(method: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls `function` and tells which method an error is about."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        add_context(error, f"in method {method!r}")
        raise


def unwrap_op(op: Any) -> torch._ops.OpOverload:
    return getattr(op, "_op", op) if not isinstance(op, torch._ops.OpOverload) else op
