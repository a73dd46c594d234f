# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints in files: folders of Hugging Face's form and GGUF files give the model that they were made from."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from language_models import ARCHITECTURES, blocks, both, small
from safetensors.torch import save_file

from sdk.extension.llm.export.checkpoint import CheckpointError, load_model
from sdk.extension.llm.export.gguf import ExportableGGUFTensor, GGUFError
from sdk.extension.llm.model.transformer import Transformer

TOKENS = torch.tensor([[7, 93, 0, 41, 41, 12]])
LLAMA_NAMES = {
    "attention.wq": "attn_q",
    "attention.wk": "attn_k",
    "attention.wv": "attn_v",
    "attention.wo": "attn_output",
    "attention.q_norm_fn": "attn_q_norm",
    "attention.k_norm_fn": "attn_k_norm",
    "attention_norm": "attn_norm",
    "ffn_norm": "ffn_norm",
    "feed_forward.w1": "ffn_gate",
    "feed_forward.w2": "ffn_down",
    "feed_forward.w3": "ffn_up",
}


def saved(theirs: Any, folder: Path) -> Path:
    theirs.config.save_pretrained(folder)
    tied = theirs.config.tie_word_embeddings
    tensors = {
        name: value.contiguous().clone()
        for name, value in theirs.state_dict().items()
        if not (tied and name == "lm_head.weight")
    }
    names = sorted(tensors)
    for number, part in enumerate((names[::2], names[1::2])):
        save_file({name: tensors[name] for name in part}, folder / f"model-{number}.safetensors")
    return folder


@pytest.mark.parametrize("name", ["llama3", "phi3", "lfm2", "gemma3"])
def test_a_folder_gives_its_model(name: str, tmp_path: Path):
    theirs, _ = both(name)
    ours = load_model(saved(theirs, tmp_path), max_context_len=40, generate_full_logits=True).eval()
    with torch.no_grad():
        torch.testing.assert_close(ours(TOKENS), theirs(TOKENS).logits, rtol=1e-4, atol=1e-4)


def test_the_weights_of_a_folder_are_those_of_its_index(tmp_path: Path):
    """Mistral's folders contain the weights twice, the second time under other names. `model.safetensors` has priority
    there, too."""
    theirs, _ = both("mistral")
    saved(theirs, tmp_path)
    save_file({"layers.0.attention.wq.weight": torch.zeros(2, 2)}, tmp_path / "consolidated.safetensors")
    with pytest.raises(CheckpointError, match=r"these weights are not known: layers.0.attention.wq.weight"):
        load_model(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "model-0.safetensors", "b": "model-1.safetensors"}}))
    ours = load_model(tmp_path, max_context_len=40, generate_full_logits=True).eval()
    with torch.no_grad():
        torch.testing.assert_close(ours(TOKENS), theirs(TOKENS).logits, rtol=1e-4, atol=1e-4)
    for content in ("[]", "{", '{"weight_map": {"a": "../model-0.safetensors"}}', '{"weight_map": {"a": 1}}'):
        index.write_text(content)
        with pytest.raises(
            CheckpointError, match=r"index.json: expected an object whose weight_map has the file of each"
        ):
            load_model(tmp_path)
    index.write_text('{"weight_map": {"a": "model-9.safetensors"}}')
    with pytest.raises(CheckpointError, match=r"lacks model-9.safetensors, which model.safetensors.index.json names"):
        load_model(tmp_path)
    index.unlink()
    whole = {name: value.clone() for name, value in theirs.state_dict().items()}
    save_file(whole, tmp_path / "model.safetensors")
    ours = load_model(tmp_path, max_context_len=40, generate_full_logits=True).eval()
    with torch.no_grad():
        torch.testing.assert_close(ours(TOKENS), theirs(TOKENS).logits, rtol=1e-4, atol=1e-4)


