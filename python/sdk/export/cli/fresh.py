# SPDX-License-Identifier: BSD-3-Clause
"""Random inputs of other sizes that are like the example, to verify a program at the ends of its dynamic sizes.

The example repeated would have equal elements, among which `sort` or `topk` may choose as they like.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import torch
from torch.utils import _pytree as pytree

from sdk.export.cli.dynamic import Sizes
from sdk.export.cli.inputs import make_input
from sdk.export.cli.specs import InputSpec
from sdk.export.example_inputs import ExampleInputs

_MOST_DISTINCT = 1 << 24
"""The largest range of integers from which distinct ones are drawn."""


def fresh(inputs: ExampleInputs, sizes: Sizes, specs: Sequence[InputSpec], generator: torch.Generator) -> ExampleInputs:
    """The inputs with new values in the tensors that `sizes` changes. The others stay as they are.

    Floats lie between the smallest and the largest of the example (around its value if all are equal), or are some of
    its values where these are few, as in a mask. Integers are distinct if there are enough, and at most 2^24, integers
    between the smallest and the largest. A tensor that an `--input` describes has values of that description instead.

    Args:
        inputs: The example.
        sizes: The new sizes.
        specs: The parsed `--input` arguments, one for each flattened input; empty for inputs from elsewhere.
        generator: The source of the numbers.
    """
    leaves, structure = pytree.tree_flatten((inputs.args, inputs.kwargs))
    for index in dict.fromkeys(index for index, _ in sizes):
        example = leaves[index]
        shape = tuple(sizes.get((index, dim), size) for dim, size in enumerate(example.shape))
        if specs and specs[index].dtype is not None:
            leaves[index] = _described(specs[index], shape, generator)
        else:
            leaves[index] = _like(example, shape, generator)
    args, kwargs = pytree.tree_unflatten(leaves, structure)
    return ExampleInputs(args, kwargs)


def _described(spec: InputSpec, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    made: torch.Tensor = make_input(dataclasses.replace(spec, shape=shape), generator)
    if spec.low is None or spec.high is None or made.is_floating_point():
        return made
    return _integers(int(spec.low), int(spec.high), shape, generator).to(made.dtype)


def _like(example: torch.Tensor, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    if example.is_complex():
        return torch.complex(_like(example.real, shape, generator), _like(example.imag, shape, generator))
    if example.numel() == 0:
        return torch.zeros(shape, dtype=example.dtype)
    if not example.is_floating_point():
        if example.dtype == torch.bool:
            return _chosen(example, shape, generator)
        numbers = example.to(torch.int64)
        drawn = _integers(int(numbers.min()), int(numbers.max()), shape, generator)
        if example.dim() == 1 and _in_order(numbers):  # such as offsets
            drawn = drawn.sort().values
        return drawn.to(example.dtype)
    values = example.double()
    distinct = values.unique().numel()
    if not bool(values.isfinite().all()) or 1 < distinct < example.numel() / 2:
        return _chosen(example, shape, generator)
    low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low - max(abs(low), 1) / 2, high + max(abs(high), 1) / 2
    return (torch.rand(shape, generator=generator, dtype=torch.double) * (high - low) + low).to(example.dtype)


def _chosen(example: torch.Tensor, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """A tensor of the given shape with randomly chosen elements of the example."""
    return example.reshape(-1)[torch.randint(example.numel(), shape, generator=generator)]


def _integers(low: int, high: int, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    count, span = math.prod(shape), high - low + 1
    if count <= span <= _MOST_DISTINCT:
        return torch.randperm(span, generator=generator)[:count].reshape(shape) + low
    return torch.randint(low, min(high + 1, (1 << 63) - 1), shape, generator=generator)


def _in_order(example: torch.Tensor) -> bool:
    return example.numel() > 1 and bool((example[1:] >= example[:-1]).all())
