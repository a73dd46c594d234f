# SPDX-License-Identifier: BSD-3-Clause
"""Names of weights in different checkpoints, and their conversion to the names of `Transformer`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor

Weights = dict[str, Tensor]
"""Weights by the names of `sdk.extension.llm.model.transformer.Transformer`."""


class CheckpointError(ValueError):
    """A checkpoint that is incomplete, or of a model that is not supported."""


class Names:
    """Renames the weights of a checkpoint.

    `layer`: the prefix of a layer's number. `inside`: names within a layer, `outside`: other names, both without
    `.weight` or `.bias`. A new name can be several names, separated by spaces: then the weight of the checkpoint
    contains the rows of all of them in sequence.
    """

    def __init__(self, layer: str, inside: dict[str, str], outside: dict[str, str]) -> None:
        self._layer = re.compile(rf"{re.escape(layer)}(\d+)\.(.+)\.(weight|bias)")
        self._inside, self._outside = inside, outside

    def rename(self, items: Iterable[tuple[str, Any]], rows: Callable[[str], list[int]], tied: bool = True) -> Weights:
        """`rows`: the row counts of the parts of a weight with several names. `tied`: an output without weights uses
        the embedding's.

        Raises CheckpointError for names that are not known.
        """
        weights: Weights = {}
        unknown: list[str] = []
        for name, value in items:
            names = self._new_names(name)
            if names is None:
                unknown.append(name)
            elif len(names) == 1:
                weights[names[0]] = value
            else:
                weights.update(zip(names, split_rows(name, value, rows(name)), strict=True))
        if unknown:
            more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
            raise CheckpointError(
                f"these weights are not known: {', '.join(unknown[:5])}{more}; is the model supported?"
            )
        if tied and "output.weight" not in weights and "tok_embeddings.weight" in weights:
            weights["output.weight"] = weights["tok_embeddings.weight"]
        return weights

    def _new_names(self, name: str) -> list[str] | None:
        if match := self._layer.fullmatch(name):
            layer, inside, kind = match.groups()
            found = self._inside.get(inside)
            return None if found is None else [f"layers.{layer}.{part}.{kind}" for part in found.split()]
        stem, _, kind = name.rpartition(".")
        found = self._outside.get(stem)
        return None if found is None else [f"{found}.{kind}"]


def split_rows(name: str, value: Any, rows: list[int]) -> list[Any]:
    """Splits a weight into parts of the given row counts. Raises CheckpointError if it has another number of rows."""
    if sum(rows) != value.shape[0]:
        raise CheckpointError(f"{name} has {value.shape[0]} rows, expected {' + '.join(map(str, rows))}")
    return list(value.split(rows))
