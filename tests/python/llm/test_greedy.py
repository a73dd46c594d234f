# SPDX-License-Identifier: BSD-3-Clause
"""SmolLM2 from GGUF continues prompts as eager does, and as llama.cpp does up to near ties."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from language_models import dequantised

from bench.harness import Worker
from bench.llm import llama_cpp_worker
from bench.llm_files import gguf_of
from sdk.__main__ import main
from sdk.extension.llm.runner import GenerationConfig, TextLLMRunner

pytestmark = pytest.mark.slow
COUNT, CONTEXT = 64, 256
NEAR_TIE = 1.0
"""Logits, whose standard deviation is 6 to 7. Rounding the activations to int8, in blocks of 32, moves them by 0.19 to
0.25 (root mean square over a prompt; up to 0.9 for one token), both in the program and in eager mode with the same
rounding. Any two implementations differ by that much: a difference in the last bit of a float can change an int8."""
PROMPTS = [
    "Once upon a time",
    "The capital of France is",
    "def fibonacci(n):\n",
    "Water boils at",
    "1, 2, 3, 4, 5,",
    "The three primary colours are",
    "Dear Sir or Madam,",
    "import numpy as np\n\n",
    "In 1969, the first humans",
    "Photosynthesis is the process by which",
    "Q: What is 7 times 8?\nA:",
    "SELECT name FROM users WHERE",
    "The mitochondria is",
    "To make pancakes, you need",
    "Es war einmal ein König, der",
    "<|im_start|>user\nWhat is gravity?<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>user\nWrite a haiku about rain.<|im_end|>\n<|im_start|>assistant\n",
    "<html>\n<head>\n",
    "The quick brown fox",
    "Mathematicians say that a prime number",
]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return gguf_of("smollm2-135m", tmp_path_factory.mktemp("smollm2"))


@pytest.fixture(scope="module")
def continued(file: Path) -> list[tuple[list[int], list[int]]]:
    """The tokens of each prompt, and those that the program of `sdk llm export` generates."""
    output = file.parent / "smollm2.pte"
    assert main(["llm", "export", str(file), "-o", str(output), "--context", str(CONTEXT)]) == 0
    runner = TextLLMRunner(str(output))
    config = GenerationConfig(max_new_tokens=COUNT, temperature=0, echo=False, ignore_eos=True)
    found = []
    for prompt in PROMPTS:
        runner.reset()
        runner.generate_text(prompt, config)
        assert len(runner.generated_tokens) == COUNT
        found.append((runner.encode(prompt), list(runner.generated_tokens)))
    return found


@pytest.fixture(scope="module")
def logits(file: Path, continued: list[tuple[list[int], list[int]]]) -> list[torch.Tensor]:
    """[COUNT, vocabulary] of each prompt: the logits of the same weights in float32 and eager mode for each token."""
    model, found = dequantised(file, CONTEXT), []
    for prompt, tokens in continued:
        with torch.no_grad():
            every = model(torch.tensor([[*prompt, *tokens]]), {"input_pos": torch.tensor([0])})[0]
        found.append(every[len(prompt) - 1 : -1])
    return found


def test_prompts_continue_as_in_eager_mode(
    continued: list[tuple[list[int], list[int]]], logits: list[torch.Tensor]
) -> None:
    """20 prompts, 64 tokens each. Where eager would choose another token after the same text, it is a near tie."""
    parted = 0
    for prompt, (_, tokens), rows in zip(PROMPTS, continued, logits, strict=True):
        for i in (rows.argmax(dim=1) != torch.tensor(tokens)).nonzero().flatten().tolist():
            gap = float(rows[i].max() - rows[i, tokens[i]])
            print(f"{prompt!r}, token {i}: eager {int(rows[i].argmax())}, here {tokens[i]}, logits {gap:.3f} apart")
            assert gap < NEAR_TIE
            parted += 1
    print(f"{parted} of {len(PROMPTS) * COUNT} tokens part")
    assert parted <= 0.04 * len(PROMPTS) * COUNT


@pytest.fixture(scope="module")
def llama_cpp(file: Path) -> Iterator[Worker]:
    if shutil.which("npm") is None:
        pytest.skip("llama.cpp comes from npm, which is not installed")
    worker = llama_cpp_worker(file.parent, 1)
    worker.ask("load", path=str(file), context=CONTEXT)
    yield worker
    worker.close()


def test_llama_cpp_parts_at_near_ties_only(
    continued: list[tuple[list[int], list[int]]], logits: list[torch.Tensor], llama_cpp: Worker
) -> None:
    """At the first token that differs, eager's logits of both are about the same."""
    report = {}
    for prompt, (ids, tokens), rows in zip(PROMPTS, continued, logits, strict=True):
        theirs = llama_cpp.ask("continue", tokens=ids, count=COUNT)["tokens"]
        first = next((i for i in range(COUNT) if theirs[i] != tokens[i]), None)
        if first is not None:
            gap = abs(float(rows[first, theirs[first]] - rows[first, tokens[first]]))
            report[prompt] = {
                "token": first,
                "program": tokens[first],
                "llama.cpp": theirs[first],
                "gap": round(gap, 3),
            }
            assert gap < NEAR_TIE, report[prompt]
    print(json.dumps(report, indent=1))
