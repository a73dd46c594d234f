# SPDX-License-Identifier: BSD-3-Clause
"""The counts in the summary of a receipt, compared with the instructions of the program."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from test_receipt import Net, Takes, X
from torch import nn

from sdk.devtools.report import LossKind
from sdk.devtools.report._rows import is_runtime_operator
from sdk.devtools.report.facts import program_facts
from sdk.devtools.report.summary import left_behind
from sdk.exir import ExecutorchBackendConfig, to_edge_transform_and_lower


class Parts(nn.Module):
    """Most of these views share memory, so that they need no instruction; others of the same operators are copied."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.sin()
        first, second = y.unsqueeze(1).cos().split(1, 0)
        chosen = torch.cat([first.squeeze(1), y[1:], y.select(0, 0).unsqueeze(0)])
        return chosen.unsqueeze(2).exp(), second.permute(1, 0, 2).tan(), x.unsqueeze(0), y.t().unsqueeze(0)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.unsqueeze(0)
        return self.inner(y, y, y, need_weights=False)[0].squeeze(0)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.LSTM(4, 8, num_layers=2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x.unsqueeze(0))[0].sum(1)


class Added(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state: torch.Tensor
        self.register_buffer("state", torch.zeros(2, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.add_(x.unsqueeze(0).squeeze(0))
        return self.state.unsqueeze(1).sin()


@pytest.mark.sampled
@pytest.mark.parametrize("model", [Net, Parts, Attention, Recurrent, Added])
@pytest.mark.parametrize("inplace", [False, True])
def test_the_summary_counts_what_the_program_calls(model: type[nn.Module], inplace: bool) -> None:
    """The line of operators and the line of operators left to kernels have the program's numbers."""
    lowered = to_edge_transform_and_lower(torch.export.export(model().eval(), (X,)), partitioner=[Takes()])
    manager = lowered.to_executorch(ExecutorchBackendConfig(run_reinplace_pass=inplace))
    (method,) = program_facts(manager.executorch_program).methods
    receipt = manager.get_receipt()
    kernels = Counter(row.operator for row in receipt.rows if row.where == "portable")
    assert kernels == Counter({n: calls for n, calls in method.operators.items() if not is_runtime_operator(n)})
    said = Counter[str]()
    for line in left_behind(receipt.of("forward")):
        name, calls = line.split(": ")[0].split("\u00a0×")
        said[name] += int(calls)
    writes = Counter({"aten::copy_": kernels["aten::copy_"]})  # the write-backs are not offered to a partitioner
    assert said == kernels - writes
    assert len([loss for loss in receipt.losses if loss.kind is LossKind.FALLBACK]) == said.total()
