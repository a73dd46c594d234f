# SPDX-License-Identifier: BSD-3-Clause
"""The npm package's language models beside wllama, in one browser: `scripts/bench --web --llm`."""

from __future__ import annotations

import json
import random
from contextlib import ExitStack
from pathlib import Path

from web_pages import browser, serve, served

from bench.harness import EngineError, Worker
from bench.llm import LanguageModels
from bench.web.table import check_package, install_peers

PEER = "@wllama/wllama@3.13.0"
MODEL = "smollm2-135m"
WORDS = ["water", "river", "stone", "light", "morning", "garden", "letter", "music", "table", "window", "paper"]


def text_of(words: int, seed: int) -> str:
    """Random words, each of which is one token."""
    return " ".join(random.Random(seed).choices(WORDS, k=words))


class Page(Worker):
    """An engine in a separate browser, with the interface of `Worker`."""

    def __init__(self, name: str, threads: int, programs: Path) -> None:
        self.name, self.threads, self.programs = name, threads, programs
        folders = {"models": programs, "peers": install_peers([PEER], "language-peers")}
        with ExitStack() as stack:
            address = stack.enter_context(served(Path(__file__).parent, serve.ISOLATION, folders))
            self._page = stack.enter_context(browser())
            self._page.timeout_s = 600
            self._page.open(address + "language.html")
            self._stack = stack.pop_all()

    def ask(self, do: str, **request: object) -> dict[str, float]:
        try:
            if do == "load":
                path = Path(str(request["path"])).relative_to(self.programs)
                arguments = (self.name, f"models/{path}", "Once upon a time", self.threads)
                return {"start": self._page.evaluate(f"load({', '.join(map(json.dumps, arguments))})") / 1000}
            if do == "run":
                answer = int(str(request["answer"]))
                prompt = text_of(int(str(request["prompt"])), int(str(request["seed"])))
                found = self._page.evaluate(f"measure({json.dumps(prompt)}, {answer})")
                if found["pieces"] < 2 or found["promptTokens"] == 0:
                    raise RuntimeError(f"expected {answer} tokens after a prompt, found {found}")
                return {
                    "prefill": found["promptTokens"] / found["first"] * 1000,
                    "decode": (answer - 1) / found["rest"] * 1000,
                }
        except (RuntimeError, TimeoutError) as error:
            raise EngineError(f"{self.name}: {error}") from error
        return {}  # a page cannot measure its memory

    def close(self) -> None:
        self._stack.close()


class WebLanguageModels(LanguageModels):
    """A model in the browser: the same GGUF file for each engine, exported for this SDK before."""

    all_columns = ("sdk", "wllama")

    def __init__(self, folder: Path, columns: list[str] | None, models: list[str] | None) -> None:
        check_package()
        super().__init__(folder, columns, models or [MODEL])

    def _worker(self, name: str, threads: int) -> Worker:
        return Page(name, threads, self.folder)
