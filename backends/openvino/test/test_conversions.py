# SPDX-License-Identifier: BSD-3-Clause
"""OpenVINO converts each partition once: the partitioner tries it, and the payload is compiled from that model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from openvino_lowering import Lowered, assert_close
from torch import Tensor, nn

from sdk.backends.openvino import convert
from sdk.backends.openvino.partitioner import OpenvinoPartitioner

Lower = Callable[..., Lowered]


class Network(nn.Module):
    def __init__(self, step: Callable[..., Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.step = step

    def forward(self, x: Tensor) -> Tensor:
        return self.step(self, x)


def _cond(m: Any, x: Tensor) -> Tensor:
    return torch.cond(x.sum() > 0, lambda x: m.a(x).relu(), lambda x: m.b(m.a(x)), (x,))


STEPS: dict[str, tuple[Callable[..., Tensor], int]] = {
    "one partition": (lambda m, x: m.b(m.a(x).relu()), 1),
    "two partitions": (lambda m, x: m.b(m.a(x).sigmoid()), 2),
    "a weight of two partitions": (lambda m, x: m.a(m.a(x).sigmoid()), 2),
    "branches": (_cond, 3),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_each_partition_is_converted_once(
    name: str, dynamic: bool, lowered: Lower, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, count = STEPS[name]
    conversions = []
    convert_one = convert._convert
    monkeypatch.setattr(convert, "_convert", lambda plain: conversions.append(plain) or convert_one(plain))
    model, x = Network(step), torch.randn(2, 4)
    shapes = ({0: torch.export.Dim("n", min=2, max=8)},) if dynamic else None
    program = lowered(model, (x,), shapes, OpenvinoPartitioner(op_types_to_skip=["aten.sigmoid.default"]))
    assert len(conversions) == count
    for given in (x, -x):
        with torch.no_grad():
            assert_close(program.run(given), model(given))


def test_a_model_that_was_made_of_another_graph_is_not_used() -> None:
    kept = convert._Converted("a graph", object())
    assert kept.take("another graph") is None and kept.take("a graph") is None
    model = object()
    kept = convert._Converted("a graph", model)
    assert kept.take("a graph") is model
    assert kept.take("a graph") is None  # once
