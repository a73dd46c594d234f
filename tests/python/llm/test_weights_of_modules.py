# SPDX-License-Identifier: BSD-3-Clause
"""Weights of any module: quantised by rules, read from checkpoints, assigned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
from torchao.quantization import IntxUnpackedToInt8Tensor
from torchao.quantization.quantize_.workflows.int4.int4_tensor import Int4Tensor

from sdk.exir import to_edge
from sdk.extension.llm.export import gguf
from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.llm.export.gguf import ExportableGGUFTensor
from sdk.extension.llm.export.int4 import ExportableInt4Tensor
from sdk.extension.llm.export.load import (
    assert_all_materialized,
    assign_one,
    assign_state_dict,
    iter_checkpoint,
    load_checkpoint,
)
from sdk.extension.llm.export.quant import (
    QuantConfig,
    QuantRecipe,
    QuantRule,
    dequantize_weight,
    fuse_along_output,
    identity,
    quantize_model,
    quantize_stream,
    quantize_weight,
    to_default,
    to_exportable,
)
from sdk.extension.llm.export.quantize import quantize_model_

FOUR = QuantConfig(4, 32, True, "min_max")
RECIPE = QuantRecipe([QuantRule("norm.*", None), QuantRule(".*0.weight", QuantConfig(8, 16, False, "min_max"), {0}),
                      QuantRule(r".*\.weight", FOUR)])  # fmt: skip


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(64, 32, bias=False)) for _ in range(2)])
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 8)
        self.register_buffer("kept", torch.arange(3))
        self.register_buffer("table", torch.ones(2), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layers[0](x) + self.layers[1](x)
        return self.head(self.norm(x))


def weight(rows: int = 8, columns: int = 64) -> Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(rows * columns))


@pytest.mark.parametrize("bits", [4, 5, 6, 8])
@pytest.mark.parametrize(("symmetric", "method"), [(True, "min_max"), (False, "min_max"), (True, "hqq")])
def test_quantized_weights(bits: int, symmetric: bool, method: str) -> None:
    w = weight()
    quantized: Any = quantize_weight(w, QuantConfig(bits, 32, symmetric, method))
    assert type(quantized) is (Int4Tensor if bits == 4 else IntxUnpackedToInt8Tensor)
    groups = w.reshape(8, 2, 32)
    scale = (quantized.scale.t() if bits == 4 else quantized.scale).float()
    steps = 2**bits - 1
    if method == "min_max":
        spread = groups.abs().amax(-1) * 2 if symmetric else groups.amax(-1) - groups.amin(-1)
        torch.testing.assert_close(scale, (spread / steps).bfloat16().float(), rtol=0.01, atol=0)
    error = (dequantize_weight(quantized) - w).reshape(8, 2, 32).abs().amax(-1)
    # The error is half a step from rounding, and up to half a step from rounding the zero point or the bfloat16 scale.
    assert bool((error <= scale * (1.05 + steps / 256)).all())
    assert dequantize_weight(quantized, torch.float16).dtype == torch.float16


@pytest.mark.parametrize(
    ("config", "shape", "message"),
    [
        (QuantConfig(3, 32, True, "hqq"), (4, 32), "bits=3"),
        (QuantConfig(4, 32, True, "gptq"), (4, 32), "method='gptq'"),
        (QuantConfig(8, 32, False, "hqq"), (4, 32), "symmetric=True"),
        (FOUR, (4, 40), "whole groups of 32"),
        (FOUR, (2, 4, 32), "expected a matrix"),
    ],
)
def test_what_cannot_be_quantized(config: QuantConfig, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quantize_weight(torch.ones(shape), config)


def test_rules() -> None:
    assert RECIPE.get_config("norm.weight") is None
    assert RECIPE.get_config("layers.0.0.weight") == QuantConfig(8, 16, False, "min_max")
    assert RECIPE.get_config("layers.1.0.weight") == FOUR
    assert RECIPE.get_config("layers.1.0.bias") is None


def test_a_quantized_model_computes_with_the_quantized_weights() -> None:
    model, x = Model().eval(), torch.randn(5, 64)
    state = quantize_model(model, RECIPE, dtype=torch.float32)
    assert state.keys() == model.state_dict().keys() and "table" not in state
    assert isinstance(state["layers.0.0.weight"], IntxUnpackedToInt8Tensor)
    assert isinstance(state["head.weight"], ExportableInt4Tensor)
    streamed = dict(quantize_stream(model.named_parameters(), RECIPE))
    assert isinstance(streamed["head.weight"], Int4Tensor) and streamed["norm.weight"].dtype == torch.bfloat16
    expected, other = Model().eval(), Model().eval().to("meta")
    other.kept, other.table = model.kept, model.table
    for name, value in state.items():
        plain = value if type(value) is Tensor else dequantize_weight(value)
        assign_one(expected, name, plain)
    assign_state_dict(other, state)
    torch.testing.assert_close(other(x), expected(x))
    assert not any(p.requires_grad for p in other.parameters())
    program = torch.export.export(other, (x,)).run_decompositions({})
    targets = [str(node.target) for node in program.graph.nodes]
    assert "torchao.dequantize_int4_tensor.default" in targets


def test_forms() -> None:
    four, eight = quantize_weight(weight(), FOUR), quantize_weight(weight(), QuantConfig(8, 32, True, "min_max"))
    assert identity("w", four) is four
    exportable = to_exportable("w", four)
    assert isinstance(exportable, ExportableInt4Tensor) and to_exportable("w", eight) is eight
    byte_each = IntxUnpackedToInt8Tensor(
        torch.randint(-8, 8, (8, 64), dtype=torch.int8), torch.rand(8, 2), torch.zeros(8, 2, dtype=torch.int8),
        torch.int4, (1, 32), torch.float32, None,
    )  # fmt: skip
    assert to_exportable("w", byte_each) is byte_each
    halved: Any = to_default("w", byte_each)
    assert isinstance(halved, ExportableInt4Tensor) and halved.qdata.shape == (8, 32)
    torch.testing.assert_close(halved.dequantize(torch.float32), byte_each.dequantize())


def test_fused_weights() -> None:
    a, b = weight(8), weight(16)
    assert torch.equal(fuse_along_output([a, b]), torch.cat([a, b]))
    blocks = torch.randint(0, 200, (4, gguf._Q6_K_BLOCK_BYTES), dtype=torch.uint8)
    for first, second in [
        (to_exportable("", quantize_weight(a, FOUR)), to_exportable("", quantize_weight(b, FOUR))),
        tuple(quantize_weight(w, QuantConfig(6, 16, True, "hqq")) for w in (a, b)),
        (ExportableGGUFTensor.from_raw(blocks, "q6_k"), ExportableGGUFTensor.from_raw(blocks[:2], "q6_k")),
    ]:
        assert fuse_along_output([first]) is first
        fused = fuse_along_output([first, second])
        assert type(fused) is type(first)
        separate = [dequantize_weight(first), dequantize_weight(second)]
        torch.testing.assert_close(dequantize_weight(fused), torch.cat(separate), equal_nan=True)
    with pytest.raises(ValueError, match="at least one"):
        fuse_along_output([])
    with pytest.raises(TypeError, match="one kind"):
        fuse_along_output([a, quantize_weight(b, FOUR)])
    with pytest.raises(TypeError, match="Int4Tensor cannot be fused"):
        fuse_along_output([quantize_weight(a, FOUR)] * 2)
    with pytest.raises(ValueError, match="the same block_size"):
        fuse_along_output([quantize_weight(a, QuantConfig(8, size, True, "hqq")) for size in (16, 32)])


def test_checkpoints(tmp_path: Path) -> None:
    weights = {"a.weight": torch.ones(2, 3), "b.weight": torch.arange(4), "skipped.weight": torch.zeros(1)}
    save_file(weights, tmp_path / "model.safetensors")

    def key_map(name: str) -> str | None:
        return None if name.startswith("skipped") else f"model.{name}"

    for path in (tmp_path, tmp_path / "model.safetensors"):
        read = dict(
            iter_checkpoint(str(path), key_map=key_map, dtype=torch.float16, convert=lambda _, w: w * 2,
                            tie_map={"model.a.weight": ("c", False), "model.b.weight": ("model.a.weight", True)})
        )  # fmt: skip
        assert list(read) == ["model.a.weight", "model.b.weight", "c"]
        assert read["c"] is read["model.a.weight"] and read["c"].dtype == torch.float16
        assert torch.equal(read["c"], torch.full((2, 3), 2).half()) and read["model.b.weight"].tolist() == [0, 2, 4, 6]
    assert list(iter_checkpoint("x", raw_iter=lambda path: [(path, torch.ones(1))])) == [("x", torch.ones(1))]
    with pytest.raises(ValueError, match=r"expected a \.gguf or \.safetensors file"):
        list(iter_checkpoint("model.bin"))


def test_quantized_safetensors_of_torchao(tmp_path: Path) -> None:
    """The parts of a weight may be in several files."""
    model = Model().eval()
    state = dict(quantize_stream(model.state_dict().items(), RECIPE, torch.float32))
    tensors, about = flatten_tensor_state_dict(state)
    for number in range(2):
        part = {name: value for i, (name, value) in enumerate(sorted(tensors.items())) if i % 2 == number}
        save_file(part, tmp_path / f"part-{number}.safetensors", metadata=about)
    read = dict(iter_checkpoint(str(tmp_path)))
    assert read.keys() == state.keys() and isinstance(read["head.weight"], ExportableInt4Tensor)
    for name, value in state.items():
        if type(value) in (Int4Tensor, IntxUnpackedToInt8Tensor):
            assert torch.equal(dequantize_weight(read[name]), dequantize_weight(value))
        else:
            assert torch.equal(read[name], value)
    (tmp_path / "part-0.safetensors").unlink()
    with pytest.raises(CheckpointError, match="cannot be made of its parts"):
        list(iter_checkpoint(str(tmp_path)))


def test_a_checkpoint_for_a_model(tmp_path: Path) -> None:
    model = Model()
    weights = {name: value for name, value in model.state_dict().items() if name != "head.bias"}
    save_file(weights, tmp_path / "model.safetensors")
    empty = Model().to("meta")
    with pytest.raises(RuntimeError, match=r"lacks head\.bias: is it of this model"):
        load_checkpoint(str(tmp_path), empty)
    load_checkpoint(str(tmp_path), empty, tie_map={"norm.bias": ("norm.bias", True)}, key_map=lambda name: name,
                    raw_iter=lambda path: [*weights.items(), ("head.bias", model.head.bias.data)])  # fmt: skip
    assert_all_materialized(empty)
    assert torch.equal(empty.kept, model.kept) and not isinstance(empty.kept, nn.Parameter)
    assert all(torch.equal(a, b) for a, b in zip(empty.parameters(), model.parameters(), strict=True))


class Words(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.model = nn.ModuleDict({"embed_tokens": nn.Embedding(16, width), "odd": nn.Linear(width, 40)})
        self.model.embed_tokens = self.model["embed_tokens"]
        self.lm_head = nn.Linear(width, 16, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.lm_head(self.model["embed_tokens"](tokens))
        return logits


@pytest.mark.parametrize(
    ("kind", "group", "bits"), [("4w", 32, 4), ("8w", None, 8), ("8da4w", None, 4), ("8da8w", 0, 8)]
)
def test_quantized_layers(kind: str, group: int | None, bits: int) -> None:
    model = Words()
    plain = model.lm_head.weight.data.clone()
    quantize_model_(model, qlinear_config=kind, qlinear_group_size=group, qembedding_config="8w")
    layer: Any = model.lm_head.weight
    assert layer.target_dtype == getattr(torch, f"int{bits}")
    assert layer.block_size == (1, 64 if bits == 8 else 32)
    assert (layer.activation_quantization is not None) == kind.startswith("8da")
    scale = layer.scale.float().reshape(16, -1).repeat_interleave(64 // layer.scale.reshape(16, -1).shape[1], 1)
    restored = layer.qdata.float() * scale
    # Rounding to the nearest integer is off by a quarter of a step on average.
    assert (restored - plain).abs().mean() <= 0.3 * scale.mean()
    tokens = torch.tensor([[1, 5, 9]])
    program = to_edge(torch.export.export(model.eval(), (tokens,))).exported_program()
    torch.testing.assert_close(program.module()(tokens), model(tokens), rtol=1e-3, atol=1e-3)


def test_layers_that_do_not_fit_and_kinds() -> None:
    quantize_model_(Words())
    odd = nn.Sequential(nn.Linear(40, 8), nn.Linear(64, 8))
    with pytest.raises(RuntimeError, match="0: rows of 40 weights are not whole groups of 32"):
        quantize_model_(odd, "4w")
    quantize_model_(odd, "4w", skip_incompatible_shapes=True)
    assert type(odd[0].weight.data) is Tensor and isinstance(odd[1].weight, IntxUnpackedToInt8Tensor)
    refused: tuple[tuple[dict[str, Any], type[Exception]], ...] = (
        ({"qlinear_config": "5w"}, ValueError),
        ({"qembedding_config": "8da4w"}, ValueError),
        ({"qlinear_config": "nvfp4"}, NotImplementedError),
        ({"qlinear_config": "fpa4w"}, NotImplementedError),
        ({"qlinear_packing_format": "tile_packed_to_4d"}, NotImplementedError),
    )
    for arguments, error in refused:
        with pytest.raises(error, match=next(iter(arguments))):
            quantize_model_(Words(), **arguments)


@pytest.mark.parametrize(
    ("linear", "embedding"),
    [(("8w", None), ("8w", 0)), (("4w", 32), ("4w", None)), (("8w", 32), ("8w", None)), (("4w", 16), ("4w", 32)),
     (("8w", None), ("4w", None)), (("8da8w", None), ("8w", None))],
)  # fmt: skip
def test_word_embeddings_are_tied_if_they_are_quantized_alike(
    linear: tuple[str, int | None], embedding: tuple[str, int | None]
) -> None:
    """Each layer has the kind and the group size that were asked for, tied or not."""
    model = Words()
    model.lm_head.weight = model.model.embed_tokens.weight
    plain = model.lm_head.weight.data.clone()
    quantize_model_(model, *linear, None, *embedding, tie_word_embeddings=True)
    sizes = []
    for layer, (kind, group) in ((model.lm_head, linear), (model.model.embed_tokens, embedding)):
        weight: Any = layer.weight
        sizes.append((32 if kind == "4w" else 64) if group in (None, 0) else group)
        assert weight.target_dtype == getattr(torch, f"int{kind[-2]}") and weight.block_size == (1, sizes[-1])
        assert (weight.dequantize() - plain).abs().max() <= 1.1 * weight.scale.max()
    alike = linear[0] == embedding[0] and sizes[0] == sizes[1]
    assert (model.lm_head.weight is model.model.embed_tokens.weight) == alike


def test_word_embeddings_that_cannot_be_tied() -> None:
    untied, before = Words(), Words()
    with pytest.raises(ValueError, match=r"lm_head and model\.embed_tokens have different weights"):
        quantize_model_(untied, "8w", qembedding_config="8w", tie_word_embeddings=True)
    assert type(untied.lm_head.weight.data) is Tensor is type(before.lm_head.weight.data)  # nothing was quantised
    with pytest.raises(ValueError, match=r"expected the layers lm_head .*, found NoneType and NoneType"):
        quantize_model_(nn.Sequential(nn.Linear(64, 8)), "8w", qembedding_config="8w", tie_word_embeddings=True)
    other = nn.Sequential(nn.Linear(64, 8))
    quantize_model_(other, "8w", tie_word_embeddings=True)  # nothing would be tied
    assert type(other[0].weight.data) is not Tensor


def test_a_weight_that_the_model_does_not_have() -> None:
    model = Model()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    for name, message in (
        ("head.weigth", "no parameter or buffer 'head.weigth'; did you mean 'head.weight'"),
        ("haed.weight", "no parameter or buffer 'haed.weight'; did you mean 'head.weight'"),
        ("rope.frequencies", "no parameter or buffer 'rope.frequencies': is it of this model"),
    ):
        with pytest.raises(AttributeError, match=message):
            assign_state_dict(model, {**state, name: torch.ones(3)})
    with pytest.raises(AttributeError, match=r"no parameter or buffer '0\.bias'"):
        assign_one(nn.Sequential(nn.Linear(2, 2, bias=False)), "0.bias", torch.ones(2))
    with pytest.raises(ValueError, match=r"head\.bias has the shape \[9\] in the checkpoint, expected \[\d+\]"):
        assign_one(model, "head.bias", torch.ones(9))
    assert model.state_dict().keys() == state.keys()
    kept = nn.Module()
    kept.register_buffer("table", torch.zeros(2), persistent=False)
    kept.register_buffer("later", None)
    assign_one(kept, "table", torch.ones(2))
    assign_one(kept, "later", torch.ones(3))
    assert kept.table.tolist() == [1, 1] and list(kept.state_dict()) == ["later"]


def test_constants_of_gguf() -> None:
    """The values of ggml's enumeration and block layouts."""
    assert (gguf.QK_K, gguf.GGML_F32, gguf.GGML_F16) == (256, 0, 1)
    assert (gguf.GGML_Q4_K, gguf.GGML_Q5_K, gguf.GGML_Q6_K) == (12, 13, 14)
    raw = torch.randint(0, 255, (2, 144), dtype=torch.uint8)
    raw[:, 1] &= 0x3B  # a finite scale and minimum
    raw[:, 3] &= 0x3B
    expected = ExportableGGUFTensor.from_raw(raw, "q4_k").dequantize(torch.float32)
    assert torch.equal(gguf.dequantize_gguf(raw, "q4_k", torch.float32), expected)
