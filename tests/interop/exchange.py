# SPDX-License-Identifier: BSD-3-Clause
"""Models that both SDKs lower to a backend; each SDK runs its own programs and the other's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import export, save
from torch.utils import _pytree as pytree

from sdk.exir import to_edge_transform_and_lower
from sdk.exir._serialize import _deserialize_pte_binary
from sdk.runtime import Runtime


@dataclass
class Exchanged:
    """The results of one model as lists of tensors, our program, and the original's error if it cannot lower or run the
    model by itself. Its program then has no results."""

    name: str
    eager: list[Tensor]
    ours_here: list[Tensor]
    ours_there: list[Tensor]
    theirs_here: list[Tensor]
    theirs_there: list[Tensor]
    program: bytes
    error: str = ""

    @property
    def delegates(self) -> list[str]:
        """The ids of the backends of our program's delegates."""
        plans = _deserialize_pte_binary(self.program).program.execution_plan
        return [delegate.id for plan in plans for delegate in plan.delegates]


def exchange(
    oracle: Callable[..., object],
    folder: Path,
    models: Mapping[str, tuple[nn.Module, tuple[Any, ...]]],
    partitioner: Callable[[], Any],
    original: str,
    quantize: Callable[[nn.Module, tuple[Any, ...]], nn.Module] | None = None,
) -> Iterator[Exchanged]:
    """Yields for each model the results of both programs in both SDKs. Our program must run in both.

    Args:
        oracle: Runs the original.
        folder: An empty folder for the programs.
        models: The models, with their inputs, by names.
        partitioner: Makes ours.
        original: The function of `original_lowering` that lowers with the original's.
        quantize: Quantises the model for our program; the original's function quantises for the other.
    """
    for name, (model, inputs) in models.items():
        program = export(model, inputs, strict=False)
        save(program, folder / f"{name}.theirs.pt2")
        if quantize is not None:
            program = export(quantize(model, inputs), inputs, strict=False)
        lowered = to_edge_transform_and_lower(program, partitioner=[partitioner()])
        (folder / f"{name}.ours.pte").write_bytes(lowered.to_executorch().buffer)
        for whose in ("ours", "theirs"):
            torch.save([("forward", tuple(pytree.tree_leaves(inputs)))], folder / f"{name}.{whose}.calls.pt")
    names = [f"{name}.{whose}" for name in models for whose in ("ours", "theirs")]
    oracle(f"lower={original},run", folder, *names)
    for name, (model, inputs) in models.items():
        errors = {whose: folder / f"{name}.{whose}.error.txt" for whose in ("ours", "theirs")}
        assert not errors["ours"].exists(), f"{name}: {errors['ours'].read_text()}"
        error = errors["theirs"].read_text() if errors["theirs"].exists() else ""
        with torch.no_grad():
            eager = pytree.tree_leaves(model(*inputs))
        flat = pytree.tree_leaves(inputs)
        ours_here, ours_there = _results(folder / f"{name}.ours", flat)
        theirs_here, theirs_there = ([], []) if error else _results(folder / f"{name}.theirs", flat)
        program = (folder / f"{name}.ours.pte").read_bytes()
        yield Exchanged(name, eager, ours_here, ours_there, theirs_here, theirs_there, program, error)


def _results(path: Path, inputs: list[Any]) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the results of a program here and in the original."""
    (there,) = torch.load(path.with_name(f"{path.name}.outputs.pt"))
    method = Runtime.get().load_program(path.with_name(f"{path.name}.pte").read_bytes()).load_method("forward")
    return [torch.as_tensor(result) for result in method.execute(inputs)], list(there)
