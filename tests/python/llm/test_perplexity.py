# SPDX-License-Identifier: BSD-3-Clause
"""The cost of quantisation for a real model: perplexity of SmolLM2 on the documentation of installed packages."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
from language_models import dequantised
from torch import Tensor

from bench.llm_files import gguf_of
from sdk.extension.llm.export.exporter import export_program, make_model
from sdk.extension.llm.export.settings import read_settings
from sdk.runtime import Runtime

pytestmark = pytest.mark.slow
WINDOW, WINDOWS = 256, 8
SETTINGS = [
    "model.use_kv_cache=true",
    "model.use_sdpa_with_kv_cache=true",
    "debug.generate_full_logits=true",
    f"export.max_seq_length={WINDOW}",
    f"export.max_context_length={WINDOW}",
]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return gguf_of("smollm2-135m", tmp_path_factory.mktemp("smollm2"))


@pytest.fixture(scope="module")
def text(file: Path) -> Tensor:
    """int64 [WINDOWS, WINDOW]: the tokens of docstrings."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    fields = gguf.GGUFReader(file).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    modules = [torch.nn.Transformer, torch.nn.LSTM, torch.nn.Conv2d, torch.nn.CTCLoss, torch.optim.Optimizer, torch.fft]
    words = "\n".join(str(module.__doc__) for module in [*modules, torch.nn.functional.scaled_dot_product_attention])
    ids = tokenizer.encode(words).ids
    assert len(ids) >= WINDOW * WINDOWS, len(ids)
    return torch.tensor(ids[: WINDOW * WINDOWS]).view(WINDOWS, WINDOW)


def perplexity(call: Any, text: Tensor) -> float:
    total = 0.0
    with torch.no_grad():
        for window in text:
            logits = call(window[None], torch.tensor([0]))[0]
            total += float(torch.nn.functional.cross_entropy(logits[:-1], window[1:], reduction="sum"))
    return math.exp(total / (text.shape[0] * (text.shape[1] - 1)))


def of_program(settings: list[str], text: Tensor) -> float:
    _, _, program = export_program(read_settings(None, settings))
    assert program is not None
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    return perplexity(lambda tokens, at: method.execute([tokens, at])[0], text)


def of_model(model: Any, text: Tensor) -> float:
    return perplexity(lambda tokens, at: model(tokens, {"input_pos": at}), text)


def test_gguf_blocks_cost_nothing(file: Path, text: Tensor):
    """The perplexity is within 1 % of that of dequantised weights in float32; the only difference is int8
    activations."""
    exact = of_model(dequantised(file, WINDOW), text)
    found = of_program([f"base.checkpoint={file}", *SETTINGS], text)
    print(f"perplexity: dequantised {exact:.4f}, program {found:.4f}, {found / exact - 1:+.3%}")
    assert abs(found / exact - 1) < 0.01


def test_8da4w_is_that_of_torchao(file: Path, text: Tensor, tmp_path: Path):
    """LE-11: within 1 % of torchao's eager mode, which quantises the dequantised weights the same way."""
    import json

    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_

    model = dequantised(file, WINDOW)
    torch.save(dict(model.named_parameters()), tmp_path / "model.pth")
    fields = {name: getattr(model.params, name) for name in ("dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size")}
    fields |= {name: getattr(model.params, name) for name in ("hidden_dim", "norm_eps", "rope_theta")}
    (tmp_path / "params.json").write_text(json.dumps(fields))
    files = [f"base.checkpoint={tmp_path / 'model.pth'}", f"base.params={tmp_path / 'params.json'}"]
    found = of_program([*files, *SETTINGS, "quantization.qmode=8da4w"], text)
    how: Any = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(32), intx_choose_qparams_algorithm="hqq_scale_only"
    )
    quantize_(model, how)
    exact = of_model(model, text)
    print(f"perplexity of 8da4w: torchao {exact:.4f}, program {found:.4f}, {found / exact - 1:+.3%}")
    assert abs(found / exact - 1) < 0.01


def test_settings_give_the_same_model(file: Path):
    """The eager model of an export has the packed layers, and no others of linear type."""
    model = make_model(read_settings(None, [f"base.checkpoint={file}", *SETTINGS]))
    assert not [name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
