# SPDX-License-Identifier: BSD-3-Clause
"""The results of modules of language models that have the same names in this SDK and the original.

Usage: ``python module_numbers.py PACKAGE FILE``: the tensors of `numbers(PACKAGE)`, written with `torch.save`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

WINDOW, SINKS, LENGTHS = 4, 2, (3, 1, 1, 4, 2, 4, 1, 1)
ARGS = {"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 96, "hidden_dim": 128}


def numbers(package: str) -> dict[str, Tensor]:
    """Results by the name of a case."""

    def module(name: str) -> Any:
        return importlib.import_module(f"{package}.{name}")

    module("extension.llm.custom_ops.custom_ops")
    llama = "examples.models.llama"
    found: dict[str, Tensor] = {}
    with torch.no_grad():
        for part in (caches, attention, rotations, static):
            for name, value in part(module, llama):
                found[f"{part.__name__}.{name}"] = value.detach().float().clone()
    return found


def random(*shape: int, seed: int = 0) -> Tensor:
    """Returns the same random numbers in both environments."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def caches(module: Any, llama: str) -> Iterator[tuple[str, Tensor]]:
    """Yields the contents and the masks of caches after each of several calls."""
    plain, custom = module(f"{llama}.attention"), module(f"{llama}.source_transformation.custom_kv_cache")
    sinks = module(f"{llama}.source_transformation.attention_sink")
    affine = custom.QuantizedCacheType.AffineAsymmetric
    for name, cache in {
        "ring": plain.RingKVCache(1, WINDOW, 2, 8, True),
        "custom_ring": custom.CustomRingKVCache(1, WINDOW, 2, 8),
        "int8_ring": custom.QuantizedRingKVCache(1, WINDOW, 2, 8, affine, True),
        "int8": custom.QuantizedKVCache(1, 20, 2, 8, affine, True),
        "int8_by_index": custom.QuantizedKVCache(1, 20, 2, 8, affine, False),
        "custom": custom.CustomKVCache(1, 20, 2, 8),
        "sinks": sinks.KVCacheWithAttentionSink(2, 8, True, None, WINDOW, SINKS),
        "custom_sinks": custom.CustomKVCacheWithAttentionSink(1, 2, 8, WINDOW, SINKS),
    }.items():
        at = 0
        for call, length in enumerate(LENGTHS):
            keys, values = random(1, 2, length, 8, seed=at), random(1, 2, length, 8, seed=at + 100)
            k, v = cache.update(torch.arange(at, at + length), keys, values)
            seen = slice(0, at + length)
            if hasattr(cache, "create_causal_mask_for_ring_buffer"):
                mask = cache.create_causal_mask_for_ring_buffer(at, length)
                yield f"{name}.{call}.mask", mask
                seen = (mask == 0).any(0)  # entries that no token sees are undefined
            yield f"{name}.{call}.keys", k[:, :, seen]
            yield f"{name}.{call}.values", v[:, :, seen]
            at += length


def attention(module: Any, llama: str) -> Iterator[tuple[str, Tensor]]:
    """Modules of one signature, and those in int8."""
    sdpa = module(f"{llama}.source_transformation.sdpa")
    custom = module(f"{llama}.source_transformation.custom_kv_cache")
    q, k, v = random(1, 4, 3, 8), random(1, 2, 12, 8, seed=1), random(1, 2, 12, 8, seed=2)
    position = torch.tensor([5, 6, 7])
    mask = torch.where(torch.arange(12)[None] <= position[:, None], 0.0, float("-inf"))
    call = (position, q, k, v, 1, 3, mask)
    yield "custom", sdpa.SDPACustom(32)(*call)
    yield "custom_with_mask", sdpa.SDPACustom(32, use_attention_mask=True)(*call)
    yield "simple", sdpa.SDPASimple(32, 8, 2)(*call)
    yield "flex", sdpa.SDPAFlex(32, 2)(*call)
    yield "backend", sdpa.SDPACoreML(32, 8, 2)(*call)
    yield "plain", module(f"{llama}.attention").SDPA(32, 8, 2, 12)(*call)
    yield "repeated", sdpa.repeat_kv(k, 3)
    cache = custom.QuantizedKVCache(1, 12, 2, 8, custom.QuantizedCacheType.AffineAsymmetric, True, False)
    quantized = sdpa.QuantizedSDPA(32, cache)
    keys, values = cache.update(torch.arange(12), k, v)
    yield "int8", quantized(position, q, keys, values, 1, 3, mask)
    for kind in (sdpa.KVCacheCoreML, sdpa.KVCacheSimple):
        yield kind.__name__, torch.cat(kind(1, 12, 2, 8).update(position, k[:, :, :3], v[:, :, :3]))


def rotations(module: Any, llama: str) -> Iterator[tuple[str, Tensor]]:
    """Yields the rotary embeddings of positions in a ring buffer with attention sinks."""
    args = module(f"{llama}.model_args").ModelArgs(**ARGS, max_context_len=32, use_kv_cache=True)
    rope = module(f"{llama}.source_transformation.attention_sink").RopeWithAttentionSink(args, WINDOW, SINKS)
    yield from zip(("cos", "sin"), rope.get_freqs(torch.tensor([7, 8, 9, 10, 23]), 5), strict=True)


def static(module: Any, llama: str) -> Iterator[tuple[str, Tensor]]:
    """Logits of a whole text, and the tokens of both ways to decode."""
    names = module(f"{llama}.static_attention")
    args = module(f"{llama}.model_args").ModelArgs(**ARGS, max_context_len=64, generate_full_logits=True)
    model = module(f"{llama}.llama_transformer").construct_transformer(args).eval()
    for seed, (name, parameter) in enumerate(sorted(model.named_parameters())):
        noise = random(*parameter.shape, seed=seed)
        parameter.copy_(1 + 0.1 * noise if "norm" in name else 0.15 * noise)
    tokens = torch.randint(0, 96, (1, 13), generator=torch.Generator().manual_seed(1), dtype=torch.int32)
    for split in (False, True):
        made = names.transform_attention_mha_to_static_attention(
            model, split_mha=split, inplace=False, use_hf_rope=split
        )
        lengths: Any = [32, 40]  # if caches are longer, the original returns a full cache wrongly
        # The original's cache has as many heads as there are heads of queries if it is made from a model, and as many
        # as there are heads of keys if it is made from hyperparameters.
        args.use_hf_rope, args.attention_type = split, "static" if split else "static_mha"
        manager = names.StaticAttentionIOManager(args, 12, lengths)
        yield f"{split}.logits", manager.prefill(made, tokens)
        yield f"{split}.tokens", torch.tensor(manager.decode(made, 5, 10))
        manager.reset()
        manager.prefill(made, tokens)
        yield f"{split}.lookahead", torch.tensor(manager.lookahead_decode(made, 5, 10, 3, 3, 3)[:11])
        for length, mask in manager.masks.items():
            yield f"{split}.mask.{length}", mask


if __name__ == "__main__":
    torch.save(numbers(sys.argv[1]), sys.argv[2])
