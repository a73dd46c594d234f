# SPDX-License-Identifier: BSD-3-Clause
"""Exports a small language model by Optimum's command for each recipe and way, and compares the programs with eager.

Usage: ``python optimum_matrix.py FOLDER ARCHITECTURE [CELL...]`` in the environment of Optimum. A cell is `recipe/way`;
all of them are the default. It prints a line for each, "passed" or the error, and exits with 1 after an error.
"""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
from pathlib import Path
from typing import Any

import torch
import transformers

import sdk.compat
from sdk.runtime import Program, Runtime

RECIPES = ("portable", "xnnpack")
WAYS: dict[str, list[str]] = {
    "plain": [],
    "custom": ["--use_custom_sdpa", "--use_custom_kv_cache"],
    "8da4w": ["--qlinear", "8da4w"],
}
LONGEST, WINDOW, PROMPT, COUNT = 48, 16, [5, 17, 33, 60, 8], 20
SIZES: dict[str, Any] = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
WINDOWS = {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]}
GPT2 = {"vocab_size": 96, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", SIZES),
    "qwen2": ("Qwen2", SIZES),
    "qwen3": ("Qwen3", {**SIZES, "head_dim": 16}),
    "gemma3": ("Gemma3", {**SIZES, **WINDOWS, "head_dim": 16, "query_pre_attn_scalar": 16}),
    "smollm3": ("SmolLM3", SIZES),
    "phi3": ("Phi3", SIZES),
    "mistral": ("Mistral", {**SIZES, "sliding_window": None}),
    "gpt2": ("GPT2", {**GPT2, "bos_token_id": 1, "eos_token_id": 2}),
}


def save(architecture: str, folder: Path) -> None:
    """Writes a model with random weights."""
    name, sizes = MODELS[architecture]
    suffix = "Text" if name == "Gemma3" else ""
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}{'ForCausalLM' if name != 'GPT2' else 'LMHeadModel'}")(
        getattr(transformers, f"{name}{suffix}Config")(**sizes)
    )
    model.save_pretrained(folder)


def eager(folder: Path, way: str) -> Any:
    """The model that the program is of: its linear layers are quantised as Optimum does it."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    if way == "8da4w":
        from optimum.exporters.executorch.quantization import quantize_model_

        quantize_model_(model, qlinear_config="8da4w")
    return model


def export_by_command(folder: Path, output: Path, task: str, recipe: str, *options: str) -> Program:
    """Runs Optimum's command with the model of a folder."""
    command = ["optimum-cli", "export", "executorch", "--model", str(folder), "--task", task, "--recipe", recipe]
    status = sdk.compat.main([*command, "--output_dir", str(output), *options])
    assert status in (None, 0), status
    return Runtime.get().load_program(output / "model.pte")


def check(folder: Path, recipe: str, way: str) -> None:
    """Raises AssertionError where the logits after a prompt, or after a token that follows it, are not eager's."""
    options = ["--max_seq_len", str(LONGEST), *WAYS[way]]
    program = export_by_command(folder, folder / f"{recipe}-{way}", "text-generation", recipe, *options)
    method, model = program.load_method("forward"), eager(folder, way)
    # Programs with transformers' own cache of sliding windows take one token a call, and their cache ends with the
    # first window: transformers decides in Python, when the program is exported, whether it is full.
    fixed = method.metadata.input_tensor_meta(0).sizes()[1] == 1
    count = WINDOW - len(PROMPT) if fixed else COUNT
    tokens, seen = list(PROMPT), 0
    for _ in range(count):
        calls = [[token] for token in tokens[seen:]] if fixed else [tokens[seen:]]
        for unread in calls:
            places = torch.arange(seen, seen + len(unread))
            found = torch.as_tensor(method.execute([torch.tensor([unread]), places])[0])[0, -1]
            seen += len(unread)
        with torch.no_grad():
            wanted = model(torch.tensor([tokens])).logits[0, -1]
        if way == "8da4w":  # some activations are rounded the other way to int8
            assert float((found - wanted).norm() / wanted.norm()) < 0.05
        else:
            torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
        tokens.append(int(wanted.argmax()))


def main(folder: Path, architecture: str, *cells: str) -> int:
    failed = 0
    save(architecture, folder)
    for cell in cells or [f"{recipe}/{way}" for recipe in RECIPES for way in WAYS]:
        said, result = io.StringIO(), "passed"
        try:
            with contextlib.redirect_stderr(said):
                check(folder, *cell.split("/"))
        except Exception as error:
            failed += 1
            print(said.getvalue(), file=sys.stderr)
            traceback.print_exc()
            result = f"{type(error).__name__}: {error}"
        print(f"{architecture} {cell}: {result}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
