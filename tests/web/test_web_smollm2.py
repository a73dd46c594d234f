# SPDX-License-Identifier: BSD-3-Clause
"""SmolLM2 in WebAssembly makes the text that it makes in Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from web_pages import ROOT, Browser, needs_package, serve, served

from bench.llm_files import gguf_of

pytestmark = [needs_package, pytest.mark.network, pytest.mark.slow]

PROMPT = "The capital of France is"
COUNT = 24


def _run(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=3000)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("smollm2")
    program = folder / "smollm2.pte"
    _run(sys.executable, "-m", "sdk", "llm", "export", str(gguf_of("smollm2-135m", folder)), "-o", str(program))
    return program


@pytest.fixture(scope="module")
def expected(smollm2: Path) -> str:
    options = ["--raw", "--prompt", PROMPT, "--temperature", "0", "--max-new-tokens", str(COUNT), "--json"]
    text = json.loads(_run(sys.executable, "-m", "sdk", "llm", "run", str(smollm2), *options))["text"]
    assert "Paris" in text
    return str(text)


def test_its_greedy_text_in_node_is_that_of_python(smollm2: Path, expected: str) -> None:
    found = json.loads(_run("node", str(ROOT / "sdk/web/test/language.mjs"), str(smollm2), PROMPT, str(COUNT)))
    assert found["text"] == expected
    assert found["stats"]["generatedTokens"] == COUNT


def test_its_greedy_text_in_chromium_is_that_of_python(chromium: Browser, smollm2: Path, expected: str) -> None:
    folders = {"models": smollm2.parent}
    with served(ROOT / "sdk" / "web" / "test", serve.ISOLATION, folders) as address:
        chromium.open(address + "chromium.html")
        found = chromium.evaluate(f"""(async () => {{
          const llm = await et.LlmModule.load("models/smollm2.pte");
          let text = "";
          const options = {{ temperature: 0, maxNewTokens: {COUNT} }};
          for await (const piece of llm.generate({json.dumps(PROMPT)}, options)) text += piece;
          et.shutdown();
          return text;
        }})()""")
    assert found == expected
