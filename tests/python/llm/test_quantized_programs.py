# SPDX-License-Identifier: BSD-3-Clause
"""Every way to quantise a language model: the program computes what eager does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from language_models import ARCHITECTURES, small
from test_checkpoints import write_gguf
from test_export_llm import CACHED

from sdk.extension.llm.export.exporter import export_program
from sdk.extension.llm.export.settings import SettingsError, read_settings
from sdk.runtime import Runtime

MODELS: dict[str, dict[str, Any]] = {
    **ARCHITECTURES,
    "qwen3_moe": {
        **ARCHITECTURES["qwen3"],
        "moe": True,
        "moe_hidden_dim": 64,
        "moe_norm_topk": True,
        "num_activated_experts": 2,
        "num_experts": 3,
    },
    "lfm2": {"layer_types": ["conv", "full_attention"], "use_qk_norm": True, "qk_norm_before_rope": True},
    "gemma3": {
        "act_fn": "gelu_approx",
        "embedding_scale_factor": 8.0,
        "layer_types": ["sliding_attention", "full_attention"],
        "local_rope_theta": 1e4,
        "post_attention_norm": True,
        "post_ffn_norm": True,
        "qk_norm_before_rope": True,
        "rms_norm_add_unit_offset": True,
        "sliding_window": 6,
        "use_hf_rope": True,
        "use_qk_norm": True,
    },
}
QMODES = ["int8", "4w", "8da4w", *(f"torchao:{kind}{bits}w" for kind in ("8da", "fpa") for bits in range(1, 9))]
SAMPLE = [
    ("llama", "int8"),
    ("qwen2", "4w"),
    ("llama", "8da4w"),
    ("qwen3", "torchao:8da4w"),
    ("llama", "torchao:fpa3w"),
    ("gemma3", "torchao:8da5w"),
    ("qwen3_moe", "torchao:8da4w"),
    ("qwen3_moe", "8da4w"),
]
"""The combinations that the gate runs."""


def files(name: str, folder: Path) -> list[str]:
    """A checkpoint with random weights and tied embeddings, and its hyperparameters."""
    model = small(**MODELS[name])
    weights = {**model.state_dict(), "output.weight": model.state_dict()["tok_embeddings.weight"]}
    torch.save(weights, folder / "model.pth")
    common = {"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 96, "hidden_dim": 128}
    (folder / "params.json").write_text(json.dumps({**common, **MODELS[name]}))
    return [f"base.checkpoint={folder / 'model.pth'}", f"base.params={folder / 'params.json'}"]


def check(arguments: list[str], *operators: str) -> Any:
    """Compares the program with the eager model, call after call; the program must have these operators."""
    settings = ["debug.generate_full_logits=true", *CACHED, *arguments]
    model, _, program = export_program(read_settings(None, settings))
    assert program is not None
    names = {op.name for op in program.executorch_program.execution_plan[0].operators}
    assert set(operators) <= names, names
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    tokens = torch.randint(0, 96, (1, 30), generator=torch.Generator().manual_seed(1))
    at = 0
    for length in (5, 1, 1, 16, 7):
        call = (tokens[:, at : at + length], torch.tensor([at]))
        with torch.no_grad():
            expected = model(call[0], {"input_pos": call[1]})
        # An activation between two integers may be rounded to either.
        torch.testing.assert_close(method.execute(list(call))[0], expected, rtol=5e-2, atol=5e-2)
        at += length
    return program


def test_qmodes_that_are_none():
    """LE-11: torchao's modes with 0 and 9 bits are refused."""
    for bits in (0, 9):
        with pytest.raises(SettingsError, match=f"expected 1 to 8 bits, found {bits}"):
            read_settings(None, [f"quantization.qmode=torchao:8da{bits}w"])
    with pytest.raises(SettingsError, match=r"Got qmode 8da5w, .*did you mean '8da4w'"):
        read_settings(None, ["quantization.qmode=8da5w"])


def operator_of(qmode: str) -> str:
    if "8da" in qmode:
        return f"torchao::_linear_8bit_act_{qmode[-2]}bit_weight"
    return "llama::linear_packed"


@pytest.mark.sampled
@pytest.mark.parametrize("name, qmode", SAMPLE)
def test_quantised_programs(name: str, qmode: str, tmp_path: Path):
    """LE-11, LE-12, QNT-07."""
    check([*files(name, tmp_path), f"quantization.qmode={qmode}"], operator_of(qmode))


