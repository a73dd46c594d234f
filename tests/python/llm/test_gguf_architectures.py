# SPDX-License-Identifier: BSD-3-Clause
"""GGUF files of each architecture, written as llama.cpp's converter does, against transformers' model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from language_models import CONFIGS, SLIDING, random_model

from sdk.extension.llm.export.checkpoint import CheckpointError, load_model
from sdk.extension.llm.export.gguf import ExportableGGUFTensor, GGUFError, GGUFFile
from sdk.extension.llm.export.quantize.low_bit import pack_linear
from sdk.extension.llm.model.transformer import Transformer

TOKENS = torch.randint(0, 96, (1, 23), generator=torch.Generator().manual_seed(4))
PERMUTED = ("llama", "granite", "smollm3")
"""Architectures whose queries and keys are stored for RoPE of neighbouring numbers."""
LINEAR = {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.5}
DEFAULT = {"rope_type": "default", "rope_theta": 1e4}


def tensors_of(theirs: Any, architecture: str) -> dict[str, np.ndarray]:
    """Returns the weights under GGUF's names, which are those of the package's table."""
    config = theirs.config
    kind = next(key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    found = {}
    for name, value in theirs.state_dict().items():
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(name.split(".")[-2])
        if heads and architecture in PERMUTED:
            value = value.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            value = value + 1
        if name.endswith("gate_up_proj") and value.dim() == 3:
            for part, half in zip(("gate", "up"), value.chunk(2, dim=1), strict=True):
                found[f"blk.{name.split('.')[2]}.ffn_{part}_exps.weight"] = half.contiguous().numpy()
        elif name.endswith("experts.down_proj"):
            found[f"blk.{name.split('.')[2]}.ffn_down_exps.weight"] = value.numpy()
        elif name != "lm_head.weight" or not config.tie_word_embeddings:
            new = names.get_name(name, try_suffixes=(".weight", ".bias"))
            assert new is not None, name
            found[new] = value.contiguous().numpy()
    return found


def entries_of(theirs: Any) -> dict[str, Any]:
    """Returns the entries that every file has about its model."""
    config = theirs.config
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    rope = config.rope_parameters
    return {
        "block_count": config.num_hidden_layers,
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": config.num_key_value_heads,
        "attention.key_length": head_dim,
        "attention.value_length": head_dim,
        "attention.layer_norm_rms_epsilon": float(config.rms_norm_eps),
        "rope.freq_base": float(rope.get("full_attention", rope)["rope_theta"]),
        "vocab_size": config.vocab_size,
    }


def written(
    path: Path, theirs: Any, architecture: str, more: dict[str, Any], largest: int = 0, kind: str = "F32"
) -> Path:
    """Writes a file with a model of transformers.

    `largest`: the most tensors of a part; 0 for one file. `kind`: the type of matrices besides the router's.
    """
    writer = gguf.GGUFWriter(path, architecture, split_max_tensors=largest)
    for name, value in {**entries_of(theirs), **more}.items():
        add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
        if value is not None:
            add.get(type(value), writer.add_array)(f"{architecture}.{name}", value)
    for name, value in tensors_of(theirs, architecture).items():
        stored = gguf.GGMLQuantizationType["F32" if value.ndim == 1 or "ffn_gate_inp" in name else kind]
        writer.add_tensor(name, gguf.quantize(value, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        found = model(TOKENS)
    return getattr(found, "logits", found)


def loaded(path: Path, **overrides: Any) -> Transformer:
    return load_model(path, max_context_len=40, generate_full_logits=True, **overrides).eval()


LINEAR_ENTRIES = {"rope.scaling.type": "linear", "rope.scaling.factor": 2.5}
YARN_ENTRIES = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 16}
CASES: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    "llama": ("llama", {}, "llama", {"rope.dimension_count": 8, "rope.scaling.finetuned": False}),
    "biases": ("llama_with_biases", {"hidden_act": "silu"}, "llama", {}),
    "linear": ("llama_linear", {}, "llama", LINEAR_ENTRIES),
    "linear without a type": ("llama_linear", {}, "llama", {"rope.scaling.factor": 2.5}),
    "linear under its old name": ("llama_linear", {}, "llama", {"rope.scale_linear": 2.5}),
    "no scaling": ("llama", {}, "llama", {"rope.scaling.type": "none", "rope.scaling.factor": 2.5}),
    "a factor of 0": ("llama", {}, "llama", {"rope.scaling.factor": 0.0}),
    "yarn": ("llama_yarn", {}, "llama", YARN_ENTRIES),
    "yarn of other turns": (
        "llama_yarn",
        {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "beta_fast": 5.0, "beta_slow": 0.5,
                             "original_max_position_embeddings": 16}},
        "llama",
        {**YARN_ENTRIES, "rope.scaling.yarn_beta_fast": 5.0, "rope.scaling.yarn_beta_slow": 0.5},
    ),
    "mistral": ("mistral", {}, "llama", {"attention.sliding_window": 5}),
    "qwen2": ("qwen2", {}, "qwen2", {}),
    "qwen2 in windows": (
        "qwen2_with_windows",
        {},
        "qwen2",
        {"attention.sliding_window": 5, "attention.sliding_window_pattern": [False, True, True]},
    ),
    "qwen3": ("qwen3", {}, "qwen3", {"attention.causal": True}),
    "qwen3moe": (
        "qwen3_moe",
        {"norm_topk_prob": True, "mlp_only_layers": None},
        "qwen3moe",
        {"expert_count": 5, "expert_used_count": 2, "expert_feed_forward_length": 32},
    ),
    "phi3": ("phi3_with_windows", {}, "phi3", {"attention.sliding_window": 5}),
    "phi3 without windows": (
        "phi3_with_windows",
        {"sliding_window": None},
        "phi3",
        {"attention.sliding_window": 0, "rope.scaling.original_context_length": 64},
    ),
    "smollm3": (
        "smollm3",
        {"num_hidden_layers": 5, "no_rope_layer_interval": 4, "use_sliding_window": False, "mlp_bias": False},
        "smollm3",
        {},
    ),
    "granite": (
        "granite",
        {},
        "granite",
        {"embedding_scale": 3.0, "residual_scale": 0.4, "attention.scale": 0.2, "logit_scale": 0.5}
        | {"rope.scaling.finetuned": True},
    ),
    "olmo2": ("olmo2", {}, "olmo2", {}),
    "gemma2": (
        "gemma2",
        {"query_pre_attn_scalar": 16},
        "gemma2",
        {"attention.sliding_window": 5, "final_logit_softcapping": 3.0, "attn_logit_softcapping": 2.0},
    ),
    "gemma2 with its defaults": (
        "gemma2",
        {"query_pre_attn_scalar": 16, "sliding_window": 4096}
        | {"final_logit_softcapping": 30.0, "attn_logit_softcapping": 50.0},
        "gemma2",
        {},
    ),
    "gemma3": (
        "gemma3",
        {"query_pre_attn_scalar": 16, "num_hidden_layers": 7, "layer_types": None, "final_logit_softcapping": None},
        "gemma3",
        {"attention.sliding_window": 5, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0},
    ),
    "gemma3 that names its layers": (
        "gemma3",
        {"query_pre_attn_scalar": 16},
        "gemma3",
        {"attention.sliding_window": 5, "rope.scaling.factor": 8.0, "final_logit_softcapping": 3.0}
        | {"attention.sliding_window_pattern": [kind == SLIDING[0] for kind in SLIDING], "rope.freq_base_swa": 1e4},
    ),
}  # fmt: skip
"""The kind of model (a key of `CONFIGS` and changes), the architecture, and more entries."""


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES)
def test_a_file_gives_the_model_of_transformers(case: str, tmp_path: Path):
    """Logits of 23 tokens, from float32 weights."""
    name, changes, architecture, entries = CASES[case]
    theirs = random_model(CONFIGS[name](**changes))
    ours = loaded(written(tmp_path / "m.gguf", theirs, architecture, entries))
    torch.testing.assert_close(logits(ours), logits(theirs), rtol=1e-4, atol=1e-4)


def test_the_experts_of_a_file_stay_as_they_are_quantised(tmp_path: Path):
    """The experts are in one tensor of the file. The router is never quantised."""
    theirs = random_model(CONFIGS["qwen3_moe"](hidden_size=64, norm_topk_prob=True, mlp_only_layers=None))
    entries = {"expert_count": 5, "expert_used_count": 2, "expert_feed_forward_length": 32}
    ours = loaded(written(tmp_path / "m.gguf", theirs, "qwen3moe", entries, kind="Q8_0"))
    experts: Any = ours.layers[2].feed_forward
    weights = {name: value for name, value in experts.named_parameters() if isinstance(value, ExportableGGUFTensor)}
    assert sorted(weights) == [f"experts.{i}.w{j}.weight" for i in range(5) for j in (1, 2, 3)]
    whole = theirs.model.layers[2].mlp.experts.down_proj
    for i in range(5):
        plain = weights[f"experts.{i}.w2.weight"].dequantize(torch.float32)
        torch.testing.assert_close(plain, whole[i], rtol=0, atol=float(whole.abs().max()) / 127)
    expected = logits(theirs)
    assert (logits(ours) - expected).norm() < 0.05 * expected.norm()
    hostile = written(tmp_path / "hostile.gguf", theirs, "qwen3moe", {**entries, "expert_count": 1 << 20})
    with pytest.raises(
        CheckpointError, match=r"ffn_gate_exps.weight is of the shape \[5, 32, 64\], expected \[1048576, 32"
    ):
        loaded(hostile)
    pack_linear(ours)
    assert all(expert.w13 is not None for expert in experts.experts)
    assert (logits(ours) - expected).norm() < 0.05 * expected.norm()


def test_the_largest_gemmas_scale_queries_by_the_width(tmp_path: Path):
    """Gemma 2 of 46 layers and Gemma 3 of 62: as in llama.cpp, the number of layers identifies them."""
    for architecture, layers in (("gemma2", 46), ("gemma3", 62)):
        theirs = random_model(CONFIGS[architecture](num_hidden_layers=layers, layer_types=None))
        entries = {"attention.sliding_window": 5}
        args = loaded(written(tmp_path / f"{layers}.gguf", theirs, architecture, entries)).params
        assert args.attention_multiplier == (48 // 6) ** -0.5


@pytest.mark.parametrize(
    "architecture, entries, message",
    [
        ("llama", {"rope.magic": 2}, "llama.rope.magic is 2, and this version does not know what that changes"),
        ("llama", {"expert_count": 8}, "llama.expert_count is 8, expected 0: nothing else is supported"),
        ("llama", {"attention.causal": False}, "llama.attention.causal is False, expected True"),
        ("llama", {"attention.value_length": 4}, "attention.value_length is 4, expected 8, the length of a head"),
        ("llama", {"rope.scaling.type": "ntk"}, "rope.scaling.type is 'ntk', expected one of none, linear, yarn"),
        ("llama", {"rope.scaling.factor": "2"}, "rope.scaling.factor is '2', expected a number above 0"),
        ("llama", {"rope.scale_linear": -1.0}, "rope.scale_linear is -1.0, expected a number above 0"),
        ("llama", {"rope.scaling.type": "longrope", "rope.scaling.factor": 2.0}, "factor is 2.0, expected 1"),
        ("llama", {"rope.scaling.yarn_attn_factor": 2.0}, "yarn_attn_factor is 2.0, and this version does not know"),
        ("llama", {"rope.dimension_count_swa": 4}, "rope.dimension_count_swa is 4, expected 8"),
        ("llama", {"attention.sliding_window": 5, "rope.freq_base_swa": 5.0}, "rope.freq_base_swa is 5.0, expected"),
        ("qwen2", {"attention.sliding_window": 5}, "attention.sliding_window_pattern is None, expected a whole number"),
        ("qwen2", {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping is 50.0, expected 0.0"),
        ("granite", {"rope.scaling.finetuned": False, "logit_scale": 1.0}, "rope.scaling.finetuned is False, expected"),
    ],
)
def test_what_an_entry_changes_without_our_knowledge_is_named(
    architecture: str, entries: dict[str, Any], message: str, tmp_path: Path
):
    path = written(tmp_path / "m.gguf", random_model(CONFIGS[architecture]()), architecture, entries)
    with pytest.raises(CheckpointError, match=f"m.gguf: .*{message}"):
        loaded(path)


def test_a_file_of_something_else_than_a_model_is_refused(tmp_path: Path):
    path = tmp_path / "m.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(CheckpointError, match=r"general.type is 'adapter', expected a model"):
        load_model(path)


def test_the_parts_of_a_split_file_give_its_model(tmp_path: Path):
    """Each part has some of the tensors; the first one has the metadata."""
    theirs = random_model(CONFIGS["llama"]())
    written(tmp_path / "m.gguf", theirs, "llama", {}, largest=8)
    parts = sorted(tmp_path.glob("*.gguf"))
    assert [path.name for path in parts] == [f"m-{i:05}-of-00004.gguf" for i in range(1, 5)]
    torch.testing.assert_close(logits(loaded(parts[0])), logits(theirs), rtol=1e-4, atol=1e-4)
    with pytest.raises(GGUFError, match=r"is part 2 of 4: name the first part, m-00001-of-00004.gguf"):
        GGUFFile(parts[1])
    shouted = tmp_path / "shouted"
    shouted.mkdir()
    for path in parts:
        (shouted / path.name.upper()).symlink_to(path)
    in_capitals = loaded(shouted / "M-00001-OF-00004.GGUF")
    torch.testing.assert_close(logits(in_capitals), logits(theirs), rtol=1e-4, atol=1e-4)
    whole = parts[0].read_bytes()
    renamed = tmp_path / "renamed.gguf"
    renamed.write_bytes(whole)
    with pytest.raises(GGUFError, match=r"renamed.gguf is part 1 of 4: name the first part, NAME-00001-of-00004.gguf"):
        GGUFFile(renamed)
    third = parts[2].read_bytes()
    parts[2].write_bytes(parts[1].read_bytes())
    with pytest.raises(
        GGUFError, match=r"m-00003-of-00004.gguf: split.no and split.count are 1 and 4, expected 2 and 4"
    ):
        GGUFFile(parts[0])
    parts[2].write_bytes(third[:40])
    with pytest.raises(GGUFError, match=r"m-00003-of-00004.gguf, byte 8: 8 tensors do not fit"):
        GGUFFile(parts[0])
    parts[2].unlink()
    with pytest.raises(GGUFError, match=r"m-00003-of-00004.gguf: part 3 of 4 cannot be opened: No such file"):
        GGUFFile(parts[0])
