# SPDX-License-Identifier: BSD-3-Clause
"""Netron, and Arm's adapter of Model Explorer, open the programs of this SDK, of the corpus and of the benchmarks."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.models import MODELS as BENCHMARKED
from bench.worker import load_model
from interop.originals import ROOT
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower

pytestmark = [pytest.mark.slow, pytest.mark.network]

HERE = ROOT / "tests/interop"
IMAGE, ROWS = (1, 3, 16, 16), (2, 8)


class _Call(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], str, str]] = {
    "linear": (lambda: nn.Linear(8, 4), ROWS, "addmm", "FullyConnected"),
    "linear_relu": (lambda: nn.Sequential(nn.Linear(8, 4), nn.ReLU()), ROWS, "relu", "FullyConnected"),
    "convolution_relu": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), IMAGE, "convolution", "Conv2d"),
    "depthwise_relu6": (
        lambda: nn.Sequential(nn.Conv2d(3, 6, 3, groups=3), nn.ReLU6()),
        IMAGE,
        "hardtanh",
        "DepthwiseConv2d",
    ),
    "pool": (lambda: nn.MaxPool2d(2), IMAGE, "max_pool2d_with_indices", "MaxPooling2d"),
    "sum_and_product": (lambda: _Call(lambda x: (x + 1) * x), ROWS, "mul", "Multiply"),
    "softmax": (lambda: nn.Softmax(-1), ROWS, "_softmax", "Softmax"),
    "concatenation": (lambda: _Call(lambda x: torch.cat([x * 2, x + 1], 1)), ROWS, "cat", "Concatenate2"),
    "sigmoid": (lambda: _Call(torch.sigmoid), ROWS, "sigmoid", "Sigmoid"),
    "pad": (lambda: _Call(lambda x: F.pad(x, (1, 1))), ROWS, "constant_pad_nd", "StaticConstantPad"),
}
"""A model, the shape of its input, and an operator of each program: for kernels, and for XNNPACK."""
UNREADABLE = {"ptd_portable": "Netron does not read constants of other files"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """By model: a program for kernels, and a program for XNNPACK."""
    folder, made = tmp_path_factory.mktemp("programs"), {}
    for name, (make, shape, *_) in MODELS.items():
        program = torch.export.export(make().eval(), (torch.randn(shape),))
        made[name] = [folder / f"{name}_{backend}.pte" for backend in ("portable", "xnnpack")]
        for file, partitioners in zip(made[name], ([], [XnnpackPartitioner()]), strict=True):
            edge = to_edge_transform_and_lower(program, partitioner=partitioners)
            file.write_bytes(edge.to_executorch().buffer)
    return made


@pytest.fixture(scope="module")
def viewers() -> Path:
    """The Python of the environment with the viewers."""
    script = [sys.executable, HERE / "make_oracle.py", "--into", "viewers", HERE / "viewers-requirements.txt"]
    return Path(subprocess.run(script, capture_output=True, text=True, check=True).stdout.strip())


@pytest.fixture(scope="module")
def benchmarked(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The models of docs/benchmarks.md for XNNPACK, in ExecuTorch's format: viewers do not know the nodes of XNS1."""
    folder, made = tmp_path_factory.mktemp("benchmarked"), []
    for label, source in BENCHMARKED.items():
        torch.manual_seed(0)
        model, inputs = load_model(source)
        program = torch.export.export(model.eval(), inputs, strict=False)
        edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner(compat="1.4")])
        made.append(folder / f"{label}.pte")
        made[-1].write_bytes(edge.to_executorch().buffer)
    return made


def _shown(command: list[Any], files: Iterable[Path]) -> dict[Path, list[str]]:
    """The names of the nodes of each program."""
    done = subprocess.run([*command, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return {Path(line["file"]): line["names"] for line in map(json.loads, done.stdout.splitlines())}


def _check(command: list[Any], files: dict[str, list[Path]], benchmarked: list[Path]) -> None:
    """Checks that the viewer shows the operator of each program, and opens each program of the corpus."""
    corpus = [file for file in (ROOT / "tests/data/corpus").glob("*/model.pte") if file.parent.name not in UNREADABLE]
    assert len(corpus) > 50
    shown = _shown(command, [*itertools.chain(*files.values()), *corpus, *benchmarked])
    for file in benchmarked:
        assert any(name.startswith("XNN") for name in shown[file]), file.name
    assert set(shown) >= set(corpus)
    for name, (portable, xnnpack) in files.items():
        assert MODELS[name][2] in [each.removeprefix("aten::") for each in shown[portable]]
        assert f"XNN{MODELS[name][3]}" in shown[xnnpack]


def test_netron_opens_programs(viewers: Path, files: dict[str, list[Path]], benchmarked: list[Path]) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.fail("Netron's modules run in Node.js: install nodejs")
    (netron,) = viewers.parents[1].glob("lib/python*/site-packages/netron")
    _check([node, HERE / "netron.mjs", netron], files, benchmarked)


def test_the_adapter_of_model_explorer_opens_programs(
    viewers: Path, files: dict[str, list[Path]], benchmarked: list[Path]
) -> None:
    _check([viewers, "-W", "ignore", HERE / "show_with_adapter.py"], files, benchmarked)
