# SPDX-License-Identifier: BSD-3-Clause
"""Language models on the device against eager PyTorch: one delegate with the cache, in float32 and float16, with any
number of tokens."""

from __future__ import annotations

import copy
from typing import Any

import lowered
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import sdk.extension.llm.custom_ops.custom_ops  # noqa: F401 - registers llama's operators
from sdk.examples.models.llama.llama_transformer import construct_transformer
from sdk.examples.models.llama.model_args import ModelArgs
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from sdk.runtime import Runtime

HALF = pytest.mark.parametrize("half", [False, True], ids=["float", "half"])


def loaded(model: nn.Module, inputs: tuple[Any, ...], dynamic: Any = None, **options: Any) -> Any:
    """The method of a model of which every call is in one delegate."""
    program = lowered.lower(model, inputs, dynamic, compile_options=options)
    assert not lowered.left(program)
    assert len(get_lowered_backend_modules(program.exported_program().graph_module)) == 1
    return Runtime.get().load_program(program.to_executorch().buffer).load_method("forward")


def near(found: Tensor, expected: Tensor, half: bool) -> None:
    """The largest difference is small beside the largest number."""
    assert found.shape == expected.shape and found.dtype == expected.dtype
    allowed = (3e-2 if half else 1e-4) * float(expected.abs().max())
    assert float((found - expected).abs().max()) <= allowed


class Decoder(nn.Module):
    """A small llama with its cache."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        sizes = {"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 96, "hidden_dim": 96}
        self.transformer = construct_transformer(
            ModelArgs(**sizes, max_seq_len=24, max_context_len=24, use_kv_cache=True, **options)
        )

    def forward(self, tokens: Tensor, input_pos: Tensor) -> Tensor:
        found: Tensor = self.transformer(tokens, {"input_pos": input_pos})
        return found


@HALF
@pytest.mark.parametrize("operator", [False, True], ids=["index_put", "custom_sdpa"])
@pytest.mark.parametrize("hf", [False, True], ids=["pairs", "halves"])
def test_decoder(operator: bool, half: bool, hf: bool) -> None:
    """VK-19: prefill, single tokens, and a second sequence: the caches are the delegate's own state."""
    torch.manual_seed(0)
    model = Decoder(use_sdpa_with_kv_cache_op=operator, use_hf_rope=hf).eval()
    eager = copy.deepcopy(model)
    tokens = torch.randint(0, 96, (1, 20), generator=torch.Generator().manual_seed(1))
    dynamic = {"tokens": {1: Dim("tokens", min=1, max=23)}, "input_pos": None}
    method = loaded(model, (tokens[:, :5], torch.tensor([0])), dynamic, force_fp16=half)
    for start, count in [(0, 7), (7, 1), (8, 1), (9, 4), (13, 1), (0, 20), (0, 1), (1, 1)]:
        inputs = tokens[:, start : start + count], torch.tensor([start])
        with torch.no_grad():
            near(method.execute(list(inputs))[0], eager(*inputs), half)
