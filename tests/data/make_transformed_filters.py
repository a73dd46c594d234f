#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes transformed_filters/: convolutions for XNNPACK whose filters an Arm processor keeps transformed, and eager's
result, which backends/xnnpack/runtime/steps/winograd_programs_test.cpp reads.

Element i of the image is (7 * i % 13 - 6) / 4. result.bin has float32.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower

FOLDER = Path(__file__).parent / "transformed_filters"
CHANNELS, HEIGHT, WIDTH = 32, 8, 12


def main() -> None:
    torch.manual_seed(0)
    convolutions = [nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1) for _ in range(2)]
    model = nn.Sequential(convolutions[0], nn.ReLU(), convolutions[1]).eval()
    count = CHANNELS * HEIGHT * WIDTH
    image = (((7 * torch.arange(count)) % 13 - 6).float() / 4).reshape(1, CHANNELS, HEIGHT, WIDTH)
    edge = to_edge_transform_and_lower(torch.export.export(model, (image,)), partitioner=[XnnpackPartitioner()])
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "model.pte").write_bytes(edge.to_executorch().buffer)
    with torch.no_grad():
        (FOLDER / "result.bin").write_bytes(model(image).numpy().tobytes())


if __name__ == "__main__":
    main()
