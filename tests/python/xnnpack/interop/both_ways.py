# SPDX-License-Identifier: BSD-3-Clause
"""Models that both SDKs lower to XNNPACK; each SDK runs the other's programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch
from torch import nn
from torch.export import export, save

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime

Inputs = tuple[torch.Tensor, ...]
DELEGATE = "delegate=executorch.backends.xnnpack.partition.xnnpack_partitioner:XnnpackPartitioner"


def exchange(
    oracle: Callable[..., object], folder: Path, models: Mapping[str, tuple[nn.Module, Inputs]]
) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """For each model its name, a result and eager's: first our program in the original, then its program here."""
    theirs = folder / "theirs"
    theirs.mkdir()
    for name, (model, inputs) in models.items():
        program = export(model, inputs)
        save(program, theirs / f"{name}.pt2")
        torch.save([], theirs / f"{name}.calls.pt")
        lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner(compat="1.4")])
        (folder / f"{name}.pte").write_bytes(lowered.to_executorch().buffer)
        torch.save([("forward", inputs)], folder / f"{name}.calls.pt")
    oracle("run", folder, *models)
    oracle(DELEGATE, theirs, *models)
    for name, (model, inputs) in models.items():
        for where in (folder, theirs):
            error = where / f"{name}.error.txt"
            assert not error.exists(), f"{name}: {error.read_text()}"
        wanted = model(*inputs)
        ((ours_there,),) = torch.load(folder / f"{name}.outputs.pt")
        yield name, ours_there, wanted
        program = Runtime.get().load_program((theirs / f"{name}.pte").read_bytes())
        yield name, torch.as_tensor(program.load_method("forward").execute(inputs)[0]), wanted
