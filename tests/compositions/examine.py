# SPDX-License-Identifier: BSD-3-Clause
"""Lowers a program, calls it several times with several sizes, and compares with eager."""

from __future__ import annotations

import copy
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from backends.conformance import compare
from backends.runners import runner
from backends.targets import Target
from compositions.draw import BATCH, LEAST, MOST
from compositions.program import Program
from sdk.exir import ExecutorchBackendConfig, to_edge_transform_and_lower

if TYPE_CHECKING:
    from sdk.exir.backend.partitioner import Partitioner

SIZES = (BATCH, MOST, LEAST, BATCH)
"""The number of rows in each call, in order. Later calls reuse memory that an earlier call has filled."""

FLOAT, HALF = (1e-4, 4e-7), (1e-2, 5e-4)
"""The tolerance relative to the largest value, and the relative rounding error of a few operations: in float32 (FLOAT),
and where a program computes with float16 (HALF)."""

PERTURBATIONS = 6


@dataclass(frozen=True)
class Finding:
    """A fault of a program on a target."""

    target: str
    what: str


class NotCapturedError(Exception):
    """torch.export refuses the program, or the program writes to a tensor whose elements overlap in memory."""


class LoweringError(Exception):
    """The compiler refuses the program, or fails."""


@dataclass(frozen=True)
class Call:
    """A call in eager.

    Attributes:
        inputs: The inputs before the call.
        model: The model with its state before the call.
        expected: The results.
        written: The number of inputs that the call writes to.
    """

    inputs: tuple[Tensor, ...]
    model: nn.Module
    expected: list[Tensor]
    written: int


def call_of(model: nn.Module, inputs: tuple[Tensor, ...]) -> Call:
    """Calls the model, which may change its state."""
    before = copy.deepcopy(model)
    given = tuple(x.clone() for x in inputs)
    expected = _called(model, given)
    return Call(inputs, before, expected, sum(x._version > 0 for x in given))


def _called(model: nn.Module, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    with torch.no_grad():
        return [x.clone() for x in model(*inputs)]


Capture = Callable[[Program], tuple[ExportedProgram, list[Call]]]


def capture(program: Program) -> tuple[ExportedProgram, list[Call]]:
    """The captured program and its calls. They have any number of rows, unless a step needs the number of the example.

    Raises:
        NotCapturedError: See there.
    """
    for shapes, sizes in ((program.dynamic_shapes(), SIZES), (None, (BATCH,) * 3)):
        try:
            return captured_with(program.model, program.inputs, shapes), _calls(program, sizes)
        except Exception as error:
            reason = error
    raise NotCapturedError(str(reason))


def captured_with(model: nn.Module, inputs: tuple[Tensor, ...], shapes: Any) -> ExportedProgram:
    """A copy of the model, captured with copies of inputs."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(
            copy.deepcopy(model).eval(), copy.deepcopy(inputs), dynamic_shapes=shapes, strict=False
        )


def _calls(program: Program, sizes: tuple[int, ...]) -> list[Call]:
    """Calls in order, up to the first one whose number of rows fails in a step although torch.export accepted it."""
    made: list[Call] = []
    model = copy.deepcopy(program.model).eval()
    for number, rows in enumerate(sizes):
        try:
            made.append(call_of(model, program.inputs_for(rows, number)))
        except (RuntimeError, IndexError):
            break
    return made


def lower(
    captured: ExportedProgram, partitioners: list[Partitioner], config: ExecutorchBackendConfig | None = None
) -> bytes:
    """The file of a program.

    Raises:
        NotCapturedError: See there.
    """
    try:
        edge = to_edge_transform_and_lower(captured, partitioner=partitioners)
        return edge.to_executorch(config or ExecutorchBackendConfig()).buffer
    except Exception as error:
        if "several elements are one in memory" in str(error):
            raise NotCapturedError(str(error)) from error
        raise LoweringError(f"lowering: {type(error).__name__}: {error}") from error


def examine(
    program: Program, target: Target, config: ExecutorchBackendConfig | None = None, capture: Capture = capture
) -> Finding | None:
    """None if the program gives eager's results in each call.

    Raises:
        NotCapturedError: See there.
    """
    captured, calls = capture(program)
    try:
        buffer = lower(captured, target.partitioners(), config)
    except LoweringError as error:
        return Finding(target.name, str(error))
    what = run_and_compare(buffer, target, calls, computes_in_half(program, target))
    return Finding(target.name, what) if what else None


def computes_in_half(program: Program, target: Target) -> bool:
    """Whether a step requests float16, or the backend uses it by default."""
    if any("= half(" in text for text in program.texts):
        return True
    return target.backend is not None and (target.backend.tolerance or 0) > 1e-3


def run_and_compare(buffer: bytes, target: Target, calls: list[Call], in_half: bool, extra: int = 0) -> str | None:
    """Loads a program and calls it. Returns what goes wrong as one line. The program may return `extra` results before
    others."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = runner(buffer, target, Path(folder))
        except RuntimeError as error:
            return f"loading: {error}"
        for number, call in enumerate(calls):
            what = f"call {number}, {call.inputs[0].shape[0]} rows: "
            try:
                found = [x.clone() for x in run(copy.deepcopy(call.inputs))][extra:]
            except RuntimeError as error:
                return what + str(error)
            if differs := difference(found, call, in_half):
                return what + differs
    return None


def difference(found: list[Tensor], call: Call, in_half: bool) -> str | None:
    """Returns where the results differ from eager's by more than rounding explains, as one line."""
    expected = call.expected
    differs = compare(found, expected)
    if differs is None:
        return None
    if len(found) != len(expected):
        return differs
    for ours, eager in zip(found, expected, strict=True):
        if ours.dtype != eager.dtype or ours.shape != eager.shape:
            return differs
    allowed = [torch.zeros_like(x, dtype=torch.float64) for x in expected]
    for moved in _perturbed(call, HALF if in_half else FLOAT):
        for bound, one, eager in zip(allowed, moved, expected, strict=True):
            torch.maximum(bound, (one.double() - eager.double()).abs(), out=bound)
    tolerance, _ = HALF if in_half else FLOAT
    for ours, eager, bound in zip(found, expected, allowed, strict=True):
        # If a choice (argmax, a comparison, sort) has another outcome, it may change other elements than those here.
        spread = float(bound.max())
        scale = tolerance * max(1.0, float(eager.double().abs().max()))
        if not ((ours.double() - eager.double()).abs() <= scale + 4 * spread).all():
            return differs
    return None


def _perturbed(call: Call, precision: tuple[float, float]) -> Iterator[list[Tensor]]:
    """Eager's results for inputs that differ by the rounding of a few operations."""
    for seed in range(PERTURBATIONS):
        generator = torch.Generator().manual_seed(seed)
        moved = tuple(x * (1 + precision[1] * torch.randn(x.shape, generator=generator)) for x in call.inputs)
        yield _called(copy.deepcopy(call.model), moved)


def shortest(program: Program, target: Target, capture: Capture = capture) -> tuple[Program, Finding | None]:
    """The shortest start of a failing program that fails too."""
    for length in range(1, len(program.model.steps) + 1):
        part = program.cut(length)
        try:
            if finding := examine(part, target, capture=capture):
                return part, finding
        except NotCapturedError:
            continue
    return program, None
