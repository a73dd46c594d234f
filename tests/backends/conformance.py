# SPDX-License-Identifier: BSD-3-Clause
"""Lowers a program for a target, runs it on several numbers of threads, and classifies the outcome."""

from __future__ import annotations

import copy
import enum
import math
import operator
import re
import tempfile
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from backends.cases import Calls, call_of, calls_of, overload_of, within
from backends.runners import Run, runner, tensors_in
from backends.targets import Target
from sdk.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from sdk.exir.backend.utils import get_delegates, get_non_lowered_nodes, get_refusals
from sdk.exir.memory_planning import naive
from sdk.exir.passes import MemoryPlanningPass
from sdk.extension.pybindings import portable_lib

THREADS = (1, 2, 3, 8)

Tolerance = tuple[float, float]
TOLERANCES: dict[torch.dtype, Tolerance] = {
    torch.float16: (1e-3, 2e-3),
    torch.bfloat16: (1e-2, 1.6e-2),
    torch.float32: (1e-5, 1.3e-6),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1e-5, 1.3e-6),
}
"""(atol, rtol) as in torch.testing.assert_close; atol of float16 is larger, for results that are near zero."""

NO_REASON = "no reason given"

ROUNDING = 4
"""The error of an element may be this many times the largest error of eager: sums may be computed in another order."""

ANGULAR = ("cos.default", "sin.default", "tan.default")
LARGEST_ANGLE = 4096
"""The largest operand with which ANGULAR is compared on backends whose folder has a note about large angles."""


class Outcome(enum.Enum):
    """The outcome of a program. In all outcomes except FAILED, the results are those of eager."""

    RIGHT = "yes"  # the target computes all of it
    PARTLY = "partly"  # kernels compute a part of it
    REFUSED = "no"  # kernels compute all of it
    NOTHING = "nothing to compute"  # the compiler removes it
    FAILED = "failed"


@dataclass(frozen=True)
class Cell:
    """The outcome, and why the partitioner left calls to kernels, or what failed."""

    outcome: Outcome
    reasons: tuple[str, ...] = ()


def examine_operator(name: str, target: Target, computes: Callable[..., Any] | None = None) -> Cell:
    """All calls of an overload (cases.OPERATORS) in one program. The suite's own tests compute another overload."""
    function, calls = overload_of(name), calls_of(name)
    if name in ANGULAR and target.angle_note:
        calls = [within(one, LARGEST_ANGLE) for one in calls]
    expected = Calls([(function, one) for one in calls])
    lowered = Calls([(computes or function, one) for one in copy.deepcopy(calls)])
    return examine_calls(lowered, [tuple(expected.inputs)], target, reference=expected)


def examine_calls(
    model: nn.Module,
    calls: Sequence[tuple[Any, ...]],
    target: Target,
    *,
    reference: nn.Module | None = None,
    dynamic_shapes: Any = None,
) -> Cell:
    """Captures `model` with the inputs of the first call, lowers it for `target`, makes each call on each of
    THREADS, and compares the results with those of `reference`, or of the model itself, in eager mode."""
    reference = reference or copy.deepcopy(model)
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.export.export(model.eval(), calls[0], dynamic_shapes=dynamic_shapes, strict=False)
            edge = to_edge_transform_and_lower(program, partitioner=target.partitioners())
            executable = edge.to_executorch(_CONFIG)
    except Exception as error:
        return Cell(Outcome.FAILED, (f"lowering: {type(error).__name__}: {_first_line(error)}",))
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = runner(executable.buffer, target, Path(folder), _outputs_of(edge.exported_program()))
        except (RuntimeError, ValueError) as error:
            return Cell(Outcome.FAILED, (f"loading: {_first_line(error)}",))
        if differs := _run_and_compare(run, reference.eval(), calls, target):
            return Cell(Outcome.FAILED, (differs,))
    return Cell(Outcome.RIGHT) if target.is_kernels else _where_computed(edge.exported_program().graph_module, model)


def _where_computed(module: GraphModule, model: nn.Module) -> Cell:
    """Returns where a lowered program computes the calls of a `Calls`, or all calls of another model."""
    delegated = [
        node
        for name in get_delegates(module.graph)
        for node in getattr(module, str(name)).original_module.graph.nodes
        if _computes(node)
    ]
    left = [node for node in get_non_lowered_nodes(module.graph) if _computes(node)]
    if isinstance(model, Calls):
        delegated, left = ([node for node in nodes if call_of(node) is not None] for nodes in (delegated, left))
    if not left:
        return Cell(Outcome.RIGHT if delegated else Outcome.NOTHING)
    texts = [text for node in left for text in get_refusals(node).values()]
    reasons = {_without_names(reason) for text in texts for reason in text.split("; ")}
    return Cell(Outcome.PARTLY if delegated else Outcome.REFUSED, joined(reasons or {NO_REASON}))


# Hundreds of results are live until the end; the other algorithms are very slow for so many.
_CONFIG = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(memory_planning_algo=naive))


def _computes(node: Node) -> bool:
    """Whether a node is a computation, which arithmetic on sizes and getitem are not."""
    if node.op != "call_function" or node.target is operator.getitem:
        return False
    return any(isinstance(value, Tensor) for value in pytree.tree_leaves(node.meta.get("val")))


def _without_names(reason: str) -> str:
    """A reason without the names of a program's nodes."""
    return re.sub(r"\b(aten|inputs|dim_order_ops|weights)_\w+", "an operand", reason) or NO_REASON


