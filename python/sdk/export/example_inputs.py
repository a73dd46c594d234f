# SPDX-License-Identifier: BSD-3-Clause
"""The inputs of one call of a method: positional and keyword inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree


@dataclass
class ExampleInputs:
    """The arguments of `module(*args, **kwargs)`. In lists of example inputs, a tuple means positional inputs and a
    dict keyword inputs; this class is for both together."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any) -> ExampleInputs:
        """Converts a tuple or list, a dict, a single tensor or number, or ExampleInputs.

        Raises:
            TypeError: `given` is of another type.
        """
        if isinstance(given, ExampleInputs):
            return given
        if isinstance(given, Mapping):
            return cls((), dict(given))
        if isinstance(given, (tuple, list)):
            return cls(tuple(given), {})
        if isinstance(given, (torch.Tensor, bool, int, float)):
            return cls((given,), {})
        raise TypeError(
            f"expected example inputs as a tuple of positional inputs, a dict of keyword inputs or ExampleInputs, got "
            f"{type(given).__name__}"
        )

    def leaves(self) -> list[Any]:
        """The inputs in the program's order: nested tuples, lists and dicts are flattened."""
        return pytree.tree_leaves((self.args, self.kwargs))

    def copy(self) -> ExampleInputs:
        """The same values in new tensors, because a model may write to its inputs."""
        args, kwargs = pytree.tree_map_only(torch.Tensor, torch.clone, (self.args, self.kwargs))
        return ExampleInputs(args, kwargs)

    def distinct(self) -> ExampleInputs:
        """The inputs with copies for repeated tensors, because torch.export merges inputs that are the same object."""
        seen: set[int] = set()

        def once(tensor: torch.Tensor) -> torch.Tensor:
            if id(tensor) in seen:
                return tensor.clone()
            seen.add(id(tensor))
            return tensor

        return ExampleInputs(*pytree.tree_map_only(torch.Tensor, once, (self.args, self.kwargs)))

    def describe(self) -> str:
        """`float32[1, 3, 224, 224], int64[1, 128]`."""
        return ", ".join(describe(leaf) for leaf in self.leaves()) or "no inputs"


def describe(value: Any) -> str:
    """`float32[1, 3]` for a tensor, the value itself for a number."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, value.shape))}]"
    return repr(value) if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__
