# SPDX-License-Identifier: BSD-3-Clause
"""Prints what lowering for cadence takes, and how many bytes the program plans: with this SDK, or with ExecuTorch in an
environment that has it. From the root:

python kernels/cadence/bench/lowering.py sdk
.cache/oracle/bin/python kernels/cadence/bench/lowering.py executorch
"""

from __future__ import annotations

import importlib
import sys
import time
import typing
from collections.abc import Callable
from typing import Any

import torch
import typing_extensions
from torch import Tensor, nn

_ROUNDS = 3


class Convolutions(nn.Module):
    """Three convolutions with ReLU and max pooling between them."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 16 * 16, 10),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.layers(x)
        return found


class Transformer(nn.Module):
    """Three layers of attention and linear layers."""

    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm": nn.LayerNorm(width),
                    "qkv": nn.Linear(width, 3 * width),
                    "out": nn.Linear(width, width),
                    "up": nn.Linear(width, 2 * width),
                    "down": nn.Linear(2 * width, width),
                }
            )
            for _ in range(3)
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        for layer in self.layers:
            assert isinstance(layer, nn.ModuleDict)
            parts = layer["qkv"](layer["norm"](x)).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            query, key, value = parts.unbind(0)
            scores = torch.softmax(query @ key.transpose(2, 3) * (width // self.heads) ** -0.5, -1)
            x = x + layer["out"]((scores @ value).transpose(1, 2).reshape(batch, length, width))
            x = x + layer["down"](torch.relu(layer["up"](x)))
        return x


def measure(lower: Callable[[], Any]) -> tuple[float, list[int]]:
    """Returns the least CPU time of some calls, and the sizes of the planned memories."""
    best, program = float("inf"), None
    for _ in range(_ROUNDS):
        start = time.process_time()
        program = lower()
        best = min(best, time.process_time() - start)
    assert program is not None
    plan = program.executorch_program.execution_plan[0]
    return best, [size for size in plan.non_const_buffer_sizes if size]


def main(package: str) -> None:
    """Prints a table in Markdown."""
    torch.set_num_threads(1)
    if not hasattr(typing, "override"):  # ExecuTorch's modules import it, which needs Python 3.12
        typing.override = typing_extensions.override  # type: ignore[attr-defined]
    compiler: Any = importlib.import_module(f"{package}.backends.cadence.aot.compiler")
    cases: list[tuple[str, nn.Module, Tensor, bool]] = [
        ("convolutions, floats", Convolutions(), torch.randn(1, 3, 32, 32), False),
        ("transformer, floats", Transformer(), torch.randn(1, 8, 64), False),
        ("transformer, quantised", Transformer(), torch.randn(1, 8, 64), True),
    ]
    print(f"| {package} | CPU s | planned bytes |\n|---|---|---|")
    for name, model, x, is_quantised in cases:
        model.eval()

        def lower(model: nn.Module = model, x: Tensor = x, is_quantised: bool = is_quantised) -> Any:
            if not is_quantised:
                return compiler.export_to_executorch_gen_etrecord(model, (x,))
            return compiler._lower_ep_to_cadence_gen_etrecord(compiler.quantize_pt2(model, (x,)))

        seconds, sizes = measure(lower)
        print(f"| {name} | {seconds:.2f} | {sum(sizes):,} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
