# SPDX-License-Identifier: BSD-3-Clause
"""Our programs with weights in a separate file, on the original's runtime."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from interop.originals import in_both_releases
from sdk.exir import ExecutorchBackendConfig, to_edge
from sdk.runtime import Runtime

pytestmark = [pytest.mark.oracle, pytest.mark.network, in_both_releases]


class Scaled(nn.Module):
    """The second of two models that share a layer."""

    def __init__(self, net: nn.Sequential) -> None:
        super().__init__()
        self.first = net.first

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.first(x) * 0.5


def test_one_file_for_two_programs(oracle, tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = nn.Sequential()
    net.add_module("first", nn.Conv2d(3, 4, 3))
    net.add_module("second", nn.BatchNorm2d(4))
    x = torch.randn(1, 3, 8, 8)
    models = {"net": net.eval(), "scaled": Scaled(net).eval()}
    for name, model in models.items():
        config = ExecutorchBackendConfig(external_constants=lambda _, name=name: name)
        to_edge(torch.export.export(model, (x,))).to_executorch(config).save(tmp_path / f"{name}.pte")
        torch.save([("forward", [x])], tmp_path / f"{name}.calls.pt")
    (tmp_path / "scaled.ptd").unlink()
    (tmp_path / "scaled.ptd").symlink_to(tmp_path / "net.ptd")
    oracle("run", tmp_path)
    for name, model in models.items():
        assert not (tmp_path / f"{name}.error.txt").exists(), (tmp_path / f"{name}.error.txt").read_text()
        theirs = torch.load(tmp_path / f"{name}.outputs.pt")[0][0]
        program = Runtime.get().load_program(tmp_path / f"{name}.pte", data_map=tmp_path / "net.ptd")
        ours = program.load_method("forward").execute([x])[0]
        with torch.no_grad():
            expected = model(x)
        torch.testing.assert_close(theirs, expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)
