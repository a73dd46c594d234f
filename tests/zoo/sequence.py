# SPDX-License-Identifier: BSD-3-Clause
"""Multilayer perceptrons, recurrent networks and signal processing."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.case import Method, case


class LastStep(nn.Module):
    """A recurrent network's outputs, final state and a classifier on the last step."""

    def __init__(self, network: nn.LSTM | nn.GRU) -> None:
        super().__init__()
        self.network, self.head = network, nn.Linear(network.hidden_size * (2 if network.bidirectional else 1), 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        out, _ = self.network(x)
        return out, torch.log_softmax(self.head(out[:, -1]), dim=-1)


class Statistics(nn.Module):
    """Reductions, scans, sorting and selection over a signal."""

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        centred = x - x.mean(-1, keepdim=True)
        top, where = torch.topk(centred, 3)
        return {
            "scaled": centred / (centred.var(-1, keepdim=True) + 1e-5).sqrt(),
            "running": torch.cumsum(x, -1),
            "peaks": top,
            "where": where,
            "largest": x.argmax(-1),
            "range": x.amax(-1) - x.amin(-1),
            "loud": (centred.abs() > 1).any(-1),
        }


class Gather(nn.Module):
    """Indexing in its many forms."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(9, 5))

    def forward(self, rows: Tensor, columns: Tensor) -> tuple[Tensor, ...]:
        picked = self.table[rows]
        return (
            picked,
            torch.gather(picked, 1, columns),
            torch.index_select(self.table, 1, rows[1:3]),
            torch.where(picked > 0, picked, -picked.exp()),
            torch.zeros(4, 5).scatter(1, columns, 1.0),
            self.table[1:8:3, -2:].flip(0).roll(1, 1),
        )


class IntegerMath(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> list[Tensor]:
        square = a.float().pow(2).to(a.dtype)
        return [a // b, a % b, a / b, (a & b) | 1, a ^ 3, torch.div(a, b, rounding_mode="trunc"), square]


@case
def mlp() -> Method:
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 4), nn.Sigmoid())
    return Method(model, [(torch.randn(1, 16),), (torch.randn(1, 16),)])


@case
def mlp_dynamic_batch() -> Method:
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 2), nn.Softmax(-1))
    calls = [(torch.randn(n, 8),) for n in (4, 1, 10)]
    return Method(model, calls, ({0: torch.export.Dim("batch", min=1, max=10)},))


@case
def lstm() -> Method:
    return Method(LastStep(nn.LSTM(5, 8, num_layers=2, batch_first=True)), [(torch.randn(2, 6, 5),)])


@case
def lstm_bidirectional() -> Method:
    return Method(LastStep(nn.LSTM(5, 4, bidirectional=True, batch_first=True)), [(torch.randn(1, 5, 5),)])


@case
def gru() -> Method:
    return Method(LastStep(nn.GRU(5, 8, batch_first=True)), [(torch.randn(2, 6, 5),)])


@case
def statistics() -> Method:
    return Method(Statistics(), [(torch.randn(3, 20),), (torch.randn(3, 20),)])


@case
def gather() -> Method:
    return Method(Gather(), [(torch.tensor([8, 0, 3, 4]), torch.tensor([[0, 4], [1, 1], [2, 0], [3, 2]]))])


@case
def integer_math() -> Method:
    return Method(IntegerMath(), [(torch.tensor([7, -7, 9, -9]), torch.tensor([2, 2, -4, -4]))])


@case
def half_precision() -> Method:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3)).half()
    return Method(model, [(torch.randn(2, 8).half(),)])
