# SPDX-License-Identifier: BSD-3-Clause
"""Makes programs for `AsrRunner` from folders with Whisper's weights in Hugging Face's layout. Their methods:

preprocessor  takes at most one window of sound, float32 [samples], and returns features [1, bins, frames]
encoder       takes the features and returns the keys and values of the sound for each layer of the decoder,
float32 [1, positions, heads, head_dim]
text_decoder  takes tokens, int64 [1, n], these keys and values, and the position of the first token, int64 [1];
returns the logits [1, vocabulary] of the token after them. Caches the keys and values of the tokens.

If the folder names alignment heads, whose attention shows when a token is spoken, `text_decoder` also returns the
queries of these heads, float32 [heads, n, head_dim], and there is one more method:

alignment     takes the queries of all tokens and the encoder's results, and returns the attention of these heads,
float32 [heads, n, positions]
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, ShapesCollection, export

from sdk.backends.registry import Backend
from sdk.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge_transform_and_lower
from sdk.exir._serialize._regular_file import read_file
from sdk.exir.passes.memory_planning_pass import MemoryPlanningPass
from sdk.extension.audio.mel_spectrogram import WhisperAudioProcessor
from sdk.extension.llm.custom_ops import custom_ops  # noqa: F401, registers torch.ops.llama
from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.llm.export.pretrained import pretrained_model
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.export.tokenizer.data import tokenizer_data
from sdk.extension.llm.model.custom_kv_cache import CustomKVCache

_FRAMES_OF_SECOND = 100
_PROMPT = 8
"""The largest number of tokens in a call of the decoder. The first call has the tokens for start, language, task
and timestamps."""


class Encoder(nn.Module):
    """Computes from features the keys and values that the decoder's layers attend to."""

    def __init__(self, whisper: Any) -> None:
        super().__init__()
        self.encoder = whisper.model.encoder
        self.layers = nn.ModuleList([layer.encoder_attn for layer in whisper.model.decoder.layers])

    def forward(self, features: Tensor) -> list[Tensor]:
        """Takes [1, bins, frames] and returns the keys and values of each layer in sequence."""
        states = self.encoder(features).last_hidden_state
        found = []
        for layer in self.layers:
            for projection in (layer.k_proj, layer.v_proj):
                found.append(projection(states).unflatten(-1, (layer.num_heads, layer.head_dim)))
        return found


