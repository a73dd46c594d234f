# SPDX-License-Identifier: BSD-3-Clause
"""Lowers a program, calls it several times with several sizes, and compares with eager."""

from __future__ import annotations

import copy
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram

from backends.conformance import Run, compare, runner
from backends.targets import Target
from compositions.draw import BATCH, LEAST, MOST
from compositions.program import Program
from sdk.exir import ExecutorchBackendConfig, to_edge_transform_and_lower

SIZES = (BATCH, MOST, LEAST, BATCH)
"""Rows of the calls, in order: memory that an earlier call filled is used again."""

FLOAT, HALF = (1e-4, 4e-7), (1e-2, 5e-4)
"""What a result may differ of the largest value, and what the rounding of a few operations is, in float32 and where a
program computes with float16."""

PERTURBATIONS = 6


@dataclass(frozen=True)
class Finding:
    """What went wrong with a program on a target."""

    target: str
    what: str


class NotCapturedError(Exception):
    """torch.export refuses the program, or it writes to memory that several elements share, which is refused."""


def capture(program: Program) -> tuple[ExportedProgram, tuple[int, ...]]:
    """The captured program and the numbers of rows it takes: any, or where a step needs the example's, that."""
    model = copy.deepcopy(program.model).eval()
    for shapes, sizes in ((program.dynamic_shapes(), SIZES), (None, (BATCH,) * 3)):
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                captured = torch.export.export(
                    copy.deepcopy(model), copy.deepcopy(program.inputs), dynamic_shapes=shapes, strict=False
                )
                return captured, sizes
        except Exception as error:
            reason = error
    raise NotCapturedError(str(reason))


def examine(program: Program, target: Target, config: ExecutorchBackendConfig | None = None) -> Finding | None:
    """None if the program gives eager's results in each call.

    Raises:
        NotCapturedError: See there.
    """
    captured, sizes = capture(program)
    try:
        edge = to_edge_transform_and_lower(captured, partitioner=target.partitioners())
        buffer = edge.to_executorch(config or ExecutorchBackendConfig()).buffer
    except Exception as error:
        if "several elements are one in memory" in str(error):
            raise NotCapturedError(str(error)) from error
        return Finding(target.name, f"lowering: {type(error).__name__}: {error}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = runner(buffer, target, Path(folder))
        except RuntimeError as error:
            return Finding(target.name, f"loading: {error}")
        return _run_and_compare(program, run, target, sizes)


def _run_and_compare(program: Program, run: Run, target: Target, sizes: tuple[int, ...]) -> Finding | None:
    eager = copy.deepcopy(program.model).eval()
    in_half = any("= half(" in one.text for one in program.model.steps)
    if target.backend is not None and (target.backend.tolerance or 0) > 1e-3:
        in_half = True  # the backend computes in float16 where nobody asks for more
    for number, rows in enumerate(sizes):
        inputs = program.inputs_for(rows, number)
        before = copy.deepcopy(eager)
        try:
            with torch.no_grad():
                expected = [x.clone() for x in eager(*copy.deepcopy(inputs))]
        except (RuntimeError, IndexError):
            return None  # a step does not take this number of rows, which torch.export did not notice
        try:
            found = [x.clone() for x in run(copy.deepcopy(inputs))]
        except RuntimeError as error:
            return Finding(target.name, f"call {number}, {rows} rows: {error}")
        if difference := _difference(found, expected, before, inputs, in_half):
            return Finding(target.name, f"call {number}, {rows} rows: {difference}")
    return None


def _difference(
    found: list[Tensor], expected: list[Tensor], model: Any, inputs: tuple[Tensor, ...], in_half: bool
) -> str | None:
    """In a line, where the results are further from eager's than rounding moves them."""
    difference = compare(found, expected)
    if difference is None:
        return None
    if len(found) != len(expected):
        return difference
    for ours, eager in zip(found, expected, strict=True):
        if ours.dtype != eager.dtype or ours.shape != eager.shape:
            return difference
    allowed = [torch.zeros_like(x, dtype=torch.float64) for x in expected]
    for moved in _perturbed(model, inputs, HALF if in_half else FLOAT):
        for bound, one, eager in zip(allowed, moved, expected, strict=True):
            torch.maximum(bound, (one.double() - eager.double()).abs(), out=bound)
    tolerance, _ = HALF if in_half else FLOAT
    for ours, eager, bound in zip(found, expected, allowed, strict=True):
        # A choice (argmax, a comparison, sort) that falls otherwise moves other elements than those it moved here.
        spread = float(bound.max())
        scale = tolerance * max(1.0, float(eager.double().abs().max()))
        if not ((ours.double() - eager.double()).abs() <= scale + 4 * spread).all():
            return difference
    return None


def _perturbed(model: Any, inputs: tuple[Tensor, ...], precision: tuple[float, float]) -> Iterator[list[Tensor]]:
    """Eager's results where the inputs are off by the rounding of a few operations."""
    for seed in range(PERTURBATIONS):
        generator = torch.Generator().manual_seed(seed)
        moved = tuple(x * (1 + precision[1] * torch.randn(x.shape, generator=generator)) for x in inputs)
        with torch.no_grad():
            yield [x.clone() for x in copy.deepcopy(model)(*moved)]


def shortest(program: Program, target: Target) -> tuple[Program, Finding | None]:
    """The shortest start of a failing program that fails too."""
    for length in range(1, len(program.model.steps) + 1):
        part = program.cut(length)
        try:
            if finding := examine(part, target):
                return part, finding
        except NotCapturedError:
            continue
    return program, None
