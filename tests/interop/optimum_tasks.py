# SPDX-License-Identifier: BSD-3-Clause
"""Exports a small model of another task than text generation by Optimum's command, and compares the program with eager.

Usage: ``python optimum_tasks.py FOLDER MODEL RECIPE``, with a name of `MODELS`, in the environment of Optimum.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from interop.optimum_matrix import export_by_command
from sdk.runtime import Program

LONGEST = 32
_BERT: dict[str, Any] = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}


def _bert() -> Any:
    return transformers.BertForMaskedLM(transformers.BertConfig(**_BERT, max_position_embeddings=24))


def _roberta() -> Any:
    return transformers.RobertaForMaskedLM(transformers.RobertaConfig(**_BERT, max_position_embeddings=26))


def _vit() -> Any:
    sizes = {key: value for key, value in _BERT.items() if key != "vocab_size"}
    return transformers.ViTForImageClassification(
        transformers.ViTConfig(**sizes, image_size=16, patch_size=4, num_labels=7)
    )


def _whisper() -> Any:
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
    sizes |= {"encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "d_model": 32, "num_mel_bins": 16, "vocab_size": 96}
    positions = {"max_source_positions": 50, "max_target_positions": LONGEST}
    tokens = {"decoder_start_token_id": 3, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    return transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(**sizes, **positions, **tokens))


def _called(program: Program, name: str, *inputs: torch.Tensor) -> torch.Tensor:
    method = program.load_method(name)
    return torch.as_tensor(method.execute(list(inputs))[0])


def _check_bert(model: Any, program: Program) -> None:
    tokens, mask = torch.arange(3, 23)[None], torch.ones(1, 20, dtype=torch.int64)
    for seen in (20, 17):  # the last tokens are padding
        mask[0, seen:] = 0
        wanted = model(input_ids=tokens, attention_mask=mask).logits
        torch.testing.assert_close(_called(program, "forward", tokens, mask), wanted, atol=1e-4, rtol=1e-4)


def _check_vit(model: Any, program: Program) -> None:
    pixels = torch.randn(1, 3, 16, 16)
    wanted = model(pixel_values=pixels).logits
    torch.testing.assert_close(_called(program, "forward", pixels), wanted, atol=1e-4, rtol=1e-4)


def _check_whisper(model: Any, program: Program) -> None:
    """The encoder's states, and the decoder's logits, token after token."""
    features = torch.randn(1, 16, 100)
    states = _called(program, "encoder", features)
    torch.testing.assert_close(states, model.get_encoder()(features).last_hidden_state, atol=1e-4, rtol=1e-4)
    decoder, tokens = program.load_method("text_decoder"), [3]
    for place in range(6):
        given = [torch.tensor([tokens[-1:]]), states, torch.tensor([place])]
        found = torch.as_tensor(decoder.execute(given)[0])[0, -1]
        wanted = model(input_features=features, decoder_input_ids=torch.tensor([tokens])).logits[0, -1]
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
        tokens.append(int(wanted.argmax()))


MODELS: dict[str, tuple[str, Callable[[], Any], Callable[[Any, Program], None]]] = {
    "bert": ("fill-mask", _bert, _check_bert),
    "roberta": ("fill-mask", _roberta, _check_bert),
    "vit": ("image-classification", _vit, _check_vit),
    "whisper": ("automatic-speech-recognition", _whisper, _check_whisper),
}


def main(folder: Path, name: str, recipe: str) -> None:
    task, build, check = MODELS[name]
    torch.manual_seed(0)
    model = build().eval()
    model.save_pretrained(folder)
    if name == "whisper":
        extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=1)
        transformers.WhisperProcessor(extractor, transformers.WhisperTokenizer()).save_pretrained(folder)
    options = ["--max_seq_len", str(LONGEST)] if name == "whisper" else []
    program = export_by_command(folder, folder / "output", task, recipe, *options)
    with torch.no_grad():
        check(model, program)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
