# SPDX-License-Identifier: BSD-3-Clause
"""Counts this SDK and its peers on the emulated processors: `scripts/bench --arm`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.arm.counting import PLACE, Command, count
from bench.arm.cycles import cycles
from bench.arm.hottest import hottest
from bench.arm.processors import Processor
from bench.arm.results import Figure, Results
from bench.arm.system import PYTHON, requirements, system_of, wheels_of
from bench.comparison import LEAST_DECIBELS, decibels_of
from bench.engines import ImpossibleError
from bench.peer_table import ENDINGS, OURS, PeerTable
from bench.worker import ROOT, load_model

RUNNER = Path(
    os.environ.get("SDK_ARM_RUNNER") or ROOT / "build/linux-aarch64/examples/portable/executor_runner/executor_runner"
)
"""executor_runner for arm64; the variable names one that was built elsewhere."""
BUILD = (
    "cmake --preset linux-aarch64 -DEXECUTORCH_BUILD_KERNELS_LLM=ON && "
    "cmake --build build/linux-aarch64 --target executor_runner"
)
MODELS = {
    "MobileNetV2": "examples/mobilenet_v2/model.py:mobilenet_v2",
    "MobileNetV3-small": "library:mobilenet_v3_small",
    "ResNet18": "bench:resnet18",
    "ResNet50": "bench:resnet50",
    "ViT-tiny": "bench:vit_tiny",
    "MiniLM, 128 tokens": "bench:minilm_128",
    "decoder, one token": "bench:decoder",
    "LSTM 2x50": "bench:lstm",
}
"""For each label, the argument of `load_model`."""
EXPECTED = "expected.npy"
COLUMNS = ("sdk", "ncnn", "MNN", "LiteRT", "onnxruntime")


@dataclass
class Row:
    """A model in one precision on one processor.

    Attributes:
        figures: The figure of each column.
        reasons: Why a column has none.
    """

    model: str
    precision: str
    processor: Processor
    figures: dict[str, Figure] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def name(self, column: str) -> str:
        """The key of a cell in the results."""
        return Results.name(self.model, self.precision, self.processor.name, column)

    def best_peer(self, what: str) -> str | None:
        """The column with the fewest `instructions` or `cycles` besides this SDK's."""
        peers = [column for column in self.figures if column != OURS]
        return min(peers, key=lambda column: getattr(self.figures[column], what), default=None)

    def ratio(self, what: str) -> float | None:
        """This SDK's `instructions` or `cycles` over the best peer's."""
        best = self.best_peer(what)
        if best is None or OURS not in self.figures:
            return None
        return float(getattr(self.figures[OURS], what) / getattr(self.figures[best], what))


@dataclass
class Figures:
    """Counts commands, prints progress, and keeps the figures in rows and in the results.

    Attributes:
        blocks: How many of each program's hottest blocks are printed.
        kept_only: Uses the results of earlier runs, and emulates nothing.
        missing_only: Counts only what is not among the results, even if it has changed since.
    """

    blocks: int = 0
    kept_only: bool = False
    missing_only: bool = False
    results: Results = field(default_factory=Results)

    def wants(self, row: Row, column: str) -> bool:
        """Whether a cell may have to be counted. Otherwise the row gets what an earlier run has found."""
        if self.kept_only or (self.missing_only and self.results.has(row.name(column), None)):
            self.fill(row, column)
            return False
        return True

    def fill(self, row: Row, column: str) -> None:
        """Puts a figure or the reason for its absence from the results into a row."""
        try:
            row.figures[column] = self.results.figure(row.name(column))
        except ImpossibleError as error:
            row.reasons[column] = str(error)

    def refuse(self, row: Row, column: str, reason: str) -> None:
        """Records the reason why a cell cannot be counted."""
        self.results.put(row.name(column), "", ImpossibleError(reason))
        self.fill(row, column)

    def add(self, row: Row, column: str, command: Command, check: Callable[[], float]) -> None:
        """Counts a command. `check` means the same as in `count`."""
        name, key = row.name(column), command.key(row.processor)
        if not self.blocks and self.results.has(name, key):
            self.fill(row, column)
            return
        try:
            counts = count(command, row.processor, system_of(row.processor), check)
        except ImpossibleError as error:
            self.results.put(name, key, error)
            say(f"{name}: {error}")
        else:
            made = Figure(counts.instructions, cycles(counts, row.processor.model), counts.decibels)
            self.results.put(name, key, made)
            say(f"{name}: {made.instructions / 1e6:.1f} M instructions, {made.cycles / 1e6:.1f} M cycles")
            for line in hottest(counts, row.processor, self.blocks) if self.blocks else ():
                say(line)
        self.fill(row, column)


def until_stopped(figures: Figures, measure: Callable[[], None]) -> None:
    """Measures. After an interruption, fills the table with the results until then."""
    try:
        measure()
    except KeyboardInterrupt:
        say("interrupted: the table has the results until now; another run continues")
        figures.kept_only = True
        measure()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def require_runner() -> None:
    """Raises ValueError if executor_runner was not built for arm64."""
    if not RUNNER.exists():
        raise ValueError(f"{RUNNER} is missing; build it: {BUILD}")


