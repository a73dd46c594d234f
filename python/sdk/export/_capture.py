# SPDX-License-Identifier: BSD-3-Clause
"""torch.export of a method with its example inputs, for the stages that need a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from sdk.exir.capture._fast_paths import without_fast_paths
from sdk.exir.sym_util import declare_lower_bound
from sdk.export.example_inputs import ExampleInputs

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from sdk.export.stages import PipelineArtifact


def capture(artifact: PipelineArtifact, method: str, model: torch.nn.Module, strict: bool) -> ExportedProgram:
    """torch.export with the method's first example and its dynamic shapes."""
    example = examples_of(artifact, method)[0].distinct()
    shapes = (artifact.get_context("dynamic_shapes") or {}).get(method)
    with without_fast_paths():
        exported = torch.export.export(
            model, example.args, example.kwargs or None, dynamic_shapes=shapes, strict=strict
        )
    _record_least_sizes(exported, shapes)
    return exported


def _record_least_sizes(exported: ExportedProgram, shapes: Any) -> None:
    """Records the lower bounds of `Dim.DYNAMIC(min=...)` and `Dim.AUTO(min=...)`.

    torch records 2 for every smaller `min`, as it does for sizes without a lower bound.
    """
    by_input = pytree.tree_leaves(shapes, is_leaf=lambda part: part is None or _is_by_dimension(part))
    names = exported.graph_signature.user_inputs
    if len(by_input) != len(names):
        return
    values = {node.name: node.meta.get("val") for node in exported.graph.find_nodes(op="placeholder")}
    for name, dims in zip(names, by_input, strict=True):
        for dim, hint in dims.items() if _is_by_dimension(dims) else ():
            least, size = getattr(hint, "min", None), values[name].shape[dim]
            if least in (1, 2) and isinstance(size, torch.SymInt):
                declare_lower_bound(exported, size, least)


def _is_by_dimension(part: Any) -> bool:
    return isinstance(part, dict) and bool(part) and all(isinstance(key, int) for key in part)


def examples_of(artifact: PipelineArtifact, method: str) -> list[ExampleInputs]:
    """The example inputs of a method. Raises ValueError if there are none."""
    found = (artifact.get_context("example_inputs") or {}).get(method)
    if not found:
        raise ValueError(f"Example inputs for method {method} not found or empty.")
    return [ExampleInputs.of(example) for example in found]
