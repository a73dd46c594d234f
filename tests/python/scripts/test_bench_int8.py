# SPDX-License-Identifier: BSD-3-Clause
"""scripts/bench --zoo --int8: its table, from two programs of a small model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import int8
from bench.engines import declaration
from bench.harness import accepted
from bench.models import PEER_MODELS
from bench.peer_table import PeerTable
from bench.worker import Worker
from sdk.extension.pybindings import portable_lib

MODEL = """
import torch

def small():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 10))

def example_inputs():
    return (torch.rand(1, 3, 8, 8),)
"""


class Here:
    """Runs an engine in this process, so that PyTorch is not imported in five processes. test_bench_peers.py tests an
    engine in a separate process."""

    def __init__(self, name: str, threads: int) -> None:
        self.name, self.worker = name, Worker(declaration(name).make(name, threads))

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        return accepted(self.name, do, self.worker.answer(do, **request))

    def close(self) -> None:
        pass


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PeerTable]:
    source = tmp_path / "small_models.py"
    source.write_text(MODEL)
    table = PeerTable({"small": f"{source}:small"}, tmp_path, "xnnpack", ["sdk"])
    monkeypatch.setattr(table, "start", lambda engine, threads, writes: Here(engine, threads))
    threads = portable_lib._threadpool_get_thread_count()
    yield table
    portable_lib._unsafe_reset_threadpool(threads)


def test_both_programs_run_and_int8_is_as_accurate_as_in_eager(table: PeerTable) -> None:
    rows = list(int8.measure(table, threads=1, rounds=1, seconds=0.01))
    cells = rows[1].strip("| ").split(" | ")
    assert cells[0] == "small"
    eager, ours = float(cells[4]), float(cells[5])
    assert eager > 20 and ours >= eager - int8.MOST_LOSS
    assert re.search(r"Noisier than eager: none\.", rows[-1])
    # The programs stay; the second run only measures.
    assert (table.directory / "small.sdk-xnnpack-int8.eager.npy").exists()


def test_models_without_convolutions_are_left_out(table: PeerTable) -> None:
    table.models = {"MLP": PEER_MODELS["MLP, batch of 32"]}
    rows = list(int8.measure(table, threads=1, rounds=1, seconds=0.01))
    assert rows[0] == int8.HEAD and not any(row.startswith("| MLP") for row in rows)


def test_a_model_that_cannot_be_written_is_named_with_its_reason(table: PeerTable) -> None:
    table.ours = "sdk-no_such_backend"
    rows = list(int8.measure(table, threads=1, rounds=1, seconds=0.01))
    assert rows[-1].startswith("- small: ") and "no_such_backend" in rows[-1]