class ArmTable:
    """Counts the programs that a table of peers has written."""

    def __init__(self, table: PeerTable, processors: list[Processor], figures: Figures) -> None:
        self.table, self.processors, self.figures = table, processors, figures
        self.rows: list[Row] = []

    def measure(self, precisions: list[str]) -> None:
        self.rows.clear()
        for precision in precisions:
            for model in self.table.models:
                wanted = []
                for processor in self.processors:
                    row = Row(model, precision, processor)
                    self.rows.append(row)
                    wanted += [(row, column) for column in self.table.columns if self.figures.wants(row, column)]
                if wanted:
                    self._measure(model, precision, wanted)

    def _measure(self, model: str, precision: str, wanted: list[tuple[Row, str]]) -> None:
        """Counts the cells of a model in a precision."""
        require_runner()
        spec = self.table.models[model]
        columns = list(dict.fromkeys(column for _, column in wanted))
        PeerTable({model: spec}, self.table.directory, self.table.backend, columns).write_programs([precision])
        example = Example(self.table.directory / "arm" / model.replace(" ", "_").replace(",", ""), spec)
        for row, column in wanted:
            engine = self.table.columns[column] + ENDINGS[precision]
            path = self.table.program(engine, model)
            if not path.exists():
                self.figures.refuse(row, column, path.with_name(path.name + ".reason").read_text())
                continue
            system = system_of(row.processor)
            command = own_command(path, example) if column == OURS else peer_command(engine, path, example, system)
            self.figures.add(row, column, command, lambda c=column: example.check(c, precision))


class Example:
    """A model's inputs and its result in eager PyTorch, in files that stay beside the programs.

    Attributes:
        inputs: The file that the engines of bench.engines read.
        raw: The files that executor_runner reads.
        result: The file of the first result of the last call that was made.
        expected: The result in eager PyTorch.
    """

    def __init__(self, folder: Path, spec: str) -> None:
        self.inputs, self.result = folder / "inputs.npz", folder / "result"
        if not self.is_written(folder):
            _write_example(folder, spec)
        self.expected = np.load(folder / EXPECTED)
        self.raw = []
        for index, array in enumerate(np.load(self.inputs).values()):
            self.raw.append(folder / f"input-{index}.bin")
            self.raw[-1].write_bytes(np.ascontiguousarray(array).tobytes())

    @staticmethod
    def is_written(folder: Path) -> bool:
        return (folder / EXPECTED).exists()

    def depends(self) -> list[bytes]:
        return [path.read_bytes() for path in self.raw]

    def found(self, column: str) -> np.ndarray[Any, Any]:
        if column != OURS:
            return np.asarray(np.load(f"{self.result}.npy"))
        return np.fromfile(f"{self.result}-0.bin", dtype=self.expected.dtype)

    def check(self, column: str, precision: str) -> float:
        """The decibels of the result over its difference from eager's; raises ImpossibleError for a wrong result."""
        decibels = decibels_of(self.expected, self.found(column), precision)
        if not decibels > LEAST_DECIBELS:
            raise ImpossibleError(f"its result is {decibels:.0f} dB over the noise")
        return decibels


def _write_example(folder: Path, spec: str) -> None:
    """Writes the file `inputs.npz` and then EXPECTED."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    module, tensors = load_model(spec)
    with torch.no_grad():
        result = module(*tensors)
    np.savez(folder / "inputs.npz", *[tensor.numpy() for tensor in tensors])
    np.save(folder / EXPECTED, (result[0] if isinstance(result, tuple) else result).numpy())


def own_command(program: Path, example: Example) -> Command:
    """executor_runner on a program of this SDK."""
    raw = ",".join(map(str, example.raw))
    files = [f"--model_path={program}", f"--inputs={raw}", f"--output_file={example.result}"]
    arguments = [str(RUNNER), *files, f"--num_executions={PLACE}", "--noprint_output"]
    return Command(arguments, [RUNNER.read_bytes(), program.read_bytes(), *example.depends()])


def peer_command(engine: str, program: Path, example: Example, system: Path) -> Command:
    """A peer's program in the Python of the emulated system."""
    module = engine.partition("-")[0]
    script = Path(__file__).with_name("calls.py")
    source = ROOT / "tests/bench/engines" / f"{module}.py"
    read = [script, source, *(path for path in _files(program) if path.is_file())]
    depends = [engine.encode(), *map(str.encode, requirements(module)), *(path.read_bytes() for path in read)]
    files = [str(program), str(example.inputs), str(example.result)]
    arguments = [str(system / PYTHON), str(script), engine, *files, PLACE]
    return Command(arguments, [*depends, *example.depends()], wheels_of(module), marks=True)


def _files(program: Path) -> list[Path]:
    """The program's files: the file itself or the content of its folder, and the files beside it."""
    beside = sorted(program.parent.glob(f"{program.name}.*"))
    inside = sorted(program.iterdir()) if program.is_dir() else [program]
    return [*inside, *beside]
