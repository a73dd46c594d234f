# SPDX-License-Identifier: BSD-3-Clause
"""The sizes of arenas, compared with the largest number of live bytes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import zoo
from bench.arena import measure_arena
from bench.models import MODELS
from bench.worker import load_model


def check(model: torch.nn.Module, inputs: tuple[Any, ...], dynamic_shapes: Any = None) -> None:
    exported = torch.export.export(model, inputs, dynamic_shapes=dynamic_shapes, strict=False)
    measured = measure_arena(exported)
    print(f"{measured.bytes} bytes planned, {measured.alive_bytes} alive at once")
    assert measured.bytes <= 1.02 * measured.alive_bytes


@pytest.mark.sampled
@pytest.mark.parametrize("name", zoo.CASES)
def test_arena_is_within_two_percent_of_what_is_alive(name: str) -> None:
    for method in zoo.build(name).methods.values():
        check(method.module, method.calls[0], method.dynamic_shapes)


@pytest.mark.sampled
@pytest.mark.parametrize("label", MODELS)
def test_arena_of_a_whole_model(label: str) -> None:
    try:
        model, inputs = load_model(MODELS[label])
    except ModuleNotFoundError as error:
        pytest.skip(f"{label} cannot be made here: {error}")
    check(model, inputs)
