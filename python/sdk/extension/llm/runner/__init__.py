# SPDX-License-Identifier: BSD-3-Clause
"""Runs language models.

    runner = TextLLMRunner("model.pte", "tokenizer.json")
    config = GenerationConfig(max_new_tokens=100, temperature=0.7, echo=False)
    runner.generate("Once upon a time", config, lambda piece: print(piece, end="", flush=True))

A `MultimodalRunner` also takes pictures and sound, as parts of a prompt:

    runner.generate([make_text_input("What is this? "), make_image_input(picture)], config, print)

A `TextEmbedder` turns texts into vectors that say how alike their meanings are.

A runner keeps the conversation: a next prompt continues it, `reset()` begins another. One call at a time; `stop()` may
come from any thread. Errors are `ExecuTorchError`, a RuntimeError.
"""

from __future__ import annotations

from sdk.extension.llm.runner._hugging_face import generate_hf, generate_text_hf
from sdk.extension.llm.runner._llm_runner import (
    Audio,
    ChatTemplate,
    DecodeResult,
    GenerationConfig,
    Image,
    LLMSession,
    MultimodalInput,
    MultimodalRunner,
    RawAudio,
    Sampler,
    SamplingConfig,
    Stats,
    TextEmbedder,
    TextLLMEngine,
    TextLLMRunner,
    make_audio_input,
    make_image_input,
    make_raw_audio_input,
    make_text_input,
    make_token_input,
    parse_tool_calls,
    read_wav,
    tool_call_format,
)

__all__ = [
    "Audio",
    "ChatTemplate",
    "DecodeResult",
    "GenerationConfig",
    "Image",
    "LLMSession",
    "MultimodalInput",
    "MultimodalRunner",
    "RawAudio",
    "Sampler",
    "SamplingConfig",
    "Stats",
    "TextEmbedder",
    "TextLLMEngine",
    "TextLLMRunner",
    "generate_hf",
    "generate_text_hf",
    "make_audio_input",
    "make_image_input",
    "make_raw_audio_input",
    "make_text_input",
    "make_token_input",
    "parse_tool_calls",
    "read_wav",
    "tool_call_format",
]