def joined(reasons: set[str]) -> tuple[str, ...]:
    """Joins reasons that differ in one value, such as "dim is 0, and X takes the last one", to one reason with all
    values."""
    values = defaultdict(list)
    for reason in reasons:
        subject, is_there, rest = reason.partition(" is ")
        value, comma, limit = rest.partition(", and ")
        values[(subject, is_there, comma + limit) if comma else (reason, "", "")].append(value)
    return tuple(
        sorted(
            subject + is_there + " or ".join(sorted(found)) + limit if is_there else subject
            for (subject, is_there, limit), found in values.items()
        )
    )


def _outputs_of(program: ExportedProgram) -> list[Tensor]:
    """Fake tensors of a lowered program's outputs."""
    return tensors_in([getattr(node, "meta", {}).get("val") for node in program.graph.output_node().args[0]])


def _run_and_compare(run: Run, model: nn.Module, calls: Sequence[tuple[Any, ...]], target: Target) -> str | None:
    for inputs in calls:
        expected, exact, names = _results(model, inputs)
        right: list[Tensor] = []
        for threads in THREADS if target.has_our_threads else THREADS[:1]:
            try:
                with _threads(threads):
                    found = _watched(run, inputs)
            except HangError:
                return f"on {threads} threads: no results after {HANG_SECONDS} s of {', '.join(dict.fromkeys(names))}"
            except RuntimeError as error:
                return f"running on {threads} threads: {_first_line(error)}"
            if target.nan_note:
                found = _with_nan_of(expected, found)
            if _are_same(found, right):
                continue
            if differs := compare(found, expected, exact, names):
                return f"on {threads} threads: {differs}"
            right = copy.deepcopy(found)
    return None


def _with_nan_of(expected: list[Tensor], found: list[Tensor]) -> list[Tensor]:
    """Returns the results of `found` with NaN where eager has NaN."""
    if [eager.shape for eager in expected] != [ours.shape for ours in found]:
        return found
    return [
        ours.masked_fill(eager.isnan(), math.nan) if eager.isnan().any() else ours
        for eager, ours in zip(expected, found, strict=True)
    ]


def _are_same(found: list[Tensor], right: list[Tensor]) -> bool:
    """Whether both are bitwise equal."""
    return len(found) == len(right) and all(
        a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b) for a, b in zip(found, right, strict=True)
    )


HANG_SECONDS = 300
"""More than any program of the suite takes, under sanitizers too."""


class HangError(Exception):
    """A program did not return. Its thread cannot be stopped, and the pool for which it may be waiting must not be
    changed.
    """


def _watched(run: Run, inputs: tuple[Any, ...]) -> list[Tensor]:
    """The results of run(inputs), or its exception; HangError after HANG_SECONDS."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(run(inputs))
        except Exception as error:
            outcome.append(error)

    # Python does not wait for a daemon thread when it ends.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(HANG_SECONDS)
    if not outcome:
        raise HangError
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = portable_lib._threadpool_get_thread_count()
    portable_lib._unsafe_reset_threadpool(count)
    try:
        yield
    except HangError:
        raise  # ending the pool would wait for its threads
    except BaseException:
        portable_lib._unsafe_reset_threadpool(before)
        raise
    portable_lib._unsafe_reset_threadpool(before)


Results = tuple[list[Tensor], list["Tensor | None"], list[str]]
"""Three lists with an entry for each result: eager's result, the result with weights and inputs in float64 (None if the
operator does not take float64), and a description."""


def _results(model: nn.Module, inputs: tuple[Any, ...]) -> Results:
    double = copy.deepcopy(model).double()
    widened = pytree.tree_map_only(Tensor, lambda x: x.double() if x.is_floating_point() else x, inputs)
    eager: list[Tensor] = []
    exact: list[Tensor | None] = []
    names: list[str] = []
    calls = model.descriptions if isinstance(model, Calls) else ["the model"]
    for number, name in enumerate(calls):

        def results(module: nn.Module, values: tuple[Any, ...], number: int = number) -> list[Tensor]:
            with torch.no_grad():
                if isinstance(module, Calls):
                    return module.results_of(number, values)
                return tensors_in(module(*copy.deepcopy(values)))

        found = results(model, inputs)
        try:
            truth: Sequence[Tensor | None] = results(double, widened)
        except Exception:
            truth = [None] * len(found)
        eager += found
        exact += truth
        names += [name] * len(found)
    return eager, exact, names


def compare(
    found: list[Tensor],
    expected: list[Tensor],
    exact: Sequence[Tensor | None] | None = None,
    names: Sequence[str] | None = None,
) -> str | None:
    """Describes the difference in one line; None if they agree. The error of an element may be ROUNDING times the
    largest error of eager.
    """
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    for position, (ours, eager) in enumerate(zip(found, expected, strict=True)):
        what = f"result {position}{f', of {names[position]},' if names else ''}"
        if ours.dtype != eager.dtype or ours.shape != eager.shape:
            return f"{what} is {ours.dtype} {list(ours.shape)}, expected {eager.dtype} {list(eager.shape)}"
        atol, rtol = TOLERANCES.get(eager.dtype, (0.0, 0.0))
        right = torch.isclose(ours, eager, rtol=rtol, atol=atol, equal_nan=True)
        truth = exact[position] if exact is not None else None
        if not right.all() and truth is not None and truth.shape == eager.shape and eager.is_floating_point():
            truth = truth.double()
            worst = (eager.double() - truth).abs()
            allowed = ROUNDING * worst[worst.isfinite()].max() if worst.isfinite().any() else 0.0
            right |= torch.isclose(ours.double(), truth, rtol=rtol, atol=max(atol, float(allowed)), equal_nan=True)
        if not right.all():
            index = (~right).nonzero()[0].tolist()
            return (
                f"{what} of shape {list(eager.shape)}: {int((~right).sum())} of {right.numel()} elements "
                f"differ, the first at {index}: {ours[tuple(index)].item()}, expected {eager[tuple(index)].item()}"
            )
    return None


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0][:200]
