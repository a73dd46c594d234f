# SPDX-License-Identifier: BSD-3-Clause
"""Exports models that take pictures or sound in addition to text, from folders in Hugging Face's layout.

A program has several of these methods. Each line says what the method takes, and what it returns ("to"):

    token_embedding      int64 [1, tokens] to embeddings [1, tokens, dim]
    text_decoder         embeddings and the position of the first one, int64 [1], to logits; keeps the cache
    picture_decoder      the same, over the same cache, for a picture whose positions all see each other (Gemma 3), or
                         have rows and columns (Qwen2-VL); then with int64 [3]: the position of the picture, its rows
                         and its columns
    vision_encoder       float32 [1, channels, height, width], as the model's processor makes it, to embeddings;
                         Qwen2-VL: [patches, channels, patch, patch], and int64 [2], the rows and columns of positions
    vision_preprocessor  uint8 [channels, height, width], or uint8 patches, to what vision_encoder takes: scale, mean
                         and deviation
    audio_encoder        features [1, bins, frames] to embeddings
    audio_preprocessor   float32 [samples] to features [chunks, bins, frames]

Text is computed by `Transformer`, as for models of text alone; encoders are modules of transformers. `MultimodalRunner`
runs such programs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, ShapesCollection, export

from sdk.exir._serialize._regular_file import JSONFileError, read_json
from sdk.extension.audio.mel_spectrogram import WhisperAudioProcessor
from sdk.extension.llm.export.checkpoint import CheckpointError, hugging_face_args, hugging_face_weights, model_of
from sdk.extension.llm.export.part import Part
from sdk.extension.llm.export.pretrained import pretrained_model
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.export.vision import TILED, vision_methods
from sdk.extension.llm.export.vision_patches import PATCHED
from sdk.extension.llm.model.attention import ForwardOptions
from sdk.extension.llm.model.grid_positions import GridPositions
from sdk.extension.llm.model.transformer import Transformer

MODEL_TYPES = ("llava", "gemma3", *TILED, *PATCHED, "voxtral")
"""Values of `model_type` in a `config.json`."""
_SAMPLING_RATE = 16000
_LONGEST_SOUND = 600
"""Seconds of sound in a prompt."""


@dataclass(frozen=True)
class MultimodalModel:
    """A model before it is exported."""

    text: Transformer
    parts: dict[str, Part]
    metadata: dict[str, Any]
    """Methods without inputs: the token that marks a picture or sound in a prompt, and how pictures are scaled."""
    picture_positions: int = 0
    """The number of positions of a picture that see each other; 0 if each position sees only those before it."""

    def captured(self) -> dict[str, ExportedProgram]:
        """Exports each method with `torch.export`. Raises SettingsError if a picture does not fit into a call."""
        params = self.text.params
        if self.picture_positions > params.max_seq_len:
            raise SettingsError(
                f"export.max_seq_length: expected at least {self.picture_positions}, the positions of a picture, which "
                f"see each other, found {params.max_seq_len}"
            )
        tokens = torch.zeros(1, min(3, params.max_seq_len), dtype=torch.int64)
        count = Dim("tokens", min=1, max=params.max_seq_len) if params.max_seq_len > 1 else None
        embeddings = torch.zeros(1, tokens.shape[1], params.dim)
        first = torch.zeros(1, dtype=torch.int64)
        grid = GridPositions(params.max_context_len) if params.mrope_section is not None else None
        decoder = TextDecoder(self.text, grid=grid)
        with torch.no_grad():
            found = {
                "token_embedding": export(TokenEmbedding(self.text), (tokens,), dynamic_shapes=({1: count},)),
                "text_decoder": export(decoder, (embeddings, first), dynamic_shapes=({1: count}, None)),
            }
            if grid is not None:
                given = (embeddings, first, torch.tensor([0, 1, embeddings.shape[1]]))
                found["picture_decoder"] = export(
                    PictureDecoder(self.text, grid), given, dynamic_shapes=({1: count}, None, None)
                )
            if self.picture_positions:
                picture = torch.zeros(1, self.picture_positions, params.dim)
                found["picture_decoder"] = export(TextDecoder(self.text, bidirectional=True), (picture, first))
            for name, part in self.parts.items():
                shapes = ShapesCollection()
                if part.sizes is not None:
                    shapes[part.inputs[0]] = part.sizes
                # One chunk is treated like several, although torch.export makes size 1 a separate case.
                with torch.fx.experimental._config.patch(backed_size_oblivious=part.sizes is not None):
                    dynamic = shapes if part.sizes is not None else None
                    found[name] = export(part.module.eval(), part.inputs, dynamic_shapes=dynamic, strict=False)
        return found


class TokenEmbedding(nn.Module):
    """The embeddings of tokens."""

    def __init__(self, text: Transformer) -> None:
        super().__init__()
        self.text = text

    def forward(self, tokens: Tensor) -> Tensor:
        """Takes int64 [1, tokens] and returns [1, tokens, dim]."""
        return self.text.embed(tokens)


class TextDecoder(nn.Module):
    """The decoder over embeddings."""

    def __init__(self, text: Transformer, bidirectional: bool = False, grid: GridPositions | None = None) -> None:
        """`bidirectional`: whether the positions of a call see each other. `grid`: counts the positions of a model with
        M-RoPE."""
        super().__init__()
        self.text, self.bidirectional, self.grid = text, bidirectional, grid

    def forward(self, embeddings: Tensor, input_pos: Tensor) -> Tensor:
        """Takes [1, positions, dim] and the position of the first, int64 [1]. Returns logits."""
        options: ForwardOptions = {"input_pos": input_pos}
        if self.bidirectional:
            options["bidirectional"] = True
        if self.grid is not None:
            options["rotation_positions"] = self.grid.of_text(input_pos, embeddings.shape[1])
        logits: Tensor = self.text(None, options, embeddings)
        return logits


class PictureDecoder(nn.Module):
    """The decoder over the embeddings of a picture, or of a part of it, whose positions have rows and columns."""

    def __init__(self, text: Transformer, grid: GridPositions) -> None:
        super().__init__()
        self.text, self.grid = text, grid

    def forward(self, embeddings: Tensor, input_pos: Tensor, picture: Tensor) -> Tensor:
        """As `TextDecoder`; `picture`: see `GridPositions.of_picture`."""
        rotation = self.grid.of_picture(input_pos, embeddings.shape[1], picture)
        options: ForwardOptions = {"input_pos": input_pos, "rotation_positions": rotation}
        logits: Tensor = self.text(None, options, embeddings)
        return logits


class AudioEncoder(nn.Module):
    """The audio tower and projector of a model of transformers."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model: Any = model

    def forward(self, features: Tensor) -> Tensor:
        """Takes [1, bins, frames] and returns [1, positions, dim]."""
        found: Tensor = self.model.get_audio_features(features, return_dict=True).pooler_output
        return found[None]


