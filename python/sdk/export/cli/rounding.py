# SPDX-License-Identifier: BSD-3-Clause
"""Measures how much of the outputs of a model is rounding.

Where a model subtracts nearly equal numbers, its output may be small and consist of rounding errors, which another
order of additions changes entirely. The difference from the program says nothing then, although it is large relative
to the output. Other runs of the same model in PyTorch tell such an output from a small but exact one: in float64, and
with inputs and parameters that differ by one unit in the last place.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from sdk.export.cli.lowering import eager
from sdk.export.cli.verify import TOLERANCE, tensor_difference
from sdk.export.example_inputs import ExampleInputs

_RUNS = 3
"""The number of runs with changed last bits. A single run might by chance round as the model did."""
_TIMES = 64.0
"""The largest factor by which a difference may exceed the measured rounding, as in `sdk debug`: kernels add in another
order."""


def rounding(module: torch.nn.Module, calls: Sequence[ExampleInputs], answers: Sequence[Any]) -> list[list[float]]:
    """The largest difference of each output of each call that rounding explains.

    Args:
        module: The model. It is not changed.
        calls: Its inputs, in sequence.
        answers: Its outputs for them.
    """
    expected = [pytree.tree_leaves(answer) for answer in answers]
    largest = [[0.0] * len(leaves) for leaves in expected]
    for wants, again in zip(expected, eager(module, calls), strict=True):
        if any(_difference(want, have) for want, have in zip(wants, pytree.tree_leaves(again), strict=False)):
            return largest  # random numbers and global variables are not rounding
    for answers_of_run in _other_runs(module, calls):
        for limits, wants, answer in zip(largest, expected, answers_of_run, strict=True):
            for index, (want, have) in enumerate(zip(wants, pytree.tree_leaves(answer), strict=False)):
                limits[index] = max(limits[index], _times(want) * _difference(want, have))
    return largest


def _times(want: Any) -> float:
    """The factor by which a difference may exceed the measured rounding. It is smaller where one rounding is a large
    part of the tolerance: in bfloat16, the tolerance is six steps."""
    if not isinstance(want, torch.Tensor) or want.dtype not in TOLERANCE:
        return 0.0
    return min(_TIMES, TOLERANCE[want.dtype] / torch.finfo(want.dtype).eps)


def _difference(want: Any, have: Any) -> float:
    """0 if the two cannot be compared."""
    if not isinstance(want, torch.Tensor) or not isinstance(have, torch.Tensor) or want.shape != have.shape:
        return 0.0
    found, _ = tensor_difference(want, have)
    return found if math.isfinite(found) else 0.0


def _other_runs(module: torch.nn.Module, calls: Sequence[ExampleInputs]) -> Iterator[list[Any]]:
    yield from _run(lambda: copy.deepcopy(module).double(), [_each_tensor(call, _to_float64) for call in calls])
    for seed in range(_RUNS):
        generator = torch.Generator().manual_seed(seed)

        def other(tensor: torch.Tensor, generator: torch.Generator = generator) -> torch.Tensor:
            return _other_last_bits(tensor, generator)

        def changed(other: Callable[[torch.Tensor], torch.Tensor] = other) -> torch.nn.Module:
            copied = copy.deepcopy(module)
            with torch.no_grad():
                for tensor in (*copied.parameters(), *copied.buffers()):
                    tensor.data = other(tensor)  # copy_() does not accept expanded tensors
            return copied

        yield from _run(changed, [_each_tensor(call, other) for call in calls])


def _run(make: Callable[[], torch.nn.Module], calls: Sequence[ExampleInputs]) -> Iterator[list[Any]]:
    """Yields the outputs, or nothing if the model does not accept inputs or parameters of this dtype."""
    try:
        yield eager(make(), calls, own=True)
    except Exception:  # a model, or a tensor of a quantised one, refuses other numbers with any exception
        return


def _each_tensor(call: ExampleInputs, function: Callable[[torch.Tensor], torch.Tensor]) -> ExampleInputs:
    return ExampleInputs(*pytree.tree_map_only(torch.Tensor, function, (call.args, call.kwargs)))


def _to_float64(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.double() if tensor.is_floating_point() else tensor


def _other_last_bits(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Changes each number by one unit in the last place, up or down, or not at all."""
    if tensor.is_complex():
        return torch.view_as_complex(_other_last_bits(torch.view_as_real(tensor.resolve_conj()), generator))
    if not tensor.is_floating_point() or tensor.element_size() < 2:
        return tensor
    steps = torch.randint(-1, 2, tensor.shape, generator=generator).to(tensor.dtype)
    return tensor * (1 + steps * torch.finfo(tensor.dtype).eps)
