# SPDX-License-Identifier: BSD-3-Clause
"""Examines one model: captures it, lowers it, runs the program and compares with eager."""

from __future__ import annotations

import copy
import importlib
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.export import Dim, ExportedProgram
from torch.utils import _pytree as pytree

from zoo.libraries.case import Call, Model, make

TOLERANCE = 1e-4
"""The tolerance, relative to a tensor's largest value."""
OWN_ERRORS = 3
"""A program may differ from eager by this multiple of `own_error`, if that exceeds TOLERANCE."""
SHAPES, BACKENDS = ("fixed", "dynamic"), ("portable", "xnnpack")


@dataclass
class Cell:
    """The outcome of one program: `reason` is empty if it works."""

    reason: str = ""
    error: float = 0.0
    """The largest difference, divided by the largest value of the tensor."""
    cpu: float = 0.0
    """Seconds of CPU time from the exported program to the bytes of the file."""
    size: int = 0
    latency: float = 0.0
    """Seconds: the fastest of several runs."""
    nodes: int = 0


@dataclass
class Result:
    """The results of a model. `captured`: for each kind of shapes, why torch.export refuses the model; empty if not."""

    name: str
    package: str = "sdk"
    rounds: int = 1
    captured: dict[str, str] = field(default_factory=dict)
    export: dict[str, float] = field(default_factory=dict)
    cells: dict[str, Cell] = field(default_factory=dict)
    failure: str = ""
    """Why the model could not be examined: eager fails, the process crashes or hangs."""
    stage: str = ""
    """The current stage, for the report on a process that ends without a result."""
    memory: int = 0
    """The process's peak memory in bytes."""
    seconds: float = 0.0

    @classmethod
    def read(cls, values: dict[str, Any]) -> Result:
        result = cls(**{**values, "cells": {}})
        result.cells = {key: Cell(**cell) for key, cell in values["cells"].items()}
        return result

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def works(self) -> bool:
        return not self.failure and all(not cell.reason for cell in self.cells.values())


def short(error: BaseException) -> str:
    """The error on one line, for a table."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:400]


def examine(
    name: str,
    *,
    package: str = "sdk",
    shapes: Sequence[str] = SHAPES,
    backends: Sequence[str] = BACKENDS,
    rounds: int = 1,
    progress: Callable[[Result], None] = lambda result: None,
) -> Result:
    """Everything about the model `name`. `package` is `sdk`, or `executorch` for the original's. `progress` is called
    before each stage."""
    torch.set_num_threads(1)
    result, begin = Result(name, package, rounds), time.monotonic()

    def enter(stage: str) -> None:
        result.stage, result.seconds = stage, time.monotonic() - begin
        progress(result)

    enter("build")
    try:
        model = make(name)
        calls = {size: _calls(model, size) for size in {model.fixed, *model.sizes}}
        enter("eager")
        expected = {size: run_eager(model, calls[size]) for size in calls}
    except Exception as error:
        result.failure = f"eager, {result.stage}: {short(error)}"
        return result
    for kind in shapes:
        enter(f"torch.export, {kind}")
        size = model.fixed if kind == "fixed" else model.sizes[1]
        started = time.perf_counter()
        try:
            exported = capture(model, calls[size][0], kind == "dynamic")
        except Exception as error:
            result.captured[kind] = short(error)
            continue
        result.captured[kind] = ""
        result.export[kind] = time.perf_counter() - started
        for backend in backends:
            cell = result.cells[f"{kind}/{backend}"] = Cell()
            cell.nodes = len(exported.graph.nodes)
            sizes = (size,) if kind == "fixed" else dict.fromkeys(model.sizes)
            try:
                enter(f"lower, {kind}, {backend}")
                cpu = time.process_time()
                program = lower(copy.copy(exported), backend, package)
                cell.cpu, cell.size = time.process_time() - cpu, len(program)
                for each in sizes:
                    enter(f"run, {kind} {each}, {backend}")
                    limits = partial(own_error, model, calls[each], expected[each])
                    run_and_compare(program, calls[each], expected[each], cell, package, rounds, limits)
            except Exception as error:
                cell.reason = f"{result.stage}: {short(error)}"
    enter("done")
    result.stage = ""
    result.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return result


def _calls(model: Model, size: int) -> list[Call]:
    torch.manual_seed(size)
    return model.calls(size)


def run_eager(model: Model, calls: list[Call]) -> list[list[Any]]:
    """The results of the calls, in order, from the module's initial state."""
    module = copy.deepcopy(model.module)
    results = []
    with torch.no_grad():
        for call in calls:
            outputs = [copy.deepcopy(value) for value in pytree.tree_leaves(module(*copy.deepcopy(call)))]
            for value in outputs:
                if isinstance(value, Tensor) and value.is_floating_point():
                    if not value.isfinite().all():
                        raise ValueError("a result is not finite")
                    if value.numel() > 8 and value.std() == 0:
                        raise ValueError("all elements of a result are equal")
            results.append([value for value in outputs if value is not None])
    return results


