# SPDX-License-Identifier: BSD-3-Clause
"""Counts language models of GGUF files on the emulated processors, beside llama.cpp: `scripts/bench --arm --llm`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.arm.counting import CACHE, PLACE, Command
from bench.arm.measure import RUNNER, Figures, Row, require_runner
from bench.arm.processors import Processor
from bench.comparison import LEAST_DECIBELS, signal_to_noise
from bench.engines import ImpossibleError
from bench.llm_files import gguf_of
from bench.llm_worker import prompt_of
from bench.peer_table import OURS

PEER = "llama.cpp"
COLUMNS = {OURS: "sdk", PEER: PEER}
PACKAGE = "@node-llama-cpp/linux-arm64@3.22.1"
SOURCE = Path(__file__).with_name("llama_calls.c")
CONTEXT = 512
FILES = {
    "SmolLM2 Q4_1": "smollm2-135m",
    "SmolLM2 Q4_0": "smollm2-135m-q4_0",
    "SmolLM2 Q8_0": "smollm2-135m-q8_0",
    "Llama shape Q4_K": "q4_k-shape",
}
"""Label to a model of bench.llm_files."""


@dataclass(frozen=True)
class Call:
    """The number of tokens of one call, with an empty cache."""

    title: str
    tokens: int


CALLS = (Call("one token", 1), Call("prompt of 128", 128))


class ArmLanguageModels:
    """Measures the models; `folder` keeps what is made for them."""

    def __init__(self, folder: Path, models: list[str] | None, processors: list[Processor], figures: Figures) -> None:
        if unknown := [name for name in models or () if name not in FILES]:
            raise ValueError(f"there is no model {unknown[0]!r}; expected some of {', '.join(FILES)}")
        self.folder, self.processors, self.figures = folder, processors, figures
        self.models = models or list(FILES)
        self.rows: list[Row] = []

    def measure(self) -> None:
        self.rows.clear()
        for call in CALLS:
            for model in self.models:
                rows = [Row(f"{model}, {call.title}", "weights of few bits", each) for each in self.processors]
                self.rows += rows
                wanted = [(row, column) for row in rows for column in (PEER, OURS) if self.figures.wants(row, column)]
                if not wanted:
                    continue
                require_runner()
                gguf = gguf_of(FILES[model], self.folder)
                inputs = Inputs(self.folder, call, self._program(gguf))
                if not inputs.logits.exists():  # this SDK's results are compared with its results
                    wanted = [(rows[0], PEER), *(each for each in wanted if each != (rows[0], PEER))]
                for row, column in wanted:
                    command = inputs.peer_command(gguf) if column == PEER else inputs.own_command()
                    self.figures.add(row, column, command, inputs.check_of(column))

    def _program(self, gguf: Path) -> Path:
        path = gguf.with_suffix(".pte")
        if not path.is_file():
            sizes = [f"--context={CONTEXT}", f"--chunk={max(call.tokens for call in CALLS)}"]
            subprocess.run([sys.executable, "-m", "sdk", "llm", "export", gguf, "-o", path, *sizes], check=True)
        return path


class Inputs:
    """The tokens of a call in files, for both engines."""

    def __init__(self, folder: Path, call: Call, program: Path) -> None:
        self.program, self.tokens = program, np.array(prompt_of(call.tokens, 0))
        self.result = folder / f"{program.stem}-{call.tokens}"
        self.logits = self.result.with_suffix(".llama")
        self.files = {"peer": folder / f"tokens-{call.tokens}.int32", "own": folder / f"tokens-{call.tokens}.int64"}
        self.files["peer"].write_bytes(self.tokens.astype(np.int32).tobytes())
        self.files["own"].write_bytes(self.tokens.astype(np.int64).tobytes())
        self.position = folder / "position.int64"
        self.position.write_bytes(np.zeros(1, dtype=np.int64).tobytes())

    def own_command(self) -> Command:
        inputs = f"{self.files['own']}:1x{self.tokens.size},{self.position}"
        files = [f"--model_path={self.program}", f"--inputs={inputs}", f"--output_file={self.result}"]
        arguments = [str(RUNNER), *files, f"--num_executions={PLACE}", "--noprint_output"]
        return Command(arguments, [RUNNER.read_bytes(), self.program.read_bytes(), self.tokens.tobytes()])

    def peer_command(self, gguf: Path) -> Command:
        libraries, program = llama_cpp()
        files = [str(libraries), str(gguf), str(self.files["peer"]), str(self.logits)]
        depends = [program.read_bytes(), PACKAGE.encode(), gguf.read_bytes(), self.tokens.tobytes()]
        return Command([str(program), *files, PLACE], depends, libraries=libraries, marks=True)

    def check_of(self, column: str) -> Callable[[], float]:
        """Compares this SDK's logits of the last token with those of llama.cpp, which runs first."""

        def check() -> float:
            if column == PEER:
                return float("inf")
            if not self.logits.exists():
                raise ImpossibleError(f"there is no result of {PEER} to compare it with")
            expected = np.fromfile(self.logits, dtype=np.float32)
            found = np.fromfile(f"{self.result}-0.bin", dtype=np.float32)
            if found.size != expected.size:
                raise ImpossibleError(f"its result has {found.size} elements, llama.cpp's {expected.size}")
            decibels = signal_to_noise(expected, found)
            if not decibels > LEAST_DECIBELS:
                raise ImpossibleError(f"its result is {decibels:.0f} dB over the difference from llama.cpp's")
            return decibels

        return check


def llama_cpp() -> tuple[Path, Path]:
    """The folder of llama.cpp's libraries for arm64, and the program that calls them."""
    folder = CACHE / "llama.cpp"
    libraries = folder / "package/bins/linux-arm64"
    if not libraries.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "pack", "--ignore-scripts", "--silent", PACKAGE], cwd=folder, check=True, text=True)
        (archive,) = folder.glob("*.tgz")
        subprocess.run(["tar", "-xzf", str(archive), "-C", str(folder)], check=True)
    program = folder / "llama_calls"
    if not program.exists() or program.stat().st_mtime < SOURCE.stat().st_mtime:
        linked = [f"-l:{path.name}" for path in sorted(libraries.glob("lib*.so")) if ".v" in path.name]
        options = ["-O2", f"-L{libraries}", *linked, "-Wl,--allow-shlib-undefined"]
        subprocess.run(["aarch64-linux-gnu-gcc", "-o", str(program), str(SOURCE), *options], check=True)
    return libraries, program
