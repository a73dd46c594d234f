# SPDX-License-Identifier: BSD-3-Clause
"""From the module to the emitted program, each step with its own words for a failure."""

from __future__ import annotations

import copy
import io
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import torch
from torch.export import ExportedProgram

from sdk.export.cli.backends import partitioners
from sdk.export.cli.dynamic import DynamicShapes, resized
from sdk.export.cli.errors import CommandError, first_lines, user_line
from sdk.export.cli.inputs import Inputs
from sdk.export.cli.model import Model


def eager(model: Model, inputs: Inputs) -> Any:
    """What PyTorch gives for `inputs`. The module and the inputs stay as they are."""
    # A model may change its buffers when it runs; the one that is captured must be as it was given.
    module = copy.deepcopy(model.module)
    given = inputs.copy()
    try:
        with torch.no_grad():
            return module(*given.args, **given.kwargs)
    except Exception as error:
        raise CommandError(
            f"The model itself fails in PyTorch with inputs {inputs.describe()}: {_what_and_where(error, 3)}"
        ) from error


def capture(model: Model, inputs: Inputs, dynamic: DynamicShapes) -> ExportedProgram:
    """The model as a graph of ATen operators."""
    if model.program is not None:
        if dynamic.ranges:
            raise CommandError("A .pt2 file has its shapes already; make them dynamic where it is made.")
        return model.program
    sample = resized(inputs, dynamic.capture_sizes(inputs)).copy()
    # torch prints the graph so far when it gives up; what it prints belongs to the traceback, not to the message.
    printed = io.StringIO()
    try:
        with torch.no_grad(), redirect_stdout(printed), redirect_stderr(printed):
            return torch.export.export(
                model.module, sample.args, sample.kwargs, dynamic_shapes=dynamic.for_torch(sample), strict=False
            )
    except Exception as error:
        raise CommandError(
            f"PyTorch could not capture the model as a graph: {_what_and_where(error, 3)}\n"
            f"Code whose path depends on the values in a tensor cannot be captured as it stands; torch.cond and "
            f"torch.where are the ways to say it."
        ) from error


def lower(captured: ExportedProgram, backends: Sequence[str]) -> Any:
    """The graph in the edge dialect, an EdgeProgramManager, its parts given to the backends in their order."""
    from sdk.exir import to_edge_transform_and_lower

    try:
        return to_edge_transform_and_lower(captured, partitioner=partitioners(backends))
    except Exception as error:
        raise CommandError(f"The model could not be lowered to the edge dialect: {_what_and_where(error)}") from error


def emit(edge: Any, weights_file: str | None) -> Any:
    """The program, an ExecutorchProgramManager; with `weights_file` its weights go to a `.ptd` of that name."""
    from sdk.exir import ExecutorchBackendConfig

    config = ExecutorchBackendConfig(external_constants=False if weights_file is None else lambda _: weights_file)
    try:
        return edge.to_executorch(config)
    except Exception as error:
        raise CommandError(f"The model could not be turned into a program: {_what_and_where(error)}") from error


def operator_calls(program: ExportedProgram) -> int:
    """How many operators the graph calls."""
    return sum(node.op == "call_function" for node in program.graph.nodes)


def _what_and_where(error: Exception, lines: int = 6) -> str:
    line = user_line(error)
    at = f"\n  {line}" if line else ""
    return f"{type(error).__name__}: {first_lines(error, lines)}{at}"
