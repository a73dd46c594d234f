# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.extension.llm.modules` against their definitions, in eager and in programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from language_models import small
from test_checkpoints import write_gguf
from torch import Tensor, nn
from torch.export import Dim

from sdk.exir import ExecutorchBackendConfig, to_edge
from sdk.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from sdk.extension.gguf_util import convert_main
from sdk.extension.gguf_util.converter import convert_to_pte
from sdk.extension.gguf_util.load_gguf import GGUFWeights, load_file
from sdk.extension.llm.modules import (
    KVCache,
    MultiHeadAttention,
    TiledTokenPositionalEmbedding,
    TilePositionalEmbedding,
    replace_mha_with_inference_mha,
    replace_tile_positional_embedding,
    replace_tiled_token_positional_embedding,
)
from sdk.runtime import Runtime

RATIOS = torch.tensor([[1, 1], [2, 2], [1, 3], [3, 1]])


def program(module: nn.Module, args: tuple[Any, ...], **options: Any) -> Any:
    exported = torch.export.export(module, args, **options)
    passes = [InitializedMutableBufferPass(["kv_cache_pos"])]
    made = to_edge(exported).to_executorch(ExecutorchBackendConfig(passes=passes))
    return Runtime.get().load_program(made.buffer).load_method("forward")


def open_gate(module: Any) -> Any:
    with torch.no_grad():
        module.gate.fill_(0.7)
    return module.eval()


