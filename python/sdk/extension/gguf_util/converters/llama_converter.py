# SPDX-License-Identifier: BSD-3-Clause
"""Llama, and the other architectures whose GGUF files `sdk.extension.llm.export.checkpoint` reads."""

from __future__ import annotations

from sdk.extension.gguf_util.load_gguf import GGUFModelArgs, GGUFWeights
from sdk.extension.llm.export.config.llm_config import LlmConfig


def convert_to_pte(gguf_model_args: GGUFModelArgs, gguf_weights: GGUFWeights) -> bytes:
    """Makes the program of a file, with a key-value cache and otherwise the default settings of `LlmConfig`.

    Raises ValueError for weights that do not come from `load_file`, or hyperparameters of another model.
    """
    file = gguf_weights.file
    if file is None:
        raise ValueError("expected the weights that load_file gives, which name their file")
    from sdk.extension.llm.export.exporter import export_program

    config = LlmConfig()
    config.base.checkpoint, config.model.use_kv_cache = str(file.path), True
    model, _, program = export_program(config)
    sizes = (model.params.dim, model.params.n_layers, model.params.hidden_dim, model.params.vocab_size)
    named = gguf_model_args
    expected = (named.embedding_length, named.block_count, named.feed_forward_length, named.vocab_size)
    if sizes != expected:
        raise ValueError(f"the hyperparameters are of another model: expected {sizes}, found {expected}")
    assert program is not None
    return program.buffer
