# SPDX-License-Identifier: BSD-3-Clause
"""Models that both SDKs lower to XNNPACK; each SDK runs the other's programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import torch
from torch import nn

from interop.exchange import exchange as exchange_programs
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

Inputs = tuple[torch.Tensor, ...]
LOWER = "lower=xnnpack"


def exchange(
    oracle: Callable[..., object], folder: Path, models: Mapping[str, tuple[nn.Module, Inputs]]
) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """Yields a model's name, a result and eager's result, twice for each model: first the result of our program in the
    original, then that of the original's program here."""
    ours = partial(XnnpackPartitioner, compat="1.4")
    for each in exchange_programs(oracle, folder, models, ours, "xnnpack"):
        assert not each.error, f"{each.name}: {each.error}"
        (wanted,), (ours_there,), (theirs_here,) = each.eager, each.ours_there, each.theirs_here
        yield each.name, ours_there, wanted
        yield each.name, theirs_here, wanted