def test_embeddings_of_tiles():
    """Tile i of a picture of w columns is in row i / w and column i % w; others are padding."""
    module = open_gate(TilePositionalEmbedding(3, 8))
    x = torch.randn(4, 4, 5, 8)
    expected = x.clone()
    for picture, (rows, columns) in enumerate(RATIOS.tolist()):
        for tile in range(rows * columns):
            expected[picture, tile] += module.embedding[tile // columns, tile % columns] * torch.tensor(0.7).tanh()
    with torch.no_grad():
        torch.testing.assert_close(module(x, RATIOS), expected)
        dynamic = {"x": {1: Dim("tiles", min=1, max=4)}, "aspect_ratio": None}
        method = program(module, (x[:, :3].contiguous(), RATIOS), dynamic_shapes=dynamic)
        torch.testing.assert_close(method.execute([x, RATIOS])[0], expected)


def test_embeddings_of_tokens_in_tiles():
    module = open_gate(TiledTokenPositionalEmbedding(3, 8, 20, 10))
    assert module.n_tokens_per_tile == 5
    x = torch.randn(4, 4, 5, 8)
    gate = torch.tensor(0.7).tanh()
    with torch.no_grad():
        expected = x + module.local_token_positional_embedding * (1 - gate)
        for picture, (rows, columns) in enumerate(RATIOS.tolist()):
            for tile in range(rows * columns):
                whole = module.global_token_positional_embedding[tile // columns, tile % columns]
                expected[picture, tile] += whole * gate
        torch.testing.assert_close(module(x, RATIOS), expected)
        torch.testing.assert_close(program(module, (x, RATIOS)).execute([x, RATIOS])[0], expected)


def ramp(*shape: int, over: tuple[int, ...]) -> Tensor:
    """Returns the sum of numbers that grow from 0 to 1 along each of some dimensions."""
    found = torch.zeros(shape)
    for d in over:
        found = found + torch.linspace(0, 1, shape[d]).reshape([-1 if i == d else 1 for i in range(len(shape))])
    return found


def test_weights_of_other_sizes_are_interpolated():
    """A linear function of the position stays linear: of tiles, of patches in a tile, of patches in the picture."""
    tiles = TilePositionalEmbedding(5, 4)
    tiles.load_state_dict({"embedding": ramp(3, 3, 1, 4, over=(0, 1)), "gate": torch.ones(1)})
    torch.testing.assert_close(tiles.embedding.data, ramp(5, 5, 1, 4, over=(0, 1)))

    def patches(side: int) -> Tensor:
        return torch.cat([torch.full((1, 4), 9.0), ramp(side, side, 4, over=(0, 1)).flatten(0, 1)])

    def picture(tile: int, side: int) -> Tensor:
        whole = ramp(tile * side, tile * side, 4, over=(0, 1)).unflatten(0, (tile, side)).unflatten(2, (tile, side))
        inside = whole.transpose(1, 2).flatten(2, 3)
        return torch.cat([ramp(tile, tile, 1, 4, over=(0, 1)), inside], dim=2)

    tokens = TiledTokenPositionalEmbedding(4, 4, 6, 2)
    state = {"local_token_positional_embedding": patches(2), "global_token_positional_embedding": picture(2, 2)}
    tokens.load_state_dict({**state, "gate": torch.zeros(1)})
    torch.testing.assert_close(tokens.local_token_positional_embedding.data, patches(3))
    torch.testing.assert_close(tokens.global_token_positional_embedding.data, picture(4, 3))
    with pytest.raises(ValueError, match=r"embedding: expected .* found \[2, 3, 1, 4\]"):
        tiles.load_state_dict({"embedding": torch.zeros(2, 3, 1, 4), "gate": torch.ones(1)})
    with pytest.raises(ValueError, match="local_token_positional_embedding"):
        tokens.load_state_dict({**state, "local_token_positional_embedding": torch.zeros(5, 3), "gate": torch.zeros(1)})


def test_theirs_are_replaced():
    """Modules whose classes have the same names are replaced and keep their weights; modules of ours stay."""
    tile, token = TilePositionalEmbedding(3, 8), TiledTokenPositionalEmbedding(3, 8, 20, 10)
    theirs = [type(type(part).__name__, (nn.Module,), {})() for part in (tile, token)]
    for made, part in zip(theirs, (tile, token), strict=True):
        for name, parameter in part.named_parameters():
            made.register_parameter(name, nn.Parameter(parameter.data.clone()))
    model = nn.ModuleDict({"inner": nn.ModuleList(theirs), "ours": tile})
    assert replace_tile_positional_embedding(replace_tiled_token_positional_embedding(model)) is model
    assert [type(part) for part in model["inner"]] == [type(tile), type(token)] and model["ours"] is tile
    for made, part in zip(model["inner"], (tile, token), strict=True):
        assert all(torch.equal(value, part.state_dict()[name]) for name, value in made.state_dict().items())
    attention = heads()
    other = type("MultiHeadAttention", (nn.Module,), {})()
    for name, value in {**attention.__dict__, **attention._modules, "kv_cache": None}.items():
        if not name.startswith("_") and name not in ("training", "cache_enabled"):
            setattr(other, name, value)
    replaced = replace_mha_with_inference_mha(nn.ModuleList([other]))[0]
    assert isinstance(replaced, MultiHeadAttention) and replaced.q_proj is attention.q_proj


def heads(**more: Any) -> MultiHeadAttention:
    torch.manual_seed(2)
    projections = {name: nn.Linear(16, width) for name, width in (("q", 16), ("k", 8), ("v", 8), ("output", 16))}
    return MultiHeadAttention(
        embed_dim=16, num_heads=4, num_kv_heads=2, head_dim=4, **{f"{name}_proj": p for name, p in projections.items()},
        **more,
    ).eval()  # fmt: skip


def by_definition(module: MultiHeadAttention, x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    q = module.q_proj(x).unflatten(-1, (4, 4)).transpose(1, 2)
    k, v = (
        layer(y).unflatten(-1, (2, 4)).transpose(1, 2).repeat_interleave(2, 1)
        for layer in (module.k_proj, module.v_proj)
    )
    scores = (q @ k.mT / 2).masked_fill(~mask, -torch.inf)
    return module.output_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


def test_attention():
    """Causal attention of a sequence to itself, attention to another sequence, and attention with a mask. The program
    accepts any length."""
    module, other = heads(), heads(is_causal=False)
    x, y = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    seen = torch.rand(2, 5, 7) > 0.3
    seen[..., 0] = True
    with torch.no_grad():
        causal = torch.ones(5, 5).tril().bool()
        torch.testing.assert_close(module(x, x), by_definition(module, x, x, causal))
        torch.testing.assert_close(other(x, y), by_definition(other, x, y, torch.ones(5, 7).bool()))
        torch.testing.assert_close(module(x, y, mask=seen), by_definition(module, x, y, seen[:, None]))
        method = program(other, (x, y), dynamic_shapes={"x": {1: Dim("x", max=9)}, "y": {1: Dim("y", max=9)}})
        torch.testing.assert_close(method.execute([x[:, :2], y])[0], other(x[:, :2], y), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("exported", [False, True])
def test_attention_with_a_cache(exported: bool):
    """If y is NaN, a call uses the keys and values of earlier calls. Those of later calls are appended to them."""
    module = heads(is_causal=False)
    x, y = torch.randn(1, 3, 16), torch.randn(1, 8, 16)
    no_y = torch.full((1, 4, 16), torch.nan)
    module.setup_cache(1, torch.float32, 8)
    assert module.cache_enabled and module.kv_cache is not None
    call: Any = module
    if exported:
        method = program(module, (x, y[:, :4]), kwargs={"mask": torch.ones(1, 3, 8, dtype=torch.bool)})
        call = lambda x, y, mask: method.execute([x, y, mask])[0]  # noqa: E731
    with torch.no_grad():
        for part, end in ((y[:, :4], 4), (no_y, 4), (y[:, 4:], 8), (no_y, 8)):
            mask = (torch.arange(8) < end).expand(1, 3, 8).contiguous()
            expected = by_definition(module, x, y[:, :end], torch.ones(3, end).bool())
            torch.testing.assert_close(call(x, part, mask=mask) if not exported else call(x, part, mask), expected,
                                       rtol=1e-4, atol=1e-5)  # fmt: skip
    if not exported:
        with pytest.raises(ValueError, match="do not fit 8"):
            module(x, y)
        module.reset_cache()
        assert module.kv_cache.size == 0 and not module.kv_cache.k_cache.any()


@pytest.mark.parametrize("exported", [False, True])
@pytest.mark.parametrize("heads_first", [False, True])
def test_attention_with_a_cache_of_either_layout(heads_first: bool, exported: bool):
    """As many tokens as heads: a wrong layout would give wrong numbers, and no error."""
    module = heads(kv_cache=KVCache(1, 6, 2, 4, torch.float32, transpose_cache=heads_first))
    y, parts = torch.randn(1, 4, 16), []
    if exported:
        mask = torch.ones(1, 2, 6, dtype=torch.bool)
        method = program(module, (y[:, :2], y[:, :2]), kwargs={"mask": mask})
    for end in (2, 4):
        mask = (torch.arange(6) <= torch.arange(end - 2, end)[:, None])[None].contiguous()
        part = y[:, end - 2 : end].contiguous()
        with torch.no_grad():
            parts.append(method.execute([part, part, mask])[0] if exported else module(part, part, mask=mask))
    with torch.no_grad():
        expected = by_definition(module, y, y, torch.ones(4, 4).tril().bool())
    torch.testing.assert_close(torch.cat(parts, 1), expected, rtol=1e-4, atol=1e-5)


def test_caches_of_both_layouts():
    for heads_first in (True, False):
        cache = KVCache(2, 6, 2, 3, torch.float32, transpose_cache=heads_first)
        values = torch.randn(2, 2, 4, 3) if heads_first else torch.randn(2, 4, 2, 3)
        dim = 2 if heads_first else 1
        for part in values.split([3, 1], dim=dim):
            keys, _ = cache.update(part, -part)
        assert torch.equal(keys.narrow(dim, 0, 4), values) and cache.size == 4
        copy = cache.clone()
        copy.reset()
        assert cache.size == 4 and torch.equal(cache.v_cache.narrow(dim, 0, 4), -values) and not copy.v_cache.any()
        with pytest.raises(ValueError, match="a batch of 2, found one of 3"):
            cache.update(values[:1].expand(3, -1, -1, -1), values[:1].expand(3, -1, -1, -1))


def test_wrong_arguments():
    for more, why in (({"attn_dropout": 2.0}, "from 0 to 1"), ({"q_norm": nn.Identity()}, "q_norm and k_norm")):
        with pytest.raises(ValueError, match=why):
            heads(**more)
    with pytest.raises(ValueError, match="expected y"):
        heads()(torch.randn(1, 2, 16))
    with pytest.raises(RuntimeError, match=r"setup_cache\(\)"):
        heads().reset_cache()


def test_gguf_files_become_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    """`extension.gguf_util`: the parts of a file, and its program, which computes the model's logits."""
    torch.manual_seed(3)
    model = small(generate_full_logits=False)
    file = write_gguf(tmp_path / "model.gguf", model, "llama", "F32")
    args, weights = load_file(str(file))
    assert (args.arch, args.embedding_length, args.block_count, args.vocab_size) == ("llama", 64, 2, 96)
    assert (args.attention.head_count, args.attention.head_count_kv, args.feed_forward_length) == (4, 2, 128)
    assert args.rope.freq_base == 10000.0 and dict(weights.tensors).keys() >= {"token_embd.weight", "output.weight"}
    command = ["convert_main", "--gguf_file", str(file), "--pte_file", str(tmp_path / "model.pte")]
    monkeypatch.setattr("sys.argv", command)
    convert_main.main()
    method = Runtime.get().load_program(tmp_path / "model.pte").load_method("forward")
    tokens = torch.randint(0, 96, (1, 6))
    with torch.no_grad():
        torch.testing.assert_close(method.execute([tokens, torch.tensor([0])])[0], model(tokens), rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="load_file"):
        convert_to_pte(args, GGUFWeights([]))
    args.block_count = 3
    with pytest.raises(ValueError, match="of another model"):
        convert_to_pte(args, weights)
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(SystemExit):
        convert_main.main()
    assert capsys.readouterr().err.startswith("error: ")
