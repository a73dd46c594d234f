#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/data/training with the original's exporter: run it in an environment that has it.

xor.pte: loss and prediction of a small net, with gradients; xor_external.pte and xor_external.ptd: the same, its
parameters in a separate file. expected.json: what PyTorch eager gives with torch.optim.SGD on the same sequence of
inputs, for each set of options.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from torch import nn
from torch.export import export
from torch.export.experimental import _export_forward_backward

FOLDER = Path(__file__).parent / "training"
POINTS = [([0.0, 0.0], 0), ([0.0, 1.0], 1), ([1.0, 0.0], 1), ([1.0, 1.0], 0)]
STEPS = 40
OPTIONS = [
    {"lr": 0.1},
    {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.01},
    {"lr": 0.05, "momentum": 0.8, "weight_decay": 0.001, "nesterov": True},
]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 10)
        self.second = nn.Linear(10, 2)

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = self.second(torch.sigmoid(self.first(x)))
        return nn.functional.cross_entropy(scores, target), scores.detach().argmax(dim=1)


def net() -> Net:
    torch.manual_seed(1)
    return Net()


def train(**options: float) -> dict[str, object]:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), **options)
    losses = []
    for step in range(STEPS):
        x, target = POINTS[step % len(POINTS)]
        loss, _ = model(torch.tensor([x]), torch.tensor([target]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    parameters = {name: value.detach().flatten().tolist() for name, value in model.named_parameters()}
    return {"options": options, "losses": losses, "parameters": parameters}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    inputs = (torch.randn(1, 2), torch.ones(1, dtype=torch.int64))
    for name, external in (("xor", False), ("xor_external", True)):
        program = _export_forward_backward(export(net(), inputs, strict=True))
        edge = to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))
        made = edge.to_executorch(ExecutorchBackendConfig(external_mutable_weights=external))
        (FOLDER / f"{name}.pte").write_bytes(made.buffer)
        for data in made._tensor_data.values():
            (FOLDER / f"{name}.ptd").write_bytes(bytes(data))
    runs = [train(**options) for options in OPTIONS]
    points = [{"x": x, "target": target} for x, target in POINTS]
    (FOLDER / "expected.json").write_text(json.dumps({"points": points, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
