# SPDX-License-Identifier: BSD-3-Clause
"""Compares language models of GGUF files with llama.cpp and OpenVINO GenAI.

Each engine gets the same file, one process for each model and number of threads; they take turns. The tokens of a
prompt are new in each round, because an engine may reuse a prompt that it has seen.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from bench.environments import own_python
from bench.harness import EngineError, Results, Series, Worker
from bench.llm_files import MODELS, gguf_of
from bench.report import cell, readable
from bench.worker import ROOT

HERE = ROOT / "tests/bench"
COLUMNS = ("sdk", "llama.cpp", "OpenVINO")
NODE_PACKAGES = ("node-llama-cpp@3.22.1", "@node-llama-cpp/linux-x64@3.22.1")
PROMPT, ANSWER, CONTEXT = 512, 64, 1024
"""Tokens of a prompt, tokens that are generated after it, positions of the cache."""
DECODE = f"decoding, tokens/s, {ANSWER} tokens after {PROMPT}"
PREFILL = f"prompt of {PROMPT}, tokens/s"
START = "start to first token, s"
MEMORY = "peak memory bytes"
BYTES = "file bytes"


def llama_cpp_worker(folder: Path, threads: int) -> Worker:
    """A process with llama.cpp, which is installed below `folder` if it is not there."""
    folder = (folder / "node").resolve()
    folder.mkdir(exist_ok=True)
    if not (folder / "node_modules" / "node-llama-cpp").is_dir():
        subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", *NODE_PACKAGES], cwd=folder, check=True)
    shutil.copy(HERE / "llm_llama_cpp.mjs", folder)
    return Worker("llama.cpp", ["node", str(folder / "llm_llama_cpp.mjs"), str(threads)])


def program_of(model: str, gguf: Path, folder: Path) -> Path:
    """The program of a file, which is exported to `folder` if it is not there."""
    path = folder / f"{model}.pte"
    if not path.is_file():
        sizes = [f"--context={CONTEXT}", f"--chunk={PROMPT}"]
        subprocess.run([sys.executable, "-m", "sdk", "llm", "export", gguf, "-o", path, *sizes], check=True)
    return path


class LanguageModels:
    """Measures models (their names in `MODELS`) on engines (columns). `folder` keeps what is made for them."""

    all_columns: tuple[str, ...] = COLUMNS

    def __init__(self, folder: Path, columns: list[str] | None, models: list[str] | None) -> None:
        self.folder = folder
        self.columns, self.models = columns or list(self.all_columns), models or list(MODELS)
        for kind, names, known in (("column", self.columns, self.all_columns), ("model", self.models, MODELS)):
            if unknown := [name for name in names if name not in known]:
                raise ValueError(f"there is no {kind} {unknown[0]!r}; expected some of {', '.join(known)}")
        self.results: Results = {}
        self.failures: list[str] = []

    def measure(self, threads: int, rounds: int) -> None:
        """Measures one round of each engine in turn, `rounds` times."""
        for model in self.models:
            gguf = gguf_of(model, self.folder)
            row = f"{model}, {threads} thread{'s' if threads > 1 else ''}"
            with ExitStack() as stack:
                workers: dict[str, Worker] = {}
                for name in self.columns:
                    workers[name] = self._worker(name, threads)
                    stack.callback(workers[name].close)
                for name, worker in workers.items():
                    path = program_of(model, gguf, self.folder) if name == "sdk" else gguf
                    self._ask(row, name, worker, "load", path=str(path), context=CONTEXT)
                    self._add(row, BYTES, name, float(path.stat().st_size))
                for turn in range(rounds):
                    print(f"{row}, round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
                    for name, worker in workers.items():
                        self._ask(row, name, worker, "run", prompt=PROMPT, answer=ANSWER, seed=turn)
                for name, worker in workers.items():
                    self._ask(row, name, worker, "memory")

    def _add(self, row: str, figure: str, engine: str, value: float) -> None:
        self.results.setdefault(row, {}).setdefault(figure, {}).setdefault(engine, Series()).samples.append(value)

    def _ask(self, row: str, name: str, worker: Worker, do: str, **request: object) -> None:
        """Records each figure of the answer, or the reason for a missing one."""
        names = {"decode": DECODE, "prefill": PREFILL, "start": START, "memory_bytes": MEMORY}
        try:
            answer = worker.ask(do, **request)
        except (EngineError, BrokenPipeError) as error:
            self.failures.append(f"{row}: {error}")
            return
        for key, value in answer.items():
            self._add(row, names[key], name, float(value))

    def _worker(self, name: str, threads: int) -> Worker:
        if name == "llama.cpp":
            return llama_cpp_worker(self.folder, threads)
        python = sys.executable if name == "sdk" else own_python("openvino_genai")
        return Worker(name, [python, "-W", "ignore", str(HERE / "llm_worker.py"), name, str(threads)])

    def page(self) -> str:
        """A row for each model, number of threads and figure; the last columns are our median divided by others'."""
        others = [name for name in self.columns if name != "sdk"]
        head = ["model", "figure", *self.columns, *(f"sdk / {name}" for name in others)]
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for row, figures in self.results.items():
            for figure, found in figures.items():
                ours = found.get("sdk")
                ratios = [
                    f"**{ours.median / found[name].median:.2f}**" if ours and name in found else "–" for name in others
                ]
                cells = [cell(figure, found.get(name)) for name in self.columns]
                lines.append("| " + " | ".join([row, figure, *cells, *ratios]) + " |")
            if bandwidth := self._read_by_decoding(figures):
                lines.append(f"| {row} | bytes read by decoding, a second | {bandwidth} |" + " |" * len(others))
        return "\n".join([*lines, "", *(f"- Not measured: {failure}" for failure in self.failures)]) + "\n"

    def _read_by_decoding(self, figures: dict[str, dict[str, Series]]) -> str:
        """The bytes of the file that an engine reads in a second: each token reads about the whole file once."""
        found = [
            readable("bytes", figures[DECODE][name].median * figures[BYTES][name].median)
            if name in figures.get(DECODE, {})
            else "–"
            for name in self.columns
        ]
        return " | ".join(found) if DECODE in figures else ""
