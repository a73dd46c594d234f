# SPDX-License-Identifier: BSD-3-Clause
"""Compares the written program with eager PyTorch on the same inputs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from sdk.backends.registry import Backend, backend_of_id
from sdk.devtools.report.export_result import Comparison, OutputError
from sdk.export.cli.errors import CommandError, first_lines
from sdk.export.example_inputs import ExampleInputs, describe

TOLERANCE = {
    torch.float64: 1e-6,
    torch.float32: 1e-4,
    torch.float16: 1e-2,
    torch.bfloat16: 5e-2,
    torch.complex128: 1e-6,
    torch.complex64: 1e-4,
    torch.complex32: 1e-2,
}
"""The largest difference allowed for each dtype, relative to the output's largest value; for complex numbers, it
applies to the real and imaginary parts. Outputs of other dtypes must be equal."""


class WrittenProgram:
    """A `.pte` (and its `.ptd`) in the runtime of this package, or in the runner of a backend."""

    def __init__(self, program: Path, weights: Path | None, runner: Backend | None = None) -> None:
        """`runner` is the backend whose declaration names the runner; None means the runtime of this package.

        Raises:
            CommandError: the runtime is not built, or it or the runner refuses the program (the message says why).
        """
        if runner is not None:
            try:
                self._module = runner.find("runner")(program, weights)
            except Exception as error:
                raise CommandError(
                    f"The runner of the backend {runner.name} refuses the exported program: {first_lines(error)}"
                ) from error
            return
        try:
            from sdk.extension.pybindings import portable_lib
        except ImportError as error:
            raise CommandError(
                f"The program cannot be verified, because this package was installed without its runtime "
                f"({first_lines(error, 1)}). "
                f"Install it with `pip install .`, or export with --no-verify."
            ) from error
        try:
            self._module = portable_lib._load_for_executorch(str(program), None if weights is None else str(weights))
        except Exception as error:
            raise CommandError(f"The runtime refuses the exported program: {first_lines(error)}") from error

    def run(self, method: str, inputs: ExampleInputs) -> Sequence[Any]:
        """The outputs of a method, flattened."""
        try:
            return list(self._module.run_method(method, tuple(inputs.leaves())))
        except Exception as error:
            raise CommandError(
                f"The exported program fails in the runtime with inputs {inputs.describe()}: {first_lines(error)}"
            ) from error


def runner_for(delegates: Iterable[str]) -> Backend | None:
    """The backend whose runner must run a program with delegates of these ids; None means the runtime of this
    package.

    Raises:
        NothingRunsItError: neither the runtime nor a declared runner can run one of the delegates here.
    """
    try:
        from sdk.extension.pybindings import portable_lib
    except ImportError:
        return None  # WrittenProgram reports that there is no runtime
    registered = portable_lib._get_registered_backend_names()
    # A registered backend whose library, driver or device is missing is not available; it logs what is missing.
    missing = dict.fromkeys(id for id in delegates if id not in registered or not portable_lib._is_available(id))
    declared = {id: backend_of_id(id) for id in missing}
    for backend in declared.values():
        if backend is not None and backend.runner is not None:
            return backend
    if missing:
        raise NothingRunsItError(", ".join(missing))
    return None


class NothingRunsItError(Exception):
    """The backends that the program needs and that cannot run on this machine."""


def compare(
    label: str,
    method: str,
    calls: Sequence[ExampleInputs],
    answers: Sequence[Any],
    program: WrittenProgram,
    tolerance: float | None,
    rounding: Callable[[], Sequence[Sequence[float]]],
) -> Comparison:
    """Calls a method with copies of the inputs, in sequence, and compares with `answers`, PyTorch's outputs for them.
    `rounding` measures how much of each output of each call is rounding; it is called if a small difference is not
    within the tolerance.

    Raises:
        CommandError: the program fails, or the number, the shapes or the dtypes of its outputs are different.
    """
    outputs: list[OutputError] = []
    seconds = 0.0
    measured: Sequence[Sequence[float]] = ()
    for number, (inputs, answer) in enumerate(zip(calls, answers, strict=True), 1):
        given = inputs.copy()
        start = time.perf_counter()
        actual = program.run(method, given)
        seconds = seconds or time.perf_counter() - start
        found = differences(answer, actual, tolerance, number)
        if any(one.may_be_rounding and not one.within for one in found):
            measured = measured or rounding()
            explained = measured[number - 1]
            found = [replace(one, rounding=max(one.rounding, explained[one.index])) for one in found]
        outputs = [one.joined(other) for one, other in zip(outputs, found, strict=True)] if outputs else found
    return Comparison(method, label, calls[0].describe(), outputs, seconds, len(calls))


def differences(eager: Any, actual: Sequence[Any], tolerance: float | None, call: int = 1) -> list[OutputError]:
    """The difference of each output of one call. Raises CommandError if they cannot be compared."""
    expected = pytree.tree_leaves(eager)
    if len(actual) != len(expected):
        raise CommandError(f"The program gives {len(actual)} outputs where PyTorch gives {len(expected)}.")
    pairs = enumerate(zip(expected, actual, strict=True))
    return [_difference(index, want, have, tolerance, call) for index, (want, have) in pairs]


def _difference(index: int, expected: Any, actual: Any, tolerance: float | None, call: int) -> OutputError:
    if not isinstance(expected, torch.Tensor):
        finite = not isinstance(expected, float) or math.isfinite(expected)
        same = expected == actual or (isinstance(expected, float) and _same_float(expected, actual))
        difference = 0.0 if same else math.inf
        return OutputError(index, describe(expected), difference, difference, 0.0, call, 1, int(finite))
    if not isinstance(actual, torch.Tensor) or (actual.shape, actual.dtype) != (expected.shape, expected.dtype):
        raise CommandError(
            f"Output {index} of the program is {describe(actual)}; in PyTorch it is {describe(expected)}."
        )
    limit = TOLERANCE.get(expected.dtype, 0.0) if tolerance is None else tolerance
    max_abs, max_rel = tensor_difference(expected, actual)
    elements, compared = expected.numel(), compared_elements(expected)
    smallest = _smallest(expected.dtype)
    return OutputError(index, describe(expected), max_abs, max_rel, limit, call, elements, compared, smallest)


def _smallest(dtype: torch.dtype) -> float:
    """Returns the difference that is tolerated next to zero, because the dtype cannot express a smaller one or the
    processor flushes subnormal numbers. Values of models are in the range of float16's subnormal numbers, so float16
    may differ by 16 of its steps."""
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    info = torch.finfo(dtype)
    return float(info.tiny if info.tiny < 1e-30 else 16 * info.tiny * info.eps)


def _same_float(expected: float, actual: Any) -> bool:
    return isinstance(actual, float) and (
        math.isclose(expected, actual, rel_tol=1e-6) or (math.isnan(expected) and math.isnan(actual))
    )


def compared_elements(expected: torch.Tensor) -> int:
    """The number of elements that `tensor_difference` compares: those that are neither NaN nor infinite."""
    finite = torch.isfinite(_real(expected))
    return int((finite.all(-1) if expected.is_complex() else finite).sum())


def tensor_difference(expected: torch.Tensor, actual: torch.Tensor) -> tuple[float, float]:
    """The largest absolute difference, and its ratio to the largest finite magnitude in `expected`. For complex
    numbers, both are taken over the real and imaginary parts.

    Both numbers are infinite if infinities or NaN are at different positions.
    """
    if expected.numel() == 0:
        return 0.0, 0.0
    want, have = _real(expected), _real(actual)
    finite = torch.isfinite(want)
    wanted, given = want[~finite], have[~finite]
    if not bool(((wanted == given) | (wanted.isnan() & given.isnan())).all()):
        return math.inf, math.inf
    want, have = want[finite], have[finite]
    if want.numel() == 0:
        return 0.0, 0.0
    if not bool(torch.isfinite(have).all()):
        return math.inf, math.inf
    max_abs = float((want - have).abs().max())
    if max_abs == 0 and not expected.is_floating_point() and not expected.is_complex():
        # float64 does not tell large integers apart.
        max_abs = float(not torch.equal(expected, actual))
    largest = float(want.abs().max())
    return max_abs, (max_abs / largest if largest else (0.0 if max_abs == 0 else math.inf))


def _real(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor in float64; complex numbers become their two parts in an additional last dimension."""
    tensor = tensor.detach()
    if tensor.is_complex():
        return torch.view_as_real(tensor.to(torch.complex128).resolve_conj())
    return tensor.to(torch.float64)
