# SPDX-License-Identifier: BSD-3-Clause
"""Files for the commands, and a way to call them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from calls import Files, Result

from declared import default
from sdk.__main__ import main
from sdk.devtools import BundledProgram
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "devtools" / "inspector"))


class Net(torch.nn.Module):
    """Operators that the default backend delegates, and one that it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = torch.nn.Conv2d(3, 8, 3), torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x).relu().mean((2, 3))
        return self.head(y).cumsum(1)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """net.pte, net.etrecord, net.bpte with three cases, and net.etdp of five runs."""
    folder = tmp_path_factory.mktemp("files")
    torch.manual_seed(0)
    model = Net().eval()
    inputs = [torch.randn(1, 3, 16, 16) for _ in range(3)]
    lowered = to_edge_transform_and_lower(
        torch.export.export(model, (inputs[0],)), partitioner=[default().make("partitioner")], generate_etrecord=True
    )
    program = lowered.to_executorch()
    program.save(str(folder / "net.pte"))
    program.get_etrecord().save(str(folder / "net.etrecord"))
    with torch.no_grad():
        outputs = [model(x) for x in inputs]
    cases = [MethodTestCase([x], [y]) for x, y in zip(inputs, outputs, strict=True)]
    bundle = BundledProgram(program, [MethodTestSuite("forward", cases)])
    (folder / "net.bpte").write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
    loaded = Runtime.get().load_program(folder / "net.pte", enable_etdump=True)
    for x in (inputs[0],) * 5:
        loaded.load_method("forward").execute([x])
    loaded.write_etdump_result_to_file(str(folder / "net.etdp"))
    return Files(folder, inputs, outputs)


@pytest.fixture
def sdk(capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Calls `sdk ARGUMENTS` in this process."""

    def call(*arguments: Any) -> Result:
        capfd.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as exit:  # argparse
            status = int(exit.code or 0)
        return Result(status, *capfd.readouterr())

    return call