class Decoder(nn.Module):
    """The decoder with a cache. `heads`: the alignment heads of each layer."""

    def __init__(self, whisper: Any, heads: dict[int, list[int]]) -> None:
        super().__init__()
        self.heads = heads
        decoder = whisper.model.decoder
        self.tokens, self.layers, self.norm = decoder.embed_tokens, decoder.layers, decoder.layer_norm
        self.positions, self.output = decoder.embed_positions.weight, whisper.proj_out
        self.most = decoder.max_target_positions
        attention = decoder.layers[0].self_attn
        self.caches = nn.ModuleList(
            [CustomKVCache(1, self.most, attention.num_heads, attention.head_dim) for _ in self.layers]
        )

    def forward(self, tokens: Tensor, encoded: list[Tensor], position: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Takes int64 [1, n], the encoder's results and int64 [1]; returns logits [1, vocabulary], and the queries of
        the alignment heads if there are any."""
        start: Any = position[0].item()
        torch._check(start >= 0)
        torch._check(start + tokens.shape[1] <= self.most)
        x = self.tokens(tokens) + self.positions[position + torch.arange(tokens.shape[1])]
        queries = []
        for i, layer in enumerate(self.layers):
            x = x + self._self_attention(layer, self.caches[i], start, layer.self_attn_layer_norm(x))
            q = _heads(layer.encoder_attn, "q_proj", layer.encoder_attn_layer_norm(x))
            queries += [q[0, :, head] for head in self.heads.get(i, [])]
            x = x + _cross_attention(layer.encoder_attn, q, *encoded[2 * i : 2 * i + 2])
            x = x + layer.fc2(layer.activation_fn(layer.fc1(layer.final_layer_norm(x))))
        logits: Tensor = self.output(self.norm(x[:, -1]))
        return (logits, torch.stack(queries)) if queries else logits

    def _self_attention(self, layer: Any, cache: nn.Module, start: int, x: Tensor) -> Tensor:
        attention, keys_and_values = layer.self_attn, cache
        q, k, v = (_heads(attention, name, x) for name in ("q_proj", "k_proj", "v_proj"))
        keys_and_values.write(start, k, v)
        y = keys_and_values.attend(q, start, None, attention.scaling)
        return _out(attention, y)


def _heads(attention: Any, name: str, x: Tensor) -> Tensor:
    found: Tensor = getattr(attention, name)(x).unflatten(-1, (attention.num_heads, attention.head_dim))
    return found


def _out(attention: Any, y: Tensor) -> Tensor:
    found: Tensor = attention.out_proj(y.flatten(2))
    return found


class Alignment(nn.Module):
    """The attention of the alignment heads of each layer."""

    def __init__(self, whisper: Any, heads: dict[int, list[int]]) -> None:
        super().__init__()
        self.heads = heads
        self.scaling = whisper.model.decoder.layers[0].encoder_attn.scaling

    def forward(self, queries: Tensor, encoded: list[Tensor]) -> Tensor:
        """Takes [heads, n, head_dim] and the encoder's results; returns [heads, n, positions]."""
        keys = [encoded[2 * layer][0, :, head] for layer, heads in self.heads.items() for head in heads]
        scores = torch.bmm(queries * self.scaling, torch.stack(keys).transpose(1, 2))
        return torch.softmax(scores, dim=-1)


def alignment_heads(whisper: Any) -> dict[int, list[int]]:
    """The heads of each layer whose attention shows when a token is spoken; {} if the folder names none. Raises
    CheckpointError for heads that the model does not have."""
    found: dict[int, list[int]] = {}
    layers, heads = whisper.config.decoder_layers, whisper.config.decoder_attention_heads
    named = getattr(whisper.generation_config, "alignment_heads", None) or []
    if not isinstance(named, list | tuple) or not all(
        isinstance(pair, list | tuple) and [type(i) for i in pair] == [int, int] for pair in named
    ):
        raise CheckpointError(f"generation_config.json: alignment_heads is {named}; expected pairs of layer and head")
    for layer, head in sorted(map(tuple, named)):
        if not (0 <= layer < layers and 0 <= head < heads):
            raise CheckpointError(
                f"generation_config.json: alignment_heads has head {head} of layer {layer}; the decoder has {layers} "
                f"layers of {heads} heads"
            )
        found.setdefault(layer, []).append(head)
    return found


def _cross_attention(attention: Any, q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attention of all tokens to all positions of the sound."""
    first = keys.shape[1] - q.shape[1]  # query i of the operator attends to positions 0 to first + i
    y = torch.ops.llama.custom_sdpa(q, keys, values, first, None, 0.0, False, attention.scaling)
    return _out(attention, y)


def load_whisper(folder: Path) -> Any:
    """The model of a folder with `config.json` and safetensors files. Raises CheckpointError for one that cannot be
    used, SettingsError where transformers is missing."""
    return pretrained_model("WhisperForConditionalGeneration", folder, "exporting Whisper")


def capture_whisper(whisper: Any) -> dict[str, ExportedProgram]:
    """Exports each method with `torch.export`."""
    config = whisper.config
    frames = 2 * config.max_source_positions
    if frames % _FRAMES_OF_SECOND:
        raise CheckpointError(f"max_source_positions is {config.max_source_positions}; expected a multiple of 50")
    front = WhisperAudioProcessor(feature_size=config.num_mel_bins, chunk_length=frames // _FRAMES_OF_SECOND).eval()
    samples = torch.zeros(front.n_samples - front.hop_length)
    shapes = ShapesCollection()
    shapes[samples] = {0: Dim("samples", min=front.n_fft, max=front.n_samples)}
    features = torch.zeros(1, config.num_mel_bins, frames)
    heads = alignment_heads(whisper)
    encoder, decoder = Encoder(whisper).eval(), Decoder(whisper, heads).eval()
    with torch.no_grad():
        encoded = encoder(features)
        tokens, position = torch.zeros(1, 3, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
        count = {1: Dim("tokens", min=1, max=_PROMPT)}
        # One chunk is treated like several, although torch.export makes size 1 a separate case.
        with torch.fx.experimental._config.patch(backed_size_oblivious=True):
            preprocessor = export(front, (samples,), dynamic_shapes=shapes, strict=False)
        found = {
            "preprocessor": preprocessor,
            "encoder": export(encoder, (features,), strict=False),
            "text_decoder": export(
                decoder,
                (tokens, encoded, position),
                dynamic_shapes=(count, [None] * len(encoded), None),
                strict=False,
            ),
        }
        if heads:
            found["alignment"] = _captured_alignment(whisper, heads, encoded)
        return found


def _captured_alignment(whisper: Any, heads: dict[int, list[int]], encoded: list[Tensor]) -> ExportedProgram:
    queries = torch.zeros(sum(map(len, heads.values())), 3, encoded[0].shape[-1])
    count = {1: Dim("tokens", min=1, max=whisper.config.max_target_positions)}
    shapes = (count, [None] * len(encoded))
    return export(Alignment(whisper, heads).eval(), (queries, encoded), dynamic_shapes=shapes, strict=False)


def metadata_of(whisper: Any, language: str = "en", task: str = "transcribe") -> dict[str, Any]:
    """The values of constant methods by name: the tokens of `Seq2SeqTranscribeConfig`. Empty lists are left out.

    `language` and `task` ("transcribe" or "translate", into English) apply to models of several languages. Raises
    SettingsError for a language or task that the model does not support.
    """
    settings = whisper.generation_config
    start, ends = settings.decoder_start_token_id, settings.eos_token_id
    silent = getattr(settings, "no_timestamps_token_id", None)
    prompt = [] if silent is None else [silent]
    languages: list[int] = []
    if getattr(settings, "is_multilingual", False):
        prompt = [_known(settings, "lang_to_id", f"<|{language}|>"), _known(settings, "task_to_id", task), *prompt]
        languages = sorted(settings.lang_to_id.values())
    lists = {
        "get_eos_ids": ends if isinstance(ends, list) else [ends],
        "get_decoder_prompt_ids": prompt,
        "get_suppress_tokens": settings.suppress_tokens or [],
        "get_begin_suppress_tokens": settings.begin_suppress_tokens or [],
        "get_language_token_ids": languages,
    }
    found: dict[str, Any] = {name: value for name, value in lists.items() if value}
    found["get_decoder_start_token_id"] = whisper.config.decoder_start_token_id if start is None else start
    found["get_vocab_size"] = whisper.config.vocab_size
    found["get_sampling_rate"] = 16000
    found["get_max_context_len"] = whisper.config.max_target_positions
    return found | _timestamps(whisper, found["get_eos_ids"], silent)


def _timestamps(whisper: Any, ends: list[int], silent: int | None) -> dict[str, int]:
    """Returns the tokens of timestamps, which follow the token for no timestamps; {} if the model has none."""
    if silent is None or not max(ends) < silent < whisper.config.vocab_size - 1:
        return {}
    found = {"get_timestamp_begin": silent + 1, "get_no_timestamps_token_id": silent}
    found["get_timestamp_step"] = 2 * 160  # samples for each position of the encoder, which covers two frames
    if alignment_heads(whisper):
        found["get_median_filter_width"] = whisper.config.median_filter_width
    latest = getattr(whisper.generation_config, "max_initial_timestamp_index", None)
    return found if latest is None else found | {"get_max_initial_timestamp": latest}


def _known(settings: Any, table: str, name: str) -> int:
    ids = getattr(settings, table, None) or {}
    if name not in ids:
        raise SettingsError(f"the model does not support {name}; it supports {', '.join(sorted(ids)) or 'none'}")
    return int(ids[name])


def export_whisper(
    folder: Path, backend: Backend | None = None, language: str = "en", task: str = "transcribe"
) -> ExecutorchProgramManager:
    """The program of the model in a folder, with its tokenizer inside. `backend`: gets the layers. `language` and
    `task`: see `metadata_of`."""
    whisper = load_whisper(folder)
    metadata = metadata_of(whisper, language, task)
    tokenizer = tokenizer_data(str(folder), None)
    partitioners = [] if backend is None else [backend.find("partitioner")()]
    edge = to_edge_transform_and_lower(capture_whisper(whisper), partitioner=partitioners, constant_methods=metadata)
    # Inputs are the caller's memory: the decoder gets all keys and values of the sound for each token.
    planning = MemoryPlanningPass(alloc_graph_input=False)
    return edge.to_executorch(ExecutorchBackendConfig(named_data=tokenizer.named_data, memory_planning_pass=planning))


def is_whisper(folder: Path) -> bool:
    """Whether a folder has the `config.json` of a Whisper model."""
    try:
        found = json.loads(read_file(folder / "config.json"))
    except (OSError, json.JSONDecodeError):
        return False
    return isinstance(found, dict) and found.get("model_type") == "whisper"
