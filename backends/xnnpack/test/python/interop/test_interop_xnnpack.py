# SPDX-License-Identifier: BSD-3-Clause
"""The original runs our programs for XNNPACK, with the outputs of PyTorch eager."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from both_ways import LOWER, exchange
from torch import nn
from torch.export import export, save

from interop.originals import in_both_releases
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime

pytestmark = [pytest.mark.oracle, pytest.mark.network, in_both_releases]


class InvertedResidual(nn.Module):
    """A block of MobileNetV2, with the network's head."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for convolution in (nn.Conv2d(3, 12, 1), nn.Conv2d(12, 12, 3, padding=1, groups=12), nn.Conv2d(12, 3, 1)):
            layers += [convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU6()]
        self.layers, self.head = nn.Sequential(*layers[:-1]), nn.Linear(3, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head((x + self.layers(x)).mean([2, 3])).softmax(-1)


MODELS: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {
    "mlp": (nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4), nn.Tanh()), (torch.randn(3, 8),)),
    "mobilenet": (InvertedResidual(), (torch.randn(2, 3, 8, 8),)),
    "pools": (
        nn.Sequential(nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1)),
        (torch.randn(1, 3, 16, 16),),
    ),
    "encoder": (
        nn.TransformerEncoderLayer(12, 3, 16, dropout=0.0, activation="gelu", batch_first=True),
        (torch.randn(1, 5, 12),),
    ),
    "bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), (torch.randn(1, 3, 5, 6),)),
}


def test_the_original_runs_them(oracle, tmp_path: Path) -> None:
    """XNN-12: our payloads are in its format."""
    torch.manual_seed(0)
    for name, (model, inputs) in MODELS.items():
        program = export(model.eval(), inputs)
        lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner(compat="1.4")])
        (tmp_path / f"{name}.pte").write_bytes(lowered.to_executorch().buffer)
        torch.save([("forward", inputs)], tmp_path / f"{name}.calls.pt")
    oracle("run", tmp_path, *MODELS)
    for name, (model, inputs) in MODELS.items():
        error = tmp_path / f"{name}.error.txt"
        assert not error.exists(), f"{name}: {error.read_text()}"
        ((found,),) = torch.load(tmp_path / f"{name}.outputs.pt")
        # Its version of XNNPACK has other approximations of gelu and tanh.
        torch.testing.assert_close(found, model(*inputs), rtol=1e-4, atol=1e-4)


def test_half_precision_both_ways(oracle, tmp_path: Path) -> None:
    """XNN-05. In both runtimes and in eager, each operator rounds its result to half precision, by at most 2^-11 of
    it."""
    torch.manual_seed(0)
    models = {}
    for name in ("mlp", "mobilenet", "pools", "bilinear"):
        model, inputs = copy.deepcopy(MODELS[name])
        models[name] = model.eval().half(), tuple(x.half() for x in inputs)
    for _, found, wanted in exchange(oracle, tmp_path, models):
        torch.testing.assert_close(found, wanted, rtol=2**-9, atol=2**-9 * float(wanted.abs().max()))


class ClampedConvolution(nn.Module):
    def __init__(self, least: float, most: float) -> None:
        super().__init__()
        self.convolution, self.least, self.most = nn.Conv2d(3, 4, 3, padding=1), least, most

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.convolution(x).clamp(self.least, self.most)


@pytest.mark.parametrize(("least", "most"), [(0.5, 3.0), (-3.0, -0.5), (-1.0, 0.0)])
def test_clamps_behind_convolutions(oracle, tmp_path: Path, least: float, most: float) -> None:
    """The original keeps such a clamp as a separate node. Its runtime cannot execute the program: XNNPACK makes
    one node of the two, and writes limits that do not hold 0 over the paddings."""
    torch.manual_seed(0)
    model, x = ClampedConvolution(least, most).eval(), torch.randn(1, 3, 8, 8)
    save(export(model, (x,)), tmp_path / "clamped.pt2")
    torch.save([("forward", (x,))], tmp_path / "clamped.calls.pt")
    oracle(LOWER, tmp_path, "clamped")
    program = Runtime.get().load_program((tmp_path / "clamped.pte").read_bytes())
    (found,) = program.load_method("forward").execute((x,))
    torch.testing.assert_close(torch.as_tensor(found), model(x), rtol=1e-5, atol=1e-5)
