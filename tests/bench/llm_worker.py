# SPDX-License-Identifier: BSD-3-Clause
"""This SDK, or OpenVINO GenAI, in one process: JSON lines in, JSON lines out, as `worker.py`.

Requests: ``load`` (to the first token), ``run`` (a new prompt, then single tokens: tokens per second of both),
``memory`` (bytes of resident set at its peak, since the process began).
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.worker import resident

_TOKENS = range(1000, 40000)
"""Ids of ordinary tokens in all models."""


def prompt_of(length: int, seed: int) -> list[int]:
    """Tokens without a pattern, whose first one differs between seeds."""
    return [_TOKENS[(seed * 7919 + 104729 * (i + 1)) % len(_TOKENS)] for i in range(length)]


class Sdk:
    """Programs of `sdk llm export`, through the runner."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def load(self, path: str, context: int) -> None:
        from sdk.extension.llm.runner import SamplingConfig, TextLLMEngine
        from sdk.extension.pybindings import portable_lib

        portable_lib._unsafe_reset_threadpool(self.threads)
        self.greedy = SamplingConfig(temperature=0.0)
        self.engine = TextLLMEngine(path)
        self.session = self.engine.create_session()
        self.run([1], 0)

    def run(self, prompt: list[int], answer: int) -> tuple[float, float]:
        """Seconds of the prompt and of the tokens after it."""
        self.session.reset()
        start = time.perf_counter()
        self.session.prefill_tokens(prompt)
        self.session.decode_one(self.greedy)
        middle = time.perf_counter()
        for _ in range(answer):
            self.session.decode_one(self.greedy)
        return middle - start, time.perf_counter() - middle


class OpenVINO:
    """OpenVINO GenAI, which reads the GGUF file itself."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def load(self, path: str, context: int) -> None:
        import numpy
        import openvino
        import openvino_genai

        self.array, self.tensor = numpy.array, openvino.Tensor
        self.pipeline = openvino_genai.LLMPipeline(path, "CPU", INFERENCE_NUM_THREADS=self.threads)
        self.config = openvino_genai.GenerationConfig()
        self.config.do_sample, self.config.ignore_eos = False, True
        self.run([1, 2], 1)

    def run(self, prompt: list[int], answer: int) -> tuple[float, float]:
        """Seconds of the prompt and of the tokens after it."""
        self.config.max_new_tokens = answer + 1
        found: Any = self.pipeline.generate(self.tensor(self.array([prompt], dtype="int64")), self.config)
        metrics = found.perf_metrics
        return metrics.get_ttft().mean / 1000, metrics.get_tpot().mean / 1000 * answer


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    engine = {"sdk": Sdk, "OpenVINO": OpenVINO}[sys.argv[1]](int(sys.argv[2]))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "load":
                start = time.perf_counter()
                engine.load(request["path"], request["context"])
                answer = {"start": time.perf_counter() - start}
            elif request["do"] == "run":
                prompt = prompt_of(request["prompt"], request["seed"])
                first, rest = engine.run(prompt, request["answer"])
                answer = {"prefill": len(prompt) / first, "decode": request["answer"] / rest}
            else:
                answer = {"memory_bytes": resident("VmHWM")}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
