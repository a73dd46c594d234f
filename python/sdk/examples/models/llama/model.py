# SPDX-License-Identifier: BSD-3-Clause
"""The language model that the settings describe, with the interface of the example models."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from sdk.examples.models.model_base import EagerModelBase
from sdk.extension.llm.export.config.llm_config import LlmConfig
from sdk.extension.llm.export.exporter import change_caches, overrides_of
from sdk.extension.llm.export.load import load
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.transformer import construct_transformer


class Llama2Model(EagerModelBase):
    """A decoder with the weights of `base.checkpoint`, or with random ones, and with the caches of the settings.

    Raises what `sdk.extension.llm.export.load.load` raises.
    """

    def __init__(self, llm_config: LlmConfig | None = None) -> None:
        super().__init__()
        self.llm_config = llm_config or LlmConfig()
        base, model, export = self.llm_config.base, self.llm_config.model, self.llm_config.export
        self.use_kv_cache, self.enable_dynamic_shape = model.use_kv_cache, model.enable_dynamic_shape
        self.use_sdpa_with_kv_cache_op = model.use_sdpa_with_kv_cache
        self.generate_full_logits, self.verbose = (
            self.llm_config.debug.generate_full_logits,
            self.llm_config.debug.verbose,
        )
        self.max_seq_len, self.max_context_len = export.max_seq_length, export.max_context_length
        overrides = overrides_of(self.llm_config)
        if base.checkpoint is None and base.params is None:
            self.model_ = construct_transformer(ModelArgs(**overrides))
        else:
            self.model_ = load(self.llm_config, overrides)
        change_caches(self.model_, self.llm_config)

    def get_eager_model(self) -> nn.Module:
        """The model."""
        return self.model_

    def get_example_inputs(self) -> tuple[Any, ...]:
        """Tokens, int64 [1, tokens], and with a cache the position of the first one."""
        if self.use_kv_cache:
            return self.get_example_inputs_kvcache_sdpa()
        # `torch.export` treats a call of the longest length as a call of that length only.
        tokens = max(3, self.max_seq_len) - (1 if self.enable_dynamic_shape else 0)
        return (torch.arange(tokens)[None] % self.model_.params.vocab_size,)

    def get_example_inputs_kvcache_sdpa(self) -> tuple[Any, ...]:
        """Tokens and the position of the first one: three tokens if a call takes any number, else one."""
        tokens = [[2, 3, 4]] if self.enable_dynamic_shape else [[1]]
        return torch.tensor(tokens), {"input_pos": torch.tensor([0])}
