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
"""Models that are delegated completely."""


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]


@pytest.mark.sampled
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


def _mobilenet() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    from examples.mobilenet_v2.model import example_inputs, mobilenet_v2

    return mobilenet_v2(), example_inputs()


def _minilm() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """The encoder of all-MiniLM-L6-v2 with random weights and a padded text."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, return_dict=False
    )
    tokens, mask = torch.randint(0, config.vocab_size, (1, 32)), torch.ones(1, 32, dtype=torch.int64)
    mask[:, 24:] = 0
    return BertModel(config, add_pooling_layer=False).eval(), (tokens, mask)


@pytest.mark.sampled
@pytest.mark.parametrize("use_fp16", [False, True], ids=["fp32", "fp16"])
@pytest.mark.parametrize("make", [_mobilenet, _minilm], ids=["mobilenet_v2", "minilm"])
def test_models_of_full_size(make: Any, use_fp16: bool, tmp_path: Path) -> None:
    """Models of full size are delegated completely, and give eager's results."""
    model, inputs = make()
    with torch.no_grad():
        expected = _tensors(model(*inputs))
    manager = lower(model, inputs, use_fp16)
    assert not get_non_lowered_nodes(manager.exported_program().graph)
    assert difference(reference(manager, tmp_path).run_method("forward", inputs), expected) <= LIMITS[use_fp16]
