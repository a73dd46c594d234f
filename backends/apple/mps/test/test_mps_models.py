# SPDX-License-Identifier: BSD-3-Clause
"""Models from eager to a `.pte` that the interpreter computes, in both precisions."""

from __future__ import annotations

import copy
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from mps_lowering import LIMITS, difference, lower, reference
from torch.utils import _pytree as pytree

from sdk.exir.backend.utils import get_delegates, get_non_lowered_nodes
from zoo.case import CASES, build

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT))
for _module in ("control", "function", "in_place", "language", "sequence", "structure", "vision"):
    importlib.import_module(f"zoo.{_module}")

WHOLE = ("mlp", "resnet", "mobilenet", "vit", "encoder", "causal_attention")
"""Models of which no operator stays outside."""


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]


@pytest.mark.parametrize("use_fp16", [False, True], ids=["fp32", "fp16"])
@pytest.mark.parametrize("name", CASES)
def test_the_zoo(name: str, use_fp16: bool, tmp_path: Path) -> None:
    """Every model of the zoo gives eager's results in all its calls."""
    for method_name, method in build(name).methods.items():
        eager = copy.deepcopy(method.module)
        manager = lower(method.module, method.calls[0], use_fp16, method.dynamic_shapes)
        graph = manager.exported_program().graph
        if name in WHOLE:
            assert not get_non_lowered_nodes(graph), get_non_lowered_nodes(graph)
            assert len(get_delegates(graph)) == 1
        program = reference(manager, tmp_path)
        for call in method.calls:
            with torch.no_grad():
                expected = _tensors(eager(*copy.deepcopy(call)))
            actual = _tensors(program.run_method("forward", pytree.tree_leaves(copy.deepcopy(call))))
            assert difference(actual, expected) <= LIMITS[use_fp16], method_name
