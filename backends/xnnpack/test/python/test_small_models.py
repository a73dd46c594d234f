# SPDX-License-Identifier: BSD-3-Clause
"""Small transformers with random weights, lowered to XNNPACK in one part and in many, give the results of eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from torch import nn
from torch.export import ExportedProgram, export

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.utils import get_delegated_payload
from sdk.runtime import Runtime

TOKENS = (torch.arange(9).mul(37).remainder(100).reshape(1, 9),)
IMAGE = (torch.linspace(-1, 1, 3 * 32 * 32).mul(5).sin().reshape(1, 3, 32, 32),)

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
TEXT = {
    **SIZES,
    "vocab_size": 100,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {**TEXT, "num_key_value_heads": 2}
VISION = {**SIZES, "image_size": 32, "patch_size": 8}
GPT2 = {"n_layer": 2, "n_embd": 32, "n_head": 4, "vocab_size": 100, "n_positions": 64}

MODELS: dict[str, dict[str, Any]] = {
    "GPT2LMHeadModel": GPT2,
    "GPTNeoXForCausalLM": TEXT,
    "LlamaForCausalLM": GROUPED,
    "MistralForCausalLM": {**GROUPED, "sliding_window": 4},
    "Qwen3ForCausalLM": {**GROUPED, "head_dim": 8},
    "Gemma2ForCausalLM": {**GROUPED, "head_dim": 8, "sliding_window": 4},
    "Phi3ForCausalLM": GROUPED,
    "MambaForCausalLM": {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 100, "state_size": 4},
    "BertForMaskedLM": TEXT,
    "DebertaV2Model": TEXT,
    "T5EncoderModel": {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 100},
    "ViTModel": VISION,
    "BeitModel": VISION,
    "SwinModel": {
        "image_size": 32,
        "patch_size": 2,
        "embed_dim": 16,
        "depths": [2, 2],
        "num_heads": [2, 4],
        "window_size": 4,
    },
}


class FirstOutput(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.model(x)[0]
        return found


def make(name: str) -> tuple[nn.Module, tuple[torch.Tensor, ...], ExportedProgram]:
    cls = getattr(transformers, name)
    config = cls.config_class(**MODELS[name])
    config.use_cache = False
    torch.manual_seed(0)
    model = FirstOutput(cls(config)).eval()
    inputs = IMAGE if "Model" in name and hasattr(config, "image_size") else TOKENS
    return model, inputs, export(model, inputs, strict=False)


def check(name: str, per_op_mode: bool) -> int:
    """Compares with eager; returns the number of delegates."""
    model, inputs, program = make(name)
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner(per_op_mode=per_op_mode)])
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    with torch.no_grad():
        expected = model(*inputs)
    found = torch.as_tensor(method.execute(inputs)[0])
    # Functions are approximated to a few units in the last place, and sums have another order.
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5 * float(expected.abs().max()))
    return len(get_delegated_payload(lowered.exported_program().graph_module))


@pytest.mark.sampled
@pytest.mark.parametrize("name", MODELS)
def test_model(name: str) -> None:
    """XNN-02: GPT-2's linear layers are an addmm and a view, whose parts attention reads in place."""
    assert check(name, per_op_mode=False)


@pytest.mark.parametrize("name", ["GPT2LMHeadModel", "GPTNeoXForCausalLM"])
def test_model_in_many_parts(name: str) -> None:
    """XNN-02, per_op_mode: a delegate that computes a tensor which is split returns the parts, too."""
    assert check(name, per_op_mode=True) > 20
