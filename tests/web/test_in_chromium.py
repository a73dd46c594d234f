# SPDX-License-Identifier: BSD-3-Clause
"""The npm package in headless Chromium: the programs of the corpus, threads, and the page to try programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from web_pages import DATA, ROOT, Browser, needs_package, serve, served

PROGRAMS = sorted(path.parent.name for path in (DATA / "corpus").glob("*/manifest.json"))

pytestmark = needs_package


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


def test_the_browser_loads_one_module_which_has_relaxed_simd(chromium: Browser) -> None:
    """Node.js 20, in which the other tests run, lacks relaxed SIMD and loads the other module."""
    with served(ROOT / "sdk" / "web" / "test", serve.ISOLATION) as address:
        chromium.open(address + "chromium.html")
        chromium.evaluate("et.Runtime.create({ threads: 1 }).then(r => r.dispose())")
        modules = [url.rpartition("/")[2] for url in chromium.requests if url.endswith(".wasm")]
        assert modules == ["executorch-relaxed.wasm"]


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


def test_the_page_answers_with_a_language_model(chromium: Browser, tmp_path: Path) -> None:
    with served(ROOT / "sdk" / "web" / "page", serve.ISOLATION) as address:
        chromium.open(address, width=400)
        chromium.choose_files("#files", DATA / "language_model.pte")
        chromium.wait("!document.getElementById('language').hidden")
        chromium.evaluate("document.getElementById('temperature').value = '0'")
        chromium.evaluate("document.getElementById('most').value = '6'")
        chromium.evaluate("document.getElementById('prompt').value = 'Hi'")
        chromium.evaluate("document.getElementById('ask').requestSubmit()")
        chromium.wait("document.getElementById('speed').textContent.includes('6 written')")
        rows = chromium.evaluate(
            "[...document.querySelectorAll('#conversation p')].map(p => [p.className, p.textContent])"
        )
        assert rows[0] == ["user", "Hi"]
        assert rows[1][0] == "assistant"
        assert len(rows[1][1]) == 6
        assert chromium.evaluate("document.documentElement.scrollWidth") <= 400
        chromium.screenshot(tmp_path / "language.png")


def test_canvases_bitmaps_frames_and_sound_become_tensors(chromium: Browser) -> None:
    with served(ROOT / "sdk" / "web" / "test", serve.ISOLATION) as address:
        chromium.open(address + "chromium.html")
        found = chromium.evaluate("""(async () => {
          const module = await et.Module.load("data/corpus/add/model.pte");
          const canvas = new OffscreenCanvas(2, 1);
          const context = canvas.getContext("2d");
          context.fillStyle = "rgb(10, 20, 30)";
          context.fillRect(0, 0, 1, 1);
          context.fillStyle = "rgb(40, 50, 60)";
          context.fillRect(1, 0, 1, 1);
          const element = Object.assign(document.createElement("canvas"), { width: 2, height: 1 });
          element.getContext("2d").drawImage(canvas, 0, 0);
          const frame = new VideoFrame(element, { timestamp: 0 });
          const image = new Image();
          image.src = element.toDataURL();
          await image.decode();
          const pixels = context.getImageData(0, 0, 2, 1);
          const sources = [canvas, element, await createImageBitmap(canvas), pixels, image, frame];
          const tensors = [];
          for (const source of sources) {
            tensors.push([...(await module.imageToTensor(source, { width: 2, height: 1, scaleFactor: 1 })).data]);
          }
          frame.close();
          const sound = new AudioBuffer({ numberOfChannels: 2, length: 800, sampleRate: 8000 });
          for (let c = 0; c < 2; c++) sound.getChannelData(c).fill(0.25 + c / 2);
          const mono = await et.soundToTensor(sound, { sampleRate: 16000 });
          et.shutdown();
          return [tensors, mono.sizes, mono.data[800]];
        })()""")
        tensors, sizes, middle = found
        assert tensors == [[10, 40, 20, 50, 30, 60]] * 6
        assert sizes == [1, 1600]
        assert abs(middle - 0.5) < 1e-3


@pytest.mark.parametrize("isolated", [True, False], ids=["isolated", "not_isolated"])
def test_a_language_model_answers_as_eager_does(chromium: Browser, isolated: bool) -> None:
    """tests/data/make_language_model.py makes the model, and has eager mode's text for the prompt."""
    with served(ROOT / "sdk" / "web" / "test", serve.ISOLATION if isolated else {}) as address:
        chromium.open(address + "chromium.html")
        found = chromium.evaluate("""(async () => {
          const llm = await et.LlmModule.load("data/language_model.pte");
          const pieces = [];
          const options = { temperature: 0, maxNewTokens: 20 };
          for await (const piece of llm.generate("Once upon a time", options)) pieces.push(piece);
          await llm.reset();
          const left = [];
          for await (const piece of llm.generate("Once upon a time", options)) if (left.push(piece) === 3) break;
          await llm.dispose();
          et.shutdown();
          return [pieces, left];
        })()""")
        eager = "pDl*!Vn8{l9W{l9W{l9W"
        assert found == [list(eager), list(eager[:3])]