@pytest.mark.slow
@pytest.mark.parametrize("qmode", QMODES)
@pytest.mark.parametrize("name", MODELS)
def test_every_quantised_program(name: str, qmode: str, tmp_path: Path):
    """LE-04, LE-11: every architecture and mode."""
    group = [] if qmode == "int8" else ["quantization.group_size=16"]  # int8 has a scale for each row
    check([*files(name, tmp_path), f"quantization.qmode={qmode}", *group], operator_of(qmode))


def test_int8_has_no_groups(tmp_path: Path):
    with pytest.raises(SettingsError, match=r"group_size=16: quantization\.qmode=int8 has a scale for each row"):
        check([*files("llama", tmp_path), "quantization.qmode=int8", "quantization.group_size=16"])


@pytest.mark.sampled
@pytest.mark.parametrize("embedding", ["'torchao:4,32'", "'torchao:3,0'", "'8,16'"])
def test_quantised_embeddings(embedding: str, tmp_path: Path):
    """LE-13."""
    operators = [f"torchao::_shared_embedding_{embedding[9]}bit"] if "torchao" in embedding else []
    check([*files("llama", tmp_path), f"quantization.embedding_quantize={embedding}"], *operators)


@pytest.mark.sampled
@pytest.mark.parametrize("qmode", ["torchao:8da4w", "torchao:fpa6w"])
def test_shared_embeddings(qmode: str, tmp_path: Path):
    """LE-09, LE-10: the program has one weight for the embedding and the output layer."""
    common = [
        *files("llama", tmp_path),
        f"quantization.qmode={qmode}",
        "quantization.embedding_quantize='torchao:8,32'",
    ]
    separate = check(common)
    linear = "llama::linear_packed" if "fpa" in qmode else "torchao::_linear_8bit_act_8bit_weight"
    shared = check([*common, "model.use_shared_embedding=true"], "torchao::_shared_embedding_8bit", linear)
    bits = int(qmode[-2])
    saved = 96 * 64 * bits // 8  # the weights that a separate output layer had
    assert len(separate.buffer) - len(shared.buffer) > 0.9 * saved
    with pytest.raises(SettingsError, match=r"use_shared_embedding needs quantization.embedding_quantize=torchao"):
        check([*files("llama", tmp_path), f"quantization.qmode={qmode}", "model.use_shared_embedding=true"])
    untied = small()
    torch.save(untied.state_dict(), tmp_path / "model.pth")
    with pytest.raises(SettingsError, match=r"have different weights"):
        check([*common, "model.use_shared_embedding=true"])


@pytest.mark.sampled
@pytest.mark.parametrize("type", ["Q4_0", "Q4_1", "Q8_0", "Q5_1"])
@pytest.mark.parametrize("name", ["llama", "qwen2"])
def test_gguf_blocks_stay_as_they_are(name: str, type: str, tmp_path: Path):
    """QNT-07, LE-04: the program is hardly larger than the file's weights."""
    model = small(**ARCHITECTURES[name])
    path = write_gguf(tmp_path / "model.gguf", model, name, type)
    bits = {"Q4_0": 4, "Q4_1": 4, "Q8_0": 8, "Q5_1": 5}[type]
    operators = (f"torchao::_linear_8bit_act_{bits}bit_weight", f"torchao::_shared_embedding_{bits}bit")
    program = check([f"base.checkpoint={path}", "model.use_sdpa_with_kv_cache=true"], *operators)
    weights = sum(p.numel() for n, p in model.named_parameters() if p.dim() == 2) * (bits + 1) / 8
    assert len(program.buffer) < weights + 60_000


@pytest.mark.parametrize("type, bits", [("Q4_K", 4), ("Q5_K", 5), ("Q6_K", 6)])
def test_gguf_blocks_of_256_keep_their_size(type: str, bits: int, tmp_path: Path):
    """QNT-07: the program keeps the factor of each block and one byte for each group, so it is at most 3 % larger than
    the weights in the file."""
    model = small(dim=256, hidden_dim=512)
    path = write_gguf(tmp_path / "model.gguf", model, "llama", type)
    operators = (f"torchao::_linear_8bit_act_{bits}bit_weight", f"torchao::_shared_embedding_{bits}bit")
    program = check([f"base.checkpoint={path}", "model.use_sdpa_with_kv_cache=true"], *operators)
    blocks = sum(p.numel() for p in model.parameters() if p.dim() == 2) // 256
    assert len(program.buffer) < 1.03 * blocks * {4: 144, 5: 176, 6: 210}[bits] + 60_000


