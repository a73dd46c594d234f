# SPDX-License-Identifier: BSD-3-Clause
"""`python -m sdk.debug` with operators that have several results of the same shape, such as the h and c of an LSTM. The
ETDump does not say which result a recorded value is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export

from declared import default
from sdk.debug.__main__ import main
from sdk.exir import to_edge_transform_and_lower

X = torch.linspace(-1, 1, 24).sin().reshape(2, 3, 4)
BOTH = pytest.mark.parametrize("delegated", [False, True], ids=["kernels", "default backend"])


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase], results: Callable[[Any], Any], **options: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = kind(4, 4, batch_first=True, **options)
        self.results = results

    def forward(self, x: torch.Tensor) -> Any:
        return self.results(self.layer(x))


class Called(nn.Module):
    def __init__(self, results: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.results = results

    def forward(self, x: torch.Tensor) -> Any:
        return self.results(x * 2)


MODELS: dict[str, Callable[[], nn.Module]] = {
    "h and c": lambda: Recurrent(nn.LSTM, lambda found: found[1]),
    "c and h": lambda: Recurrent(nn.LSTM, lambda found: found[1][::-1]),
    "c": lambda: Recurrent(nn.LSTM, lambda found: found[1][1]),
    "y and c, two layers": lambda: Recurrent(nn.LSTM, lambda found: (found[0], found[1][1]), num_layers=2),
    "c, both directions": lambda: Recurrent(nn.LSTM, lambda found: found[1][1], bidirectional=True),
    "h of a GRU": lambda: Recurrent(nn.GRU, lambda found: found[1], num_layers=2),
    "indices": lambda: Called(lambda x: torch.max(x, 1)[1]),
    "the second part": lambda: Called(lambda x: torch.split(x, 2, 2)[1] + 1),
    "the least": lambda: Called(lambda x: torch.aminmax(x, dim=1).min - 1),
    "mean and deviation": lambda: Called(lambda x: torch.std_mean(x, 1)[::-1]),
}


def debugged(model: nn.Module, record_of: nn.Module, delegated: bool, folder: Path) -> int:
    partitioner = [default().make("partitioner")] if delegated else []
    managers = [
        to_edge_transform_and_lower(export(each.eval(), (X,)), partitioner=partitioner, generate_etrecord=True)
        .to_executorch()
        for each in (model, record_of)
    ]  # fmt: skip
    managers[0].save(str(folder / "m.pte"))
    managers[1].get_etrecord().save(folder / "m.etrecord")
    return main([str(folder / "m.pte"), "--no-losses"])


@pytest.mark.sampled
@pytest.mark.parametrize("name", MODELS)
@BOTH
def test_a_right_program_is_not_accused(name: str, delegated: bool, tmp_path: Path) -> None:
    """DT-06"""
    assert debugged(MODELS[name](), MODELS[name](), delegated, tmp_path) == 0


@pytest.mark.parametrize("name", ["h and c", "c, both directions"])
@BOTH
def test_a_wrong_weight_is_found(name: str, delegated: bool, tmp_path: Path) -> None:
    """DT-06"""
    wrong = MODELS[name]()
    with torch.no_grad():
        next(wrong.parameters())[6, 1] += 0.05
    assert debugged(wrong, MODELS[name](), delegated, tmp_path) == 1
