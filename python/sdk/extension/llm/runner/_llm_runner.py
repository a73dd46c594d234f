# SPDX-License-Identifier: BSD-3-Clause
"""The C++ classes, which are part of the extension module with the kernels and backends that programs run on."""

from __future__ import annotations

from typing import Any

import sdk.extension.pybindings.portable_lib as portable_lib

_module: Any = getattr(portable_lib._portable_lib, "_llm_runner", None)
if _module is None:
    raise ImportError(
        "this build has no runner for language models: build it with EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON, or "
        "install the package with `pip install .` from the root of its sources"
    )

Audio = _module.Audio
ChatTemplate = _module.ChatTemplate
DecodeResult = _module.DecodeResult
GenerationConfig = _module.GenerationConfig
Image = _module.Image
LLMSession = _module.LLMSession
MultimodalInput = _module.MultimodalInput
MultimodalRunner = _module.MultimodalRunner
RawAudio = _module.RawAudio
Sampler = _module.Sampler
SamplingConfig = _module.SamplingConfig
Stats = _module.Stats
TextEmbedder = _module.TextEmbedder
TextLLMEngine = _module.TextLLMEngine
TextLLMRunner = _module.TextLLMRunner
make_audio_input = _module.make_audio_input
make_image_input = _module.make_image_input
make_raw_audio_input = _module.make_raw_audio_input
make_text_input = _module.make_text_input
make_token_input = _module.make_token_input
parse_tool_calls = _module.parse_tool_calls
read_wav = _module.read_wav
tool_call_format = _module.tool_call_format
