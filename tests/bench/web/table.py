# SPDX-License-Identifier: BSD-3-Clause
"""Measures the engines in headless Chromium."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from bench.comparison import Series, decibels_of
from bench.peer_table import ENDINGS, OURS, PeerTable, Row
from bench.worker import ROOT

sys.path.insert(0, str(ROOT / "tests" / "web"))

from web_pages import PACKAGE, Browser, browser, serve, served

PEERS = {
    "onnxruntime": ("onnxruntime", "onnxruntime-web", "1.30.0"),
    "LiteRT": ("litert", "@litertjs/core", "2.5.3"),
}
"""Column to the engine's function in page.js, and its npm package."""
COLUMNS = (OURS, *PEERS)
MODELS = {
    "MobileNetV2": "examples/mobilenet_v2/model.py:mobilenet_v2",
    "ResNet18": "bench:resnet18",
    "MiniLM, 128 tokens": "bench:minilm_128",
}


def install_peers() -> Path:
    """The folder of the peers' npm packages, which are installed on first use."""
    folder = ROOT / ".cache" / "web" / "peers"
    wanted = [f"{package}@{version}" for _, package, version in PEERS.values()]
    stamp = folder / ".installed"
    if not stamp.exists() or stamp.read_text() != str(wanted):
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
        subprocess.run([*command, "--prefix", str(folder), *wanted], check=True)
        stamp.write_text(str(wanted))
    return folder / "node_modules"


class WebTable(PeerTable):
    """`PeerTable` in a browser. Samples are wall-clock time, because pages have no other clock. Each engine has its own
    browser, and they take turns.
    """

    def measure(self, threads: int, rounds: int, seconds: float, precisions: list[str] | None = None) -> None:
        if not (PACKAGE / "dist" / "executorch.wasm").exists():
            raise ValueError("the npm package is not built: run sdk/web/build first")
        self._peers = install_peers()
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
                page = stack.enter_context(browser())
                page.open(address + "page.html")
                function = "sdk" if column == OURS else PEERS[column][0]
                arguments = ", ".join(map(json.dumps, (function, f"models/{path.name}", files, row.threads)))
                try:
                    found = np.array(page.evaluate(f"load({arguments})"))
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
