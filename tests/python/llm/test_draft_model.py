# SPDX-License-Identifier: BSD-3-Clause
"""Speculation with a smaller model does not change any token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from test_runner import PARAMETERS, write_tokenizer
from test_sessions import exported

from sdk.extension.llm.export.export_llm import export
from sdk.extension.llm.runner import GenerationConfig, TextLLMRunner
from sdk.extension.pybindings.portable_lib import ExecuTorchError

CONTEXT = 512
PROMPTS = [f"{word} {i} " * (i % 4 + 1) for i, word in enumerate(["The", "quick", "brown", "fox", "jumps"] * 4)]


def small(folder: Path, **parameters: Any) -> TextLLMRunner:
    """A model of one layer with other weights."""
    (folder / "small.json").write_text(json.dumps({**PARAMETERS, "n_layers": 1, **parameters}))
    torch.manual_seed(11)
    settings = [f"base.params={folder / 'small.json'}", "model.use_kv_cache=true", f"export.output_dir={folder}"]
    settings += [f"export.max_context_length={CONTEXT}", "export.output_name=small.pte"]
    return TextLLMRunner(str(export(None, settings)), str(write_tokenizer(folder / "small_tokenizer.json")))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("model")
    return exported(folder, "model.use_sdpa_with_kv_cache=true", f"export.max_context_length={CONTEXT}")


def check(files: tuple[str, str], draft: TextLLMRunner, prompts: list[str], count: int) -> None:
    runner = TextLLMRunner(*files)
    runner.set_draft(draft)
    for number, prompt in enumerate(prompts):
        for fields in ({"temperature": 0.0}, {"temperature": 0.9, "seed": number}):
            found = []
            for draft_tokens in (0, 5):
                runner.reset()
                config = GenerationConfig(
                    echo=False, max_new_tokens=count, ignore_eos=True, draft_tokens=draft_tokens, **fields
                )
                runner.generate(prompt, config)
                found.append((runner.generated_tokens, runner.position))
            assert found[0] == found[1]
            assert len(found[0][0]) == count


def test_a_model_drafts_for_itself_and_another_for_it(files: tuple[str, str], tmp_path: Path) -> None:
    check(files, TextLLMRunner(*files), PROMPTS[:2], 60)
    check(files, small(tmp_path), PROMPTS[:2], 60)


@pytest.mark.slow
def test_twenty_prompts_of_256_tokens(files: tuple[str, str], tmp_path: Path) -> None:
    check(files, TextLLMRunner(*files), PROMPTS, 256)
    check(files, small(tmp_path), PROMPTS, 256)


def test_what_cannot_draft(files: tuple[str, str], tmp_path: Path) -> None:
    runner = TextLLMRunner(*files)
    with pytest.raises(ExecuTorchError, match=r"draft_tokens needs a model that drafts: call set_draft\(\) first"):
        runner.generate("a", GenerationConfig(draft_tokens=3))
    with pytest.raises(ExecuTorchError, match="the model that drafts has another vocabulary: 97 tokens"):
        runner.set_draft(small(tmp_path, vocab_size=97))
    with pytest.raises(ExecuTorchError, match="a model cannot draft for itself"):
        runner.set_draft(runner)
    runner.set_draft(TextLLMRunner(*files))
    runner.set_draft(None)
    with pytest.raises(ExecuTorchError, match="call set_draft"):
        runner.generate("a", GenerationConfig(draft_tokens=3))


def test_a_grammar_and_a_draft(files: tuple[str, str], tmp_path: Path) -> None:
    runner = TextLLMRunner(*files)
    runner.set_draft(small(tmp_path))
    fields: dict[str, Any] = {"echo": False, "temperature": 1.0, "seed": 4, "grammar_type": "regex"}
    texts = []
    for draft_tokens in (0, 4):
        runner.reset()
        config = GenerationConfig(grammar="(ab|cd){8}[xyz]{4}", draft_tokens=draft_tokens, **fields)
        texts.append(runner.generate_text("x", config))
    assert texts[0] == texts[1]
    assert len(texts[0]) == 20
