# SPDX-License-Identifier: BSD-3-Clause
"""The npm package in headless Chromium: the programs of the corpus, threads, and the page to try programs."""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "page"))

from browser import EXECUTABLE, Browser, browser

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "build" / "web-package"
DATA = ROOT / "tests" / "data"
PROGRAMS = sorted(path.parent.name for path in (DATA / "corpus").glob("*/manifest.json"))

_loader = importlib.machinery.SourceFileLoader("serve", str(ROOT / "sdk" / "web" / "page" / "serve"))
_spec = importlib.util.spec_from_loader("serve", _loader)
assert _spec is not None
serve = importlib.util.module_from_spec(_spec)
_loader.exec_module(serve)

pytestmark = pytest.mark.skipif(
    EXECUTABLE is None or not (PACKAGE / "dist" / "executorch.wasm").exists(),
    reason="needs Chromium, and the package that sdk/web/build makes",
)


@contextlib.contextmanager
def served(folder: Path, headers: dict[str, str]) -> Iterator[str]:
    folders = {"": folder, "package": PACKAGE, "data": DATA}
    with serve.server(0, folders, headers) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{found.server_port}/"
        finally:
            found.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.mark.parametrize("isolated", [True, False], ids=["isolated", "not_isolated"])
@pytest.mark.parametrize("worker", [True, False], ids=["worker", "page"])
def test_the_corpus_gives_what_eager_gave(chromium: Browser, isolated: bool, worker: bool) -> None:
    """Only pages that are isolated from other origins may share memory between threads."""
    with served(ROOT / "sdk" / "web" / "test", serve.ISOLATION if isolated else {}) as address:
        chromium.open(address + "chromium.html")
        assert chromium.evaluate("crossOriginIsolated") is isolated
        options = json.dumps({"threads": 2, "worker": worker})
        assert chromium.evaluate(f"failures({json.dumps(PROGRAMS)}, {options})") == []
        assert chromium.evaluate("et.Runtime.create().then(r => r.threads)") >= (2 if isolated else 1)
        threads = chromium.evaluate("et.Runtime.create({ threads: 2 }).then(r => r.threads)")
        assert threads == (2 if isolated else 1)
        chromium.evaluate("et.shutdown()")
    assert len(PROGRAMS) >= 58


def test_the_page_stays_alive_while_a_program_runs(chromium: Browser) -> None:
    with served(ROOT / "sdk" / "web" / "test", serve.ISOLATION) as address:
        chromium.open(address + "chromium.html")
        found = chromium.evaluate("""(async () => {
          const module = await et.Module.load("data/endless.pte");
          const run = module.forward(et.Tensor.ones([3])).catch((error) => error.code);
          for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 5));
          et.shutdown();
          return run;
        })()""")
        assert found == "InvalidState"


def test_a_download_is_kept_in_the_cache(chromium: Browser) -> None:
    with served(ROOT / "sdk" / "web" / "test", serve.ISOLATION) as address:
        chromium.open(address + "chromium.html")
        load = "et.Module.load('data/corpus/add/model.pte', { cache: 'models' }).then(m => m.getMethods())"
        assert chromium.evaluate(load) == ["forward"]
        chromium.requests.clear()
        assert chromium.evaluate(load) == ["forward"]
        assert not [url for url in chromium.requests if url.endswith("model.pte")]
        assert chromium.evaluate("caches.open('models').then(c => c.keys()).then(k => k.map(r => r.url))") == [
            address + "data/corpus/add/model.pte"
        ]


def test_a_worker_that_ended_is_replaced(chromium: Browser) -> None:
    """A module that cannot be instantiated ends its worker; the next load starts another one."""
    with served(ROOT / "sdk" / "web" / "test", serve.ISOLATION) as address:
        chromium.open(address + "chromium.html")
        code = chromium.evaluate(
            "et.Module.load('data/corpus/add/model.pte', { wasm: 'data/corpus/add/model.pte' }).catch(e => e.code)"
        )
        assert code == "NotSupported"
        methods = chromium.evaluate("et.Module.load('data/corpus/add/model.pte').then(m => m.getMethods())")
        assert methods == ["forward"]


def test_the_page_loads_runs_and_times_a_program(chromium: Browser, tmp_path: Path) -> None:
    with served(ROOT / "sdk" / "web" / "page", serve.ISOLATION) as address:
        chromium.open(address)
        assert "operators" in chromium.evaluate("document.getElementById('runtime').textContent")
        chromium.choose_files("#files", DATA / "corpus" / "linear" / "model.pte")
        chromium.wait("!document.getElementById('program').hidden")
        rows = chromium.evaluate("[...document.querySelectorAll('#signature tbody tr')].map(r => r.innerText)")
        assert any("input 0" in row and "Float" in row for row in rows)
        chromium.click("#run")
        chromium.wait("document.getElementById('result').textContent.includes('output 0')")
        chromium.screenshot(tmp_path / "page.png")
        chromium.click("#time")
        chromium.wait("document.getElementById('result').textContent.includes('median')")
        chromium.wait("!document.getElementById('time').disabled")
        chromium.choose_files("#files", DATA / "errors.json")
        text = chromium.wait("!document.getElementById('error').hidden && document.getElementById('error').textContent")
        assert text.startswith("InvalidProgram: ") and "export it again" in text
