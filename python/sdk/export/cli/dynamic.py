# SPDX-License-Identifier: BSD-3-Clause
"""`--dynamic`: converts names and ranges to torch.export's dynamic shapes, and makes inputs of other sizes for
verification."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

from sdk.export.cli.errors import CommandError, closest
from sdk.export.cli.specs import DynamicDim
from sdk.export.example_inputs import ExampleInputs, describe

Sizes = dict[tuple[int, int], int]
"""(index of a tensor among the flattened inputs, dimension) -> size."""


class DynamicShapes:
    """The dynamic dimensions of one model's inputs."""

    def __init__(self, module: torch.nn.Module, inputs: ExampleInputs, dims: Sequence[DynamicDim]) -> None:
        """Raises CommandError if a name, a dimension or a range does not match `inputs`."""
        self._module = module
        self.names = _leaf_names(module, inputs)
        """A name for each flattened input, such as `x` or `state.0`."""
        self.ranges: dict[tuple[int, int], DynamicDim] = {}
        leaves = inputs.leaves()
        for wanted in dims:
            index = self._index(wanted)
            tensor = leaves[index]
            if not isinstance(tensor, torch.Tensor):
                raise CommandError(f"--dynamic {wanted}: `{wanted.path}` is {describe(tensor)}, not a tensor.")
            rank = tensor.dim()
            if not -rank <= wanted.dim < rank:
                raise CommandError(
                    f"--dynamic {wanted}: `{wanted.path}` is {describe(tensor)}; its dimensions are 0 to {rank - 1}."
                    if rank
                    else f"--dynamic {wanted}: `{wanted.path}` is a tensor without dimensions."
                )
            dim = wanted.dim % rank
            if (index, dim) in self.ranges:
                raise CommandError(f"--dynamic says the size of {wanted.path}.{dim} twice.")
            size = tensor.shape[dim]
            if not wanted.low <= size <= wanted.high:
                raise CommandError(f"--dynamic {wanted}: the example has size {size} there, outside of the range.")
            self.ranges[index, dim] = wanted

    def for_torch(self, inputs: ExampleInputs) -> Any:
        """The `dynamic_shapes` for torch.export.export(), or None if every shape is fixed."""
        if not self.ranges:
            return None
        index = iter(range(len(self.names)))

        def of(_: Any) -> dict[int, Any] | None:
            here = next(index)
            # DYNAMIC fails if the model fixes the size, and infers which sizes must be equal.
            return {d: Dim.DYNAMIC(min=r.low, max=r.high) for (i, d), r in self.ranges.items() if i == here} or None

        return pytree.tree_map(of, _by_parameter(self._module, inputs))

    def capture_sizes(self, inputs: ExampleInputs) -> Sizes:
        """Sizes for the capture. 1 is avoided if possible, because torch specialises it."""
        leaves = inputs.leaves()
        return {
            (index, dim): min(2, wanted.high)
            for (index, dim), wanted in self.ranges.items()
            if leaves[index].shape[dim] == 1
        }

    def ends(self) -> list[tuple[str, Sizes]]:
        """The smallest and the largest sizes, each with its name."""
        if not self.ranges:
            return []
        smallest = {place: wanted.low for place, wanted in self.ranges.items()}
        largest = {place: wanted.high for place, wanted in self.ranges.items()}
        return [("smallest sizes", smallest), ("largest sizes", largest)]

    def _index(self, wanted: DynamicDim) -> int:
        if wanted.path not in self.names:
            raise CommandError(
                f"--dynamic {wanted}: the model has no input `{wanted.path}`; its inputs are "
                f"{', '.join(self.names) or 'none'}."
                f"{closest(wanted.path, self.names)}"
            )
        return self.names.index(wanted.path)


def resized(inputs: ExampleInputs, sizes: Sizes) -> ExampleInputs:
    """Returns the inputs with other sizes: cut if smaller, repeated if larger, so that the values stay plausible."""
    leaves, spec = pytree.tree_flatten((inputs.args, inputs.kwargs))
    for (index, dim), size in sizes.items():
        tensor = leaves[index]
        where = torch.arange(size) % max(tensor.shape[dim], 1)
        leaves[index] = tensor.index_select(dim, where)
    args, kwargs = pytree.tree_unflatten(leaves, spec)
    return ExampleInputs(args, kwargs)


def resized_bytes(inputs: ExampleInputs, sizes: Sizes) -> int:
    """The size in bytes of the tensors of `resized(inputs, sizes)`."""
    total = 0
    for index, leaf in enumerate(inputs.leaves()):
        if isinstance(leaf, torch.Tensor):
            shape = [sizes.get((index, dim), size) for dim, size in enumerate(leaf.shape)]
            total += math.prod(shape) * leaf.element_size()
    return total


def _by_parameter(module: torch.nn.Module, inputs: ExampleInputs) -> dict[str, Any]:
    """The inputs by name of forward()'s parameters, in their order, as torch.export expects dynamic shapes."""
    return dict(inspect.signature(module.forward).bind(*inputs.args, **inputs.kwargs).arguments)


def _leaf_names(module: torch.nn.Module, inputs: ExampleInputs) -> list[str]:
    """`x`, `state.0`, `batch.mask`: a name for every flattened input."""
    names = []
    for path, _ in pytree.tree_leaves_with_path(_by_parameter(module, inputs)):
        names.append(".".join(str(getattr(key, "idx", getattr(key, "key", key))) for key in path))
    return names
