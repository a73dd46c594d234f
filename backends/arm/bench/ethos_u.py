# SPDX-License-Identifier: BSD-3-Clause
"""Vela's results for this SDK's TOSA files and the original's, for the same models: cycles, SRAM and commands of an
Ethos-U55-128, and the CPU time of the two lowerings.

PYTHONPATH=.cache/arm-packages python backends/arm/bench/ethos_u.py [MODEL ...]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.export import export, save

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from ethos_u_model import quantized
from examples.mobilenet_v2.model import mobilenet_v2

from microcontroller_models import KeywordSpotter
from person_detection import SHAPE, PersonDetection
from sdk.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from sdk.backends.arm.ethosu.command_stream import COMPUTES, DMA, words_of
from sdk.backends.arm.ethosu.vela import compile_graph
from sdk.exir import to_edge_transform_and_lower

ROOT = Path(__file__).resolve().parents[3]
SPEC = EthosUCompileSpec("ethos-u55-128")
_POOL = 0x005
Model = tuple[nn.Module, tuple[torch.Tensor, ...]]


def _transformer() -> Model:
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, activation="relu", batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (torch.randn(1, 32, 64),)


MODELS = {
    "MobileNetV2": lambda: (mobilenet_v2(), (torch.randn(1, 3, 224, 224),)),
    "keyword spotting": lambda: (KeywordSpotter(64, 4), (torch.randn(1, 1, 49, 10),)),
    "person detection": lambda: (PersonDetection(), (torch.randn(SHAPE),)),
    "transformer": _transformer,
}
"""MobileNetV2 of the full size, DS-CNN, MobileNetV1 of a quarter of the width, and two layers of an encoder."""


@dataclass(frozen=True)
class Figures:
    """Vela's figures for the delegates of a program.

    Attributes:
        delegates: The number of delegates.
        cycles: The cycles of all delegates together.
        sram: The KiB that the delegate with the largest need uses.
        pools, commands: The numbers of pools, and of commands of all kinds.
        seconds: The CPU time of the lowering, with Vela.
    """

    delegates: int
    cycles: int
    sram: float
    pools: int
    commands: int
    seconds: float


def figures_of(graphs: Iterable[bytes], seconds: float, spec: EthosUCompileSpec = SPEC) -> Figures:
    """The figures of TOSA files."""
    made = [compile_graph(graph, spec.compiler_flags) for graph in graphs]
    kinds = Counter(code for each in made for _, code, _, _ in words_of(each.stream.commands))
    sizes = (re.search(r"SRAM used ([\d.]+) KiB", each.memory) for each in made)
    return Figures(
        delegates=len(made),
        cycles=sum(each.timing.cycles for each in made),
        sram=max((float(size[1]) for size in sizes if size), default=0.0),
        pools=kinds[_POOL],
        commands=sum(kinds[code] for code in (DMA, *COMPUTES)),
        seconds=seconds,
    )


def ours(models: dict[str, Model], spec: EthosUCompileSpec = SPEC) -> dict[str, Figures]:
    """Lowers models with this SDK."""
    found = {}
    for name, (model, inputs) in models.items():
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            program = export(quantized(model, inputs, spec), inputs)
            keeping = EthosUCompileSpec(spec.target).dump_intermediate_artifacts_to(folder)
            before = sum(os.times()[:4])
            to_edge_transform_and_lower(program, partitioner=[EthosUPartitioner(keeping)]).to_executorch()
            seconds = sum(os.times()[:4]) - before
            graphs = [path.read_bytes() for path in sorted(Path(folder).glob("*.tosa"))]
        found[name] = figures_of(graphs, seconds, spec)
    return found


def originals(python: str, models: dict[str, Model], spec: EthosUCompileSpec = SPEC) -> dict[str, Figures]:
    """Lowers models with the original, in its environment."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name, (model, inputs) in models.items():
            save(export(model.eval(), inputs), folder / f"{name}.pt2")
            torch.save(inputs, folder / f"{name}.inputs.pt")
        script = ROOT / "backends/arm/test/original_ethos_u.py"
        subprocess.run([python, "-W", "ignore", script, spec.target, folder, *models], check=True)
        return {
            name: figures_of(
                [path.read_bytes() for path in sorted((folder / name).iterdir())],
                float((folder / f"{name}.seconds").read_text()),
                spec,
            )
            for name in models
        }


def _in_layout(model: Model, layout: torch.memory_format) -> Model:
    module, inputs = model
    return module.to(memory_format=layout), tuple(value.to(memory_format=layout) for value in inputs)


def chosen(names: Iterable[str]) -> dict[str, Model]:
    """The models, image models in both memory formats. The first one makes each compiler import its modules."""
    models: dict[str, Model] = {"first": (nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()), (torch.randn(1, 3, 8, 8),))}
    for name in names:
        torch.manual_seed(0)
        model = MODELS[name]()
        models[name] = model
        if model[1][0].dim() == 4:
            models[f"{name}, channels last"] = _in_layout(MODELS[name](), torch.channels_last)
    return models


def main() -> None:
    torch.set_num_threads(1)
    command = [sys.executable, ROOT / "tests/interop/make_oracle.py"]
    python = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    models = chosen(sys.argv[1:] or MODELS)
    mine, theirs = ours(models), originals(python, models)
    print("| model | | sdk | original | sdk / original |\n|---|---|---|---|---|")
    for name in list(models)[1:]:
        for label, value in vars(mine[name]).items():
            other = getattr(theirs[name], label)
            ratio = f"{value / other:.3f}" if other else "-"
            print(f"| {name} | {label} | {value:,} | {other:,} | {ratio} |")


if __name__ == "__main__":
    main()
