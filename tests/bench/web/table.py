# SPDX-License-Identifier: BSD-3-Clause
"""Measures the engines in headless Chromium."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from web_pages import PACKAGE, Browser, browser, serve, served

from bench.comparison import Series, decibels_of
from bench.peer_page import rows_table
from bench.peer_table import ENDINGS, OURS, PeerTable, Row
from bench.worker import ROOT

PEERS = {
    "onnxruntime": ("onnxruntime", "onnxruntime-web", "1.30.0"),
    "LiteRT": ("litert", "@litertjs/core", "2.5.3"),
}
"""Column to the engine's function in page.js, and its npm package."""
STARTS = 5
COLUMNS = (OURS, *PEERS)
MODELS = {
    "MobileNetV2": "examples/mobilenet_v2/model.py:mobilenet_v2",
    "ResNet18": "bench:resnet18",
    "MiniLM, 128 tokens": "bench:minilm_128",
}


def install_peers(wanted: list[str], name: str = "peers") -> Path:
    """The folder of npm packages, which are installed on first use."""
    folder = ROOT / ".cache" / "web" / name
    stamp = folder / ".installed"
    if not stamp.exists() or stamp.read_text() != str(wanted):
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
        subprocess.run([*command, "--prefix", str(folder), *wanted], check=True)
        stamp.write_text(str(wanted))
    return folder / "node_modules"


def check_package() -> None:
    if not (PACKAGE / "dist" / "executorch.wasm").exists():
        raise ValueError("the npm package is not built: run sdk/web/build first")


class WebTable(PeerTable):
    """`PeerTable` in a browser. Samples are wall-clock time, because pages have no other clock. Each engine has its own
    browser, and they take turns.
    """

    def __init__(self, models: dict[str, str], directory: Path, backend: str, columns: list[str] | None = None) -> None:
        super().__init__(models, directory, backend, columns)
        self._starts: dict[str, Row] = {}

    def measure(self, threads: int, rounds: int, seconds: float, precisions: list[str] | None = None) -> None:
        check_package()
        self._peers = install_peers([f"{package}@{version}" for _, package, version in PEERS.values()])
        super().measure(threads, rounds, seconds, precisions)

    def _measure_row(self, row: Row, inputs: Path, expected: Path, rounds: int, seconds: float) -> None:
        files = _write_inputs(inputs)
        folders = {"models": self.directory, "peers": self._peers}
        with ExitStack() as stack:
            address = stack.enter_context(served(Path(__file__).parent, serve.ISOLATION, folders))
            pages: dict[str, Browser] = {}
            for column, engine in self.columns.items():
                path = self.program(engine + ENDINGS[row.precision], row.model)
                if not path.exists():
                    row.reasons[column] = path.with_name(path.name + ".reason").read_text()
                    continue
                function = "sdk" if column == OURS else PEERS[column][0]
                arguments = ", ".join(map(json.dumps, (function, f"models/{path.name}", files, row.threads)))
                load = f"load({arguments})"
                if (row.precision, row.threads) == ("float32", 1):
                    self._measure_start(row.model, column, address, load)
                page = stack.enter_context(browser())
                page.open(address + "page.html")
                try:
                    found = np.array(page.evaluate(load))
                    row.decibels[column] = decibels_of(np.load(expected), found, row.precision)
                except (RuntimeError, TimeoutError) as error:
                    row.reasons[column] = str(error)
                    continue
                pages[column] = page
                self.versions[column] = _version(column, page)
            for turn in range(rounds):
                turns = list(pages.items())
                for column, page in turns if turn % 2 else turns[::-1]:
                    sample = page.evaluate(f"measure({seconds})")
                    row.samples.setdefault(column, Series()).samples.append(sample)

    def _measure_start(self, model: str, column: str, address: str, load: str) -> None:
        row = self._starts.setdefault(model, Row(model, "float32", 1, least_peers=1))
        for _ in range(STARTS):
            with browser() as page:
                page.open(address + "page.html")
                try:
                    page.evaluate(load)
                except (RuntimeError, TimeoutError):
                    return  # the row of the model's calls has the reason
                row.samples.setdefault(column, Series()).samples.append(page.evaluate("startMs()"))

    def starts_page(self) -> str:
        """The table of starts; empty if none were measured."""
        if not self._starts:
            return ""
        what = (
            "Milliseconds from the first line of JavaScript to the first result, with the download of engine and "
            "program from the same machine, in a new browser; float32, 1 thread:"
        )
        return "\n".join(["", what, "", *rows_table(list(self._starts.values()), list(self.columns)), ""])


def _version(column: str, page: Browser) -> dict[str, str]:
    if column == OURS:
        return {"Chromium": page.evaluate("/Chrome.([0-9.]+)/.exec(navigator.userAgent)[1]")}
    _, package, version = PEERS[column]
    return {package: version}


def _write_inputs(inputs: Path) -> list[dict[str, object]]:
    """Writes each input as a file, for the page's `load`."""
    files: list[dict[str, object]] = []
    for index, array in enumerate(np.load(inputs).values()):
        path = inputs.with_name(f"input-{index}.bin")
        path.write_bytes(np.ascontiguousarray(array).tobytes())
        files.append({"path": f"models/{path.name}", "dtype": str(array.dtype), "shape": array.shape})
    return files