def capture(model: Model, call: Call, dynamic: bool) -> ExportedProgram:
    specification = None
    if dynamic:
        least, _, most = model.sizes
        dimension = Dim(model.what, min=least, max=most)
        dims = model.dynamic + (None,) * (len(call) - len(model.dynamic))
        specification = tuple(None if dim is None else {dim: dimension} for dim in dims)
        # A module that takes any number of arguments has one parameter for them.
        if any(kind.kind is kind.VAR_POSITIONAL for kind in _parameters(model.module)):
            named = sum(kind.kind is not kind.VAR_POSITIONAL for kind in _parameters(model.module))
            specification = (*specification[:named], specification[named:])
    module = copy.deepcopy(model.module)
    with torch.no_grad():
        return torch.export.export(module, copy.deepcopy(call), dynamic_shapes=specification, strict=model.strict)


def _parameters(module: torch.nn.Module) -> list[Any]:
    import inspect

    return list(inspect.signature(module.forward).parameters.values())


def lower(exported: ExportedProgram, backend: str, package: str) -> bytes:
    exir = importlib.import_module(f"{package}.exir")
    partitioners = []
    if backend == "xnnpack":
        xnnpack = importlib.import_module(f"{package}.backends.xnnpack.partition.xnnpack_partitioner")
        partitioners = [xnnpack.XnnpackPartitioner()]
    program: bytes = exir.to_edge_transform_and_lower(exported, partitioner=partitioners).to_executorch().buffer
    return program


def own_error(model: Model, calls: list[Call], expected: list[list[Any]]) -> float:
    """Returns the rounding error of eager's results, relative to the largest value. Some models magnify rounding, and
    no float32 program can be closer to them. The error is the largest difference from the same model in float64, also
    for inputs whose last bit is changed at random. It is 0 if the model does not run in float64."""
    generator = torch.Generator().manual_seed(0)

    def changed(x: Tensor) -> Tensor:
        return x * (1 + torch.finfo(x.dtype).eps * torch.randint(-1, 2, x.shape, generator=generator))

    try:
        wide = replace(model, module=copy.deepcopy(model.module).double())
        exact = pytree.tree_leaves(run_eager(wide, _floats_of(calls, Tensor.double)))
    except (RuntimeError, TypeError):
        return 0.0
    found = [expected, *(run_eager(model, _floats_of(calls, changed)) for _ in range(3))]
    pairs = [pair for each in found for pair in zip(pytree.tree_leaves(each), exact, strict=True)]
    floats = [(x, y) for x, y in pairs if isinstance(x, Tensor) and x.is_floating_point() and x.numel()]
    return max((_difference(x, y) for x, y in floats), default=0.0)


def _floats_of(calls: list[Call], function: Callable[[Tensor], Tensor]) -> list[Call]:
    """The calls with `function` of their tensors of floating-point numbers."""
    changed: list[Call] = pytree.tree_map_only(Tensor, lambda x: function(x) if x.is_floating_point() else x, calls)
    return changed


def run_and_compare(
    program: bytes,
    calls: list[Call],
    expected: list[list[Any]],
    cell: Cell,
    package: str,
    rounds: int,
    own_error: Callable[[], float] = lambda: 0.0,
) -> None:
    """Raises AssertionError if a result differs from eager's by more than `TOLERANCE`, or by more than
    `OWN_ERRORS` times `own_error()` where that is larger."""
    runtime = importlib.import_module(f"{package}.runtime")
    if rounds > 1:  # the latencies of two packages are compared
        importlib.import_module(f"{package}.extension.pybindings.portable_lib")._unsafe_reset_threadpool(1)
    loaded = runtime.Runtime.get().load_program(program)
    method = loaded.load_method("forward")
    for call, wanted in zip(calls, expected, strict=True):
        inputs = pytree.tree_leaves(call)
        started = time.perf_counter()
        found = method.execute(inputs)
        cell.latency = time.perf_counter() - started
        _compare(found, wanted, cell, own_error)
    for _ in range(rounds - 1):
        started = time.perf_counter()
        method.execute(inputs)
        cell.latency = min(cell.latency, time.perf_counter() - started)


def _difference(found: Tensor, wanted: Tensor) -> float:
    """The largest difference, divided by the largest value of `wanted`."""
    largest = float(wanted.double().abs().max()) or 1.0
    return float((found.double() - wanted.double()).abs().max()) / largest


def _compare(found: Sequence[Any], wanted: Sequence[Any], cell: Cell, own_error: Callable[[], float]) -> None:
    assert len(found) == len(wanted), f"{len(found)} results, expected {len(wanted)}"
    for i, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if not isinstance(other, Tensor):
            assert one == other, f"result {i} is {one}, expected {other}"
            continue
        assert one.shape == other.shape, f"result {i} has the shape {list(one.shape)}, expected {list(other.shape)}"
        assert one.dtype == other.dtype, f"result {i} is {one.dtype}, expected {other.dtype}"
        if not other.numel():
            continue
        if other.is_floating_point():
            difference = _difference(one, other)
        else:
            difference = float((one != other).double().mean())
        cell.error = max(cell.error, difference)
        # A NaN difference does not count as smaller.
        if not difference <= TOLERANCE:
            limit = max(TOLERANCE, OWN_ERRORS * own_error())
            assert difference <= limit, f"result {i} differs by {difference:.1e} of the largest value"
