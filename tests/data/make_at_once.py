#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes at_once/: a model with and without XNNPACK whose work several threads share, and eager's results.

tests/backends/test_at_once.py runs it in several Modules at once. The height of its image is dynamic; element i
of an image is that of sample_values() in C++. results.bin has the ten float32 results of each of HEIGHTS.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower

FOLDER = Path(__file__).parent / "at_once"
HEIGHTS = (64, 40, 33, 17)
CHANNELS, WIDTH, CLASSES = 32, 64, 10


class Model(nn.Module):
    """Convolutions, a normalization, attention over rows, pooling and a matrix multiplication."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, CHANNELS, 3, padding=1)
        self.each = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, groups=CHANNELS)
        self.second = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
        self.norm = nn.LayerNorm(WIDTH)
        self.last = nn.Linear(CHANNELS, CLASSES)

    def forward(self, image: Tensor) -> Tensor:
        x = self.first(image).relu()
        x = self.second(nn.functional.gelu(self.each(x)))
        x = self.norm(x)
        scores = torch.softmax(x.flatten(0, 1) @ x.flatten(0, 1).transpose(1, 2) / WIDTH, -1)
        x = (scores @ x.flatten(0, 1)).mean(-1).mean(-1)
        return self.last(x.unsqueeze(0))


def image(height: int) -> Tensor:
    count = 3 * height * WIDTH
    return (((7 * torch.arange(count)) % 13 - 6).float() / 4).reshape(1, 3, height, WIDTH)


def main() -> None:
    torch.manual_seed(0)
    model = Model().eval()
    FOLDER.mkdir(exist_ok=True)
    shapes = {"image": {2: Dim("height", min=2, max=max(HEIGHTS))}}
    program = torch.export.export(model, (image(24),), dynamic_shapes=shapes)
    for name, partitioners in (("portable", []), ("xnnpack", [XnnpackPartitioner()])):
        edge = to_edge_transform_and_lower(program, partitioner=partitioners)
        (FOLDER / f"{name}.pte").write_bytes(edge.to_executorch().buffer)
    with torch.no_grad():
        results = torch.cat([model(image(height)) for height in HEIGHTS])
    (FOLDER / "results.bin").write_bytes(results.numpy().tobytes())


if __name__ == "__main__":
    main()