def is_multimodal(checkpoint: str | None) -> bool:
    """Whether a checkpoint is a folder with a model that this module exports."""
    config = Path(checkpoint or "") / "config.json"
    if not checkpoint or not config.is_file():
        return False
    try:
        found = read_json(config)
    except JSONFileError:
        return False  # reading it as a text model reports the error
    return isinstance(found, dict) and found.get("model_type") in MODEL_TYPES


def load_multimodal(folder: Path, overrides: dict[str, Any]) -> MultimodalModel:
    """The model of a folder; `overrides` are fields of `ModelArgs`.

    Raises CheckpointError for files that cannot be used, SettingsError where transformers is missing.
    """
    theirs = pretrained_model(
        "AutoModelForMultimodalLM", folder, "a model with pictures or sound", attn_implementation="sdpa"
    )
    config, text = theirs.config, text_of(theirs, overrides)
    parts: dict[str, Part] = {}
    metadata: dict[str, Any] = {}
    if getattr(config, "vision_config", None) is not None:
        methods, picture = vision_methods(theirs, folder, text.params)
        parts.update(methods)
        metadata["get_image_token_id"] = config.image_token_id
        if picture:
            metadata["get_image_processor"] = json.dumps(picture)
    if getattr(config, "audio_config", None) is not None:
        parts.update(_audio(theirs))
        metadata["get_audio_token_id"] = config.audio_token_id
    positions = config.mm_tokens_per_image if config.model_type == "gemma3" else 0
    return MultimodalModel(text, parts, metadata, positions)


def text_of(theirs: Any, overrides: dict[str, Any]) -> Transformer:
    """The decoder of a model of transformers."""
    text = theirs.config.text_config.to_dict()
    if theirs.config.model_type in PATCHED:
        # The decoder is that of Qwen 2 with M-RoPE, which folders of the hub describe as a type of RoPE.
        rope = {name: value for name, value in text["rope_parameters"].items() if (name, value) != ("type", "mrope")}
        overrides = {**overrides, "mrope_section": rope.pop("mrope_section", [16, 24, 24])}
        text["model_type"], text["rope_parameters"] = "qwen2", rope
    args = hugging_face_args(text, **overrides)
    decoder = theirs.model.text_model if theirs.config.model_type in TILED else theirs.model.language_model
    named = {f"model.{name}": value for name, value in decoder.state_dict().items()}
    named["lm_head.weight"] = theirs.lm_head.weight
    return model_of(args, hugging_face_weights(named.items(), text["model_type"], args))


def _audio(theirs: Any) -> dict[str, Part]:
    audio = theirs.config.audio_config
    frames = 2 * audio.max_source_positions
    seconds, rest = divmod(frames, 100)
    if rest != 0:
        raise CheckpointError(f"max_source_positions is {audio.max_source_positions}; expected a multiple of 50")
    front = WhisperAudioProcessor(
        feature_size=audio.num_mel_bins, chunk_length=seconds, max_audio_len=_LONGEST_SOUND, stack_output=True
    )
    samples = torch.zeros(front.n_samples + front.hop_length)
    most = _LONGEST_SOUND * _SAMPLING_RATE
    return {
        "audio_encoder": Part(AudioEncoder(theirs), (torch.zeros(1, audio.num_mel_bins, frames),)),
        "audio_preprocessor": Part(front, (samples,), {0: Dim("samples", min=front.n_fft, max=most)}),
    }
