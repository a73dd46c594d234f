# SPDX-License-Identifier: BSD-3-Clause
"""A recorded program, pages of it, and a browser to look at them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from declared import default

sys.path.insert(0, str(Path(__file__).resolve().parent))

from browser import EXECUTABLE, Browser, browser

from sdk.devtools.page import write_page


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.act = torch.nn.Conv2d(8, 8, 3, padding=1), torch.nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.act(self.conv(x))


class Net(torch.nn.Module):
    """Two delegate calls with an operator between them that the default backend does not take."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 8, 3)
        self.blocks = torch.nn.Sequential(Block(), Block())
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)).cumsum(1))


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with net.pte, net.etrecord, net.etdp and net.buffer of one run."""
    from sdk.exir import to_edge_transform_and_lower
    from sdk.runtime import Runtime

    folder = tmp_path_factory.mktemp("recorded")
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 16, 16),)
    lowered = to_edge_transform_and_lower(
        torch.export.export(Net().eval(), inputs), partitioner=[default().make("partitioner")], generate_etrecord=True
    )
    program = lowered.to_executorch()
    program.save(str(folder / "net.pte"))
    program.get_etrecord().save(str(folder / "net.etrecord"))
    loaded = Runtime.get().load_program(folder / "net.pte", enable_etdump=True, debug_buffer_size=1 << 20)
    loaded.load_method("forward").execute(inputs)
    loaded.write_etdump_result_to_file(str(folder / "net.etdp"), str(folder / "net.buffer"))
    return folder


@pytest.fixture(scope="session")
def page(recorded: Path) -> Path:
    """The page of the program with its ETRecord, ETDump and debug buffer."""
    out = recorded / "net.html"
    write_page(
        recorded / "net.pte",
        out,
        etdump=recorded / "net.etdp",
        etrecord=recorded / "net.etrecord",
        debug_buffer=recorded / "net.buffer",
    )
    return out


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if EXECUTABLE is None:
        pytest.skip("there is no Chromium on this machine")
    with browser() as found:
        yield found