def test_an_output_without_weights_has_those_of_the_embedding_if_the_config_says_so(tmp_path: Path):
    theirs, _ = both("llama")
    saved(theirs, tmp_path)
    (tmp_path / "model-0.safetensors").unlink()
    weights = {name: value.clone() for name, value in theirs.state_dict().items() if name != "lm_head.weight"}
    save_file(weights, tmp_path / "model-1.safetensors")
    with pytest.raises(CheckpointError, match=r"output.weight is missing"):
        load_model(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": True}))
    model = load_model(tmp_path)
    assert torch.equal(model.output.weight, model.tok_embeddings.weight)


@pytest.mark.parametrize("name", ["llama", "mistral", "qwen2"])
def test_frequencies_among_the_weights_are_those_of_the_config(name: str, tmp_path: Path):
    """Older checkpoints, such as Llama 2's, have frequencies for each layer; transformers does not read them."""
    theirs, _ = both(name)
    saved(theirs, tmp_path)
    older = {f"model.layers.{i}.self_attn.rotary_emb.inv_freq": torch.ones(4) for i in range(3)}
    save_file({**older, "model.rotary_emb.inv_freq": torch.ones(4)}, tmp_path / "model-2.safetensors")
    ours = load_model(tmp_path, max_context_len=40, generate_full_logits=True).eval()
    with torch.no_grad():
        torch.testing.assert_close(ours(TOKENS), theirs(TOKENS).logits, rtol=1e-4, atol=1e-4)


RANDOM_SIZES = {"Q2_K": 2.5e-3, "Q3_K": 7e-4, "Q4_K": 2.5e-4, "Q5_K": 1.2e-4, "Q6_K": 4e-5}
RANDOM_SIZES |= {"IQ4_NL": 4e-4, "IQ4_XS": 2.3e-5, "TQ1_0": 0.03, "TQ2_0": 0.03, "MXFP4": 0.006}
"""Sizes of random blocks, because the package quantises to few of these types. The weights have a standard deviation of
about 0.03. With larger ones, eager's own logits change by 0.1 and more if its inputs change in their last bit, because
activations are rounded to int8."""


def write_gguf(path: Path, model: Transformer, architecture: str, kind: str, **more: Any) -> Path:
    """Writes a GGUF file of a model with matrices quantised as `kind`, fused if the architecture has them fused."""
    args, weights = model.params, {name: value.detach().numpy() for name, value in model.named_parameters()}
    if architecture == "phi3":
        for layer in range(args.n_layers):
            parts = [weights.pop(f"layers.{layer}.attention.{name}.weight") for name in ("wq", "wk", "wv")]
            weights[f"blk.{layer}.attn_qkv.weight"] = np.concatenate(parts)
            parts = [weights.pop(f"layers.{layer}.feed_forward.{name}.weight") for name in ("w1", "w3")]
            weights[f"blk.{layer}.ffn_up.weight"] = np.concatenate(parts)
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(args.n_layers)
    writer.add_embedding_length(args.dim)
    writer.add_feed_forward_length(args.hidden_dim)
    writer.add_head_count(args.n_heads)
    writer.add_head_count_kv(args.n_kv_heads)
    writer.add_key_length(args.head_dim)
    writer.add_layer_norm_rms_eps(args.norm_eps)
    writer.add_rope_freq_base(args.rope_freq_base)
    writer.add_rope_dimension_count(int(args.head_dim * args.partial_rotary_factor))
    writer.add_context_length(256)
    for key, value in more.items():
        getattr(writer, f"add_{key}")(value)
    outside = {"tok_embeddings": "token_embd", "norm": "output_norm", "output": "output"}
    for name, value in weights.items():
        stem, _, suffix = name.rpartition(".")
        if name.startswith("layers."):
            _, layer, inside = stem.split(".", 2)
            stem = f"blk.{layer}.{LLAMA_NAMES[inside]}"
        stem = outside.get(stem, stem)
        if value.ndim == 2:
            type = gguf.GGMLQuantizationType[kind]
            if kind in RANDOM_SIZES:
                seed = zlib.crc32(stem.encode())  # equal weights would be stored once
                raw = blocks(kind.lower(), *value.shape, seed=seed, size=RANDOM_SIZES[kind]).raw.numpy()
            else:
                raw = gguf.quantize(value, type)
            writer.add_tensor(f"{stem}.{suffix}", raw, raw_dtype=type)
        else:
            writer.add_tensor(f"{stem}.{suffix}", value)
    for name, factors in (("short", args.rope_scaling_short_factor), ("long", args.rope_scaling_long_factor)):
        if factors is not None:
            writer.add_tensor(f"rope_factors_{name}.weight", np.array(factors, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def dequantized(model: Transformer) -> Transformer:
    """Returns the same model with plain weights, dequantised by the package `gguf`."""
    for module in model.modules():
        weight = getattr(module, "weight", None)
        if isinstance(weight, ExportableGGUFTensor):
            plain = gguf.dequantize(weight.raw.numpy(), gguf.GGMLQuantizationType[weight.ggml_type.upper()])
            module.weight = torch.nn.Parameter(torch.from_numpy(plain), requires_grad=False)  # type: ignore[assignment]
    return model


@pytest.mark.parametrize("kind", ["F32", "Q4_0", "Q4_1", "Q8_0"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_gguf_file_gives_its_model(architecture: str, kind: str, tmp_path: Path):
    fields = ARCHITECTURES[architecture]
    model = small(**fields)
    more = {"rope_scaling_type": gguf.RopeScalingType.LONGROPE, "rope_scaling_orig_ctx_len": 64}
    path = write_gguf(tmp_path / "m.gguf", model, architecture, kind, **(more if architecture == "phi3" else {}))
    loaded = load_model(path, max_context_len=40, generate_full_logits=True).eval()
    quantized = [name for name, value in loaded.named_parameters() if isinstance(value, ExportableGGUFTensor)]
    assert ("layers.0.attention.wk.weight" in quantized) == (kind != "F32")
    with torch.no_grad():
        logits = loaded(TOKENS)
        if kind == "F32":
            torch.testing.assert_close(logits, model(TOKENS))
        torch.testing.assert_close(dequantized(loaded)(TOKENS), logits, rtol=1e-4, atol=1e-4)
        assert (logits - model(TOKENS)).norm() < 0.3 * model(TOKENS).norm()


def test_what_a_checkpoint_lacks_is_said(tmp_path: Path):
    with pytest.raises(CheckpointError, match=r"expected a \.gguf file, or a folder"):
        load_model(tmp_path / "model.bin")
    (tmp_path / "config.json").write_text('{"model_type": "llama",\n "hidden_size" 5}')
    with pytest.raises(CheckpointError, match=r"config.json, line 2, column 16"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(CheckpointError, match=r"config.json lacks 'hidden_size'"):
        load_model(tmp_path)
    theirs, _ = both("llama")
    (tmp_path / "config.json").write_text(json.dumps(theirs.config.to_dict()))
    with pytest.raises(CheckpointError, match=r"has no \.safetensors files"):
        load_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(CheckpointError, match=r"model.safetensors: "):
        load_model(tmp_path)
    save_file({"model.norm.weight": torch.ones(48)}, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"is missing.* and [0-9]+ more"):
        load_model(tmp_path)
    (tmp_path / "x.gguf").write_bytes(b"no")
    with pytest.raises(GGUFError):
        load_model(tmp_path / "x.gguf")


def test_an_unknown_architecture_is_named(tmp_path: Path):
    path = write_gguf(tmp_path / "m.gguf", small(), "mamba", "F32")
    with pytest.raises(CheckpointError, match="the architecture 'mamba' is not supported; supported are llama, qwen2"):
        load_model(path)
