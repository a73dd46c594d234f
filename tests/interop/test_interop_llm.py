# SPDX-License-Identifier: BSD-3-Clause
"""Language models: our programs in the original's TextLLMRunner, and the original's programs in ours.

Each program continues a prompt greedily, as eager PyTorch does without a cache.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup, quantize_

from interop.originals import InOriginal, in_both_releases
from sampling import values_in_tests
from sdk.extension.llm.export.export_llm import export
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.transformer import Transformer, construct_transformer
from sdk.extension.llm.runner import GenerationConfig, TextLLMRunner

pytestmark = [pytest.mark.oracle, pytest.mark.network, in_both_releases]

ROOT = Path(__file__).resolve().parents[2]
ARGS: dict[str, Any] = {"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 96, "hidden_dim": 128}
PROMPT, COUNT = "The quick brown fox jumps over the lazy dog", 24
SETTINGS = {
    "plain": [],
    "custom_sdpa": ["model.use_sdpa_with_kv_cache=true"],
    "8da4w": [
        "quantization.qmode=8da4w",
        "quantization.group_size=32",
        "quantization.use_hqq=false",
        "backend.xnnpack.enabled=true",
    ],
}


def write_tokenizer(path: Path) -> None:
    """A token for each printable character of ASCII, and one that ends a text."""
    end = {"id": 95, "content": "<end>", "special": True, "single_word": False, "lstrip": False, "rstrip": False}
    vocabulary = {**{chr(32 + i): i for i in range(95)}, "<end>": 95}
    content = {
        "added_tokens": [{**end, "normalized": False}],
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
        "decoder": {"type": "Fuse"},
    }
    path.write_text(json.dumps(content))


def eager_text(model: Transformer) -> str:
    """The greedy continuation of the prompt. Each character is computed from the whole text, without a cache."""
    tokens = [ord(character) - 32 for character in PROMPT]
    while len(tokens) < len(PROMPT) + COUNT and tokens[-1] != 95:
        with torch.no_grad():
            tokens.append(int(model(torch.tensor([tokens])).reshape(-1, 96)[-1].argmax()))
    return "".join(chr(32 + token) for token in tokens[len(PROMPT) :] if token != 95)


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, in_original: InOriginal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with our programs, the texts that the original's runner generates with them, and its own programs."""
    folder = tmp_path_factory.mktemp("llm")
    (folder / "params.json").write_text(json.dumps(ARGS))
    write_tokenizer(folder / "tokenizer.json")
    torch.manual_seed(3)
    weights = construct_transformer(ModelArgs(**ARGS)).state_dict()
    torch.save({name: torch.randn_like(value) * 0.15 for name, value in weights.items()}, folder / "weights.pth")
    for name, settings in SETTINGS.items():
        common = [f"base.checkpoint={folder / 'weights.pth'}", f"base.params={folder / 'params.json'}"]
        common += ['base.metadata={"get_bos_id": 0, "get_eos_ids": [95]}', "model.use_kv_cache=true"]
        common += [f"export.output_dir={folder}", f"export.output_name=ours_{name}.pte"]
        export(None, [*common, *settings])
    wanted = {
        "prompt": PROMPT,
        "count": COUNT,
        "run": [f"ours_{name}" for name in SETTINGS],
        "export": sorted(name for name in values_in_tests(request, "program") if name.startswith("theirs")),
    }
    (folder / "request.json").write_text(json.dumps(wanted))
    in_original(ROOT / "tests/interop/oracle_llm.py", folder)
    return folder


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, str]:
    """Eager PyTorch's continuation of the prompt for each setting. For 8da4w, torchao quantises the model."""
    model = construct_transformer(ModelArgs(**ARGS)).eval()
    model.load_state_dict(torch.load(folder / "weights.pth"))
    plain = eager_text(model)
    quantize_(model, Int8DynamicActivationIntxWeightConfig(torch.int4, PerGroup(32)))
    return {"plain": plain, "custom_sdpa": plain, "8da4w": eager_text(model)}


@pytest.mark.parametrize("program", [f"ours_{name}" for name in SETTINGS])
def test_our_programs_in_the_originals_runner(program: str, folder: Path, expected: dict[str, str]) -> None:
    """The original's runner continues the prompt as eager does. Its module lacks the kernel of `llama::custom_sdpa`, so
    our program with this operator fails in it, as the original's would."""
    error = folder / f"{program}.error"
    if program == "ours_custom_sdpa":
        assert "Generation failed" in error.read_text()
        return
    assert not error.exists(), error.read_text()
    assert (folder / f"{program}.text").read_text() == expected[program.removeprefix("ours_")]


@pytest.mark.parametrize(
    "program",
    [
        *(f"ours_{name}" for name in SETTINGS),
        "theirs_plain",
        # The original's exporter needs 15 seconds and 90 seconds of CPU time for these small models.
        pytest.param("theirs_custom_sdpa", marks=pytest.mark.slow),
        pytest.param("theirs_8da4w", marks=pytest.mark.slow),
    ],
)
def test_programs_in_our_runner(program: str, folder: Path, expected: dict[str, str]) -> None:
    error = folder / f"{program}.error"
    assert program.startswith("ours") or not error.exists(), error.read_text()
    runner = TextLLMRunner(str(folder / f"{program}.pte"), str(folder / "tokenizer.json"))
    pieces: list[str] = []
    runner.generate(PROMPT, GenerationConfig(echo=False, max_new_tokens=COUNT, temperature=0.0), pieces.append)
    assert "".join(pieces) == expected[program.partition("_")[2]]
