# SPDX-License-Identifier: BSD-3-Clause
"""Declarations of sweeps, and the programs made from them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.export import Dim
from torch.utils import _pytree as pytree

from backends.cases import Call, Calls, overload_of


@dataclass(frozen=True)
class Dynamic:
    """A call with a dynamic size n: `build(n)` makes it. It is captured with n = sizes[1], and runs with values from
    sizes[0] to sizes[2]. A Size among the arguments is computed from a tensor's size. torch.export refuses a range for
    which a computed size may be 1."""

    build: Callable[[int], Call]
    sizes: tuple[int, int, int] = (1, 7, 70)


Case = Call | Dynamic

SWEEPS: dict[str, Callable[[], list[Case]]] = {}
"""ATen's name of an overload (`add.Tensor`) to the function that makes its cases."""

CALLS_OF_PROGRAM = 60


def sweep(*names: str) -> Callable[[Callable[[], list[Case]]], Callable[[], list[Case]]]:
    """Registers a function that returns the cases of the overloads `names`."""

    def register(function: Callable[[], list[Case]]) -> Callable[[], list[Case]]:
        for name in names:
            assert name not in SWEEPS, f"{name} has a sweep already"
            SWEEPS[name] = function
        return function

    return register


@dataclass(frozen=True)
class Program:
    """A module, the inputs of each of its calls, and the dynamic shapes to capture it with."""

    module: Calls
    inputs: list[tuple[Tensor, ...]]
    dynamic_shapes: Any = None


def cases_of(name: str) -> list[Case]:
    """The cases of an overload, with the same values each time."""
    torch.manual_seed(0)
    return SWEEPS[name]()


def sample_of(name: str, count: int) -> list[Case]:
    """`count` calls of an overload and a dynamic one, the same each time."""
    cases = cases_of(name)
    chosen: list[Case] = []
    for kind, wanted in ((Call, count), (Dynamic, 1)):
        group = [case for case in cases if isinstance(case, kind)]
        start = zlib.crc32(name.encode())
        chosen += [group[(start + i * len(group) // wanted) % len(group)] for i in range(min(wanted, len(group)))]
    return chosen


def programs_of(cases: Iterable[tuple[str, Case]]) -> list[Program]:
    """Programs with the cases of overloads, CALLS_OF_PROGRAM in each. Cases with dynamic shapes have separate programs,
    and so have cases that may be empty: in some delegates either all results are empty or none is."""
    listed = list(cases)
    programs = []
    calls = [(overload_of(name), case) for name, case in listed if isinstance(case, Call)]
    for first in range(0, len(calls), CALLS_OF_PROGRAM):
        module = Calls(calls[first : first + CALLS_OF_PROGRAM])
        programs.append(Program(module, [tuple(module.inputs)]))
    dynamic = [(overload_of(name), case) for name, case in listed if isinstance(case, Dynamic)]
    for group in ([one for one in dynamic if one[1].sizes[0] > 0], [one for one in dynamic if one[1].sizes[0] == 0]):
        for first in range(0, len(group), CALLS_OF_PROGRAM):
            programs.append(_dynamic_program(group[first : first + CALLS_OF_PROGRAM]))
    return programs


def _dynamic_program(cases: Sequence[tuple[Callable[..., Any], Dynamic]]) -> Program:
    shapes: list[dict[int, Any]] = []
    built: list[list[tuple[Callable[..., Any], Call]]] = [[], [], []]
    for number, (overload, case) in enumerate(cases):
        calls = [case.build(size) for size in case.sizes]
        dim = Dim(f"n{number}", min=case.sizes[0], max=case.sizes[2])
        of_each = [Calls([(overload, call)]).inputs for call in calls]
        shapes += [_dynamic_dims(*tensors, case.sizes, dim) for tensors in zip(*of_each, strict=True)]
        for which, call in enumerate(calls):
            built[which].append((overload, call))
    least, example, most = (Calls(calls) for calls in built)
    inputs = [tuple(module.inputs) for module in (example, least, most, least)]
    return Program(example, inputs, {"inputs": tuple(shapes)})


def _dynamic_dims(
    least: Tensor, example: Tensor, most: Tensor, sizes: tuple[int, int, int], dim: Any
) -> dict[int, Any]:
    """For each dimension of a tensor: its factor of the size that varies."""
    found: dict[int, Any] = {}
    for axis, (low, middle, high) in enumerate(zip(least.shape, example.shape, most.shape, strict=True)):
        if low == middle == high:
            continue
        factor = middle // sizes[1]
        assert [low, middle, high] == [factor * size for size in sizes], "a dimension is not a multiple of what varies"
        found[axis] = dim if factor == 1 else factor * dim
    return found


def offset(tensor: Tensor) -> Tensor:
    """A view of the same elements at an offset in memory, so that they are not aligned to a vector."""
    if tensor.numel() == 0:
        return tensor
    memory = torch.zeros(tensor.numel() + 1, dtype=tensor.dtype)
    view = torch.as_strided(memory, tensor.shape, tensor.stride(), 1)
    return view.copy_(tensor)


def with_offsets(call: Call) -> Call:
    """The call with each tensor at an offset."""
    args, kwargs = pytree.tree_map_only(Tensor, offset, (call.args, call.kwargs))
    return Call(args, kwargs)
