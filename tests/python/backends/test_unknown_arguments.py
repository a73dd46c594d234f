# SPDX-License-Identifier: BSD-3-Clause
"""An argument that a public function does not have is a TypeError that names it, and is not ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sdk.backends.registry import Backend, backends
from sdk.examples.models.llama.static_attention import StaticAttention
from sdk.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from sdk.exir.passes import MemoryPlanningPass
from sdk.export import ExportRecipe, export
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.runtime import Runtime


@pytest.mark.parametrize(
    "call",
    [
        EdgeCompileConfig,
        ExecutorchBackendConfig,
        ExportRecipe,
        MemoryPlanningPass,
        Runtime.load_program,
        export,
        to_edge,
        to_edge_transform_and_lower,
    ],
)
def test_of_functions_and_configurations(call: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="no_such_argument"):
        call(no_such_argument=1)


@pytest.mark.parametrize(
    "backend", [each for each in backends().values() if each.partitioner], ids=lambda each: each.name
)
def test_of_partitioners(backend: Backend) -> None:
    with pytest.raises(TypeError, match="no_such_argument"):
        backend.find("partitioner")(no_such_argument=1)


def test_of_classes_that_take_options_of_others() -> None:
    with pytest.raises(TypeError, match="StaticAttention has no option no_such_argument"):
        StaticAttention(ModelArgs(), 0, None, no_such_argument=1)  # type: ignore[arg-type]
