# SPDX-License-Identifier: BSD-3-Clause
"""Lowers models with demo backends, and runs them if the runtime was built with the demo backends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram, export
from torch.utils._pytree import tree_leaves

from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower


def needs_demo_backends() -> Any:
    """Skips tests if the package has no runtime, or its runtime has no demo backends."""
    try:
        from sdk.extension.pybindings.portable_lib import _get_registered_backend_names

        names = _get_registered_backend_names()
    except ImportError:
        names = []
    missing = "BackendWithCompilerDemo" not in names
    return pytest.mark.skipif(
        missing, reason="the runtime is not built with the demo backends (EXECUTORCH_BUILD_DEMO_BACKENDS)"
    )


def run(buffer: bytes, calls: Sequence[Sequence[Any]], method: str = "forward") -> list[Any]:
    """The outputs of calls made in order on one loaded method."""
    from sdk.runtime import Runtime

    loaded = Runtime.get().load_program(buffer).load_method(method)
    return [[copied(value) for value in loaded.execute(list(args))] for args in calls]


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def eager(model: torch.nn.Module, calls: Sequence[Sequence[Any]]) -> list[list[Any]]:
    with torch.no_grad():
        return [[copied(value) for value in tree_leaves(model(*args))] for args in calls]


def check(
    model: torch.nn.Module, calls: Sequence[Sequence[Any]], partitioner: Any, **options: Any
) -> EdgeProgramManager:
    """Exports with the first call, lowers, and runs all calls on the runtime: each must give what eager gives. Returns
    the edge program."""
    program = export(model, tuple(calls[0]), **options)
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner])
    got = run(edge.to_executorch().buffer, calls)
    torch.testing.assert_close(got, eager(model, calls))
    return edge


def state_of(program: ExportedProgram) -> list[str]:
    """Names of the weights and buffers that a program still has."""
    return [str(s.target) for s in program.graph_signature.input_specs if s.target is not None]