@pytest.mark.sampled
@pytest.mark.parametrize(
    "type, bits", [("Q2_K", 2), ("Q3_K", 3), ("IQ4_NL", 8), ("IQ4_XS", 8), ("TQ1_0", 2), ("TQ2_0", 2), ("MXFP4", 5)]
)
def test_other_gguf_blocks_multiply_as_their_values(type: str, bits: int, tmp_path: Path):
    """QNT-07: types whose weights take more bytes in the program than in the file."""
    model = small(dim=256, hidden_dim=512)
    path = write_gguf(tmp_path / "model.gguf", model, "llama", type)
    operators = (f"torchao::_linear_8bit_act_{bits}bit_weight", f"torchao::_shared_embedding_{bits}bit")
    check([f"base.checkpoint={path}", "model.use_sdpa_with_kv_cache=true"], *operators)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "settings, places",
    [
        (["model.quantize_kv_cache=true"], 40),
        (["model.quantize_kv_cache=true", "model.use_sdpa_with_kv_cache=true"], 40),
        (["model.local_global_attention=[8]", "model.use_sdpa_with_kv_cache=true"], 8 + 15),
        (["model.use_attention_sink='4,12'"], 4 + 12 + 15),
    ],
)
def test_caches(settings: list[str], places: int, tmp_path: Path):
    """LE-09: each kind of cache changes the graph."""
    check([*files("llama", tmp_path), *settings])
    model, _, _ = export_program(read_settings(None, [*files("llama", tmp_path), *settings, *CACHED]))
    cache: Any = model.layers[0].attention
    assert places in cache.kv_cache.k_cache.shape


@pytest.mark.parametrize(
    "settings, message",
    [
        (["model.use_attention_sink='4,x'"], "use_attention_sink: expected '<sink_size>,<window_size>'"),
        (["model.use_attention_sink='4,12'", "model.local_global_attention=[8]"], "exclude each other"),
        (["model.local_global_attention=[-8]"], "local_global_attention: local_global_attention needs sizes"),
    ],
)
def test_caches_that_cannot_be(settings: list[str], message: str, tmp_path: Path):
    with pytest.raises(SettingsError, match=message):
        check([*files("llama", tmp_path), *settings])


def test_methods_share_weights_and_caches(tmp_path: Path):
    """A method for 8 tokens and one for a single token: one copy of the weights, caches in the same place."""
    settings = [
        *files("llama", tmp_path),
        *CACHED,
        "quantization.qmode=torchao:8da4w",
        "debug.generate_full_logits=true",
        "multimethod.share_mutable_buffers=true",
    ]
    methods = ["{method_name: prefill, export_seq_len: 8}", "{method_name: decode, export_seq_len: 1}"]
    model, _, one = export_program(read_settings(None, [*settings, f"multimethod.methods=[{methods[0]}]"]))
    _, _, both = export_program(read_settings(None, [*settings, f"multimethod.methods=[{', '.join(methods)}]"]))
    assert one is not None and both is not None
    weights = sum(len(b.flatten()) for n, b in model.named_buffers() if "packed" in n)
    assert len(both.buffer) - len(one.buffer) < 0.5 * weights
    # Methods that share arenas (those of a C++ Module can) have their caches in the last one.
    arenas = [plan.non_const_buffer_sizes for plan in both.executorch_program.execution_plan[:2]]
    caches = sum(b.numel() * b.element_size() for n, b in model.named_buffers() if "_cache" in n)
    assert len(arenas[0]) == len(arenas[1]) == 3 and arenas[0][2] == arenas[1][2] >= caches
    program = Runtime.get().load_program(both.buffer)
    tokens = torch.randint(0, 96, (1, 8), generator=torch.Generator().manual_seed(1))
    for name, count in (("prefill", 8), ("decode", 1)):
        call = (tokens[:, :count], torch.tensor([0]))
        with torch.no_grad():
            expected = model(call[0], {"input_pos": call[1]})
        found = program.load_method(name).execute(list(call))[0]
        torch.testing.assert_close(found, expected, rtol=5e-2, atol=5e-2)
    for wrong, message in (
        (
            "{method_name: a, export_seq_len: 17}",
            "export_seq_len of 'a' is 17, expected 1 to export.max_seq_length, 16",
        ),
        ("{method_name: a}, {method_name: a}", "there are two methods 'a'"),
    ):
        with pytest.raises(SettingsError, match=message):
            export_program(read_settings(None, [*settings, f"multimethod.methods=[{wrong}]"]))
