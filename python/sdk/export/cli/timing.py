# SPDX-License-Identifier: BSD-3-Clause
"""Measures a call of the program and a call of the model in PyTorch eager."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from sdk.devtools.report.export_result import Timing
from sdk.export.cli.verify import WrittenProgram
from sdk.export.example_inputs import ExampleInputs

# Each side is called for _BUDGET seconds, and at least _FEWEST_CALLS times, unless these calls take _LONGEST seconds.
_BUDGET, _LONGEST = 0.1, 2.0
_FEWEST_CALLS, _MOST_CALLS = 3, 100


def timing(method: str, module: torch.nn.Module, inputs: ExampleInputs, program: WrittenProgram) -> Timing | None:
    """Measures both. Returns None for a model that changes its buffers, because its calls may differ, and if a second
    call fails."""
    try:
        return _timing(method, module, inputs, program)
    except Exception:  # the program has been verified; its time is optional
        return None


def _timing(method: str, module: torch.nn.Module, inputs: ExampleInputs, program: WrittenProgram) -> Timing | None:
    copied, given = copy.deepcopy(module), inputs.copy()
    with torch.no_grad():
        copied(*given.args, **given.kwargs)
        before = dict(module.named_buffers())
        if any(not same(buffer, before[name]) for name, buffer in copied.named_buffers()):
            return None
        eager = _median(lambda: copied(*given.args, **given.kwargs))
    program.run(method, given)
    return Timing(method, _median(lambda: program.run(method, given)), eager)


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors are equal. NaN equals NaN."""
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def _median(call: Callable[[], Any]) -> float:
    times: list[float] = []
    while not times or (
        len(times) < _MOST_CALLS and sum(times) < (_BUDGET if len(times) >= _FEWEST_CALLS else _LONGEST)
    ):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
