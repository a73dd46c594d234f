# SPDX-License-Identifier: BSD-3-Clause
"""Layers with integer weights, and the functions that make them, compared with their arithmetic."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from language_models import small
from torch import Tensor, nn

from sdk.examples.models.llama.source_transformation import pre_quantization
from sdk.examples.models.llama.source_transformation import quantize as names
from sdk.exir import to_edge
from sdk.extension.llm.export.quantize import quantize_linear
from sdk.runtime import Runtime

X = torch.randn(2, 64, generator=torch.Generator().manual_seed(1))
TOKENS = torch.randint(0, 96, (1, 9), generator=torch.Generator().manual_seed(4))


def test_scales_of_rows_and_groups():
    x = torch.randn(3, 10, generator=torch.Generator().manual_seed(2))
    for size, groups in ((None, 1), (0, 1), (5, 2), (4, 3)):
        q, scales, zeros = names.dynamically_quantize_per_channel(
            x, -8, 7, torch.int8, size, scales_dtype=torch.float32
        )
        assert q.shape == x.shape and scales.shape == zeros.shape == (3, groups) and not zeros.any()
        step = scales.repeat_interleave(size or 10, 1)[:, :10]
        assert ((q * step - x).abs() <= step * 0.5001).all() and q.min() >= -8 and q.max() <= 7
        largest = torch.stack([part.abs().amax(1) for part in x.split(size or 10, 1)], 1)
        torch.testing.assert_close(scales, largest / 7.5)
    with pytest.raises(ValueError, match="not whole groups of 4"):
        names.dynamically_quantize_per_channel(x, -8, 7, torch.int8, 4, enable_non_multiple_groups=False)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.table, self.hidden, self.output = nn.Embedding(20, 64), nn.Linear(64, 64, False), nn.Linear(64, 20, False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.output(self.hidden(self.table(tokens)))


@pytest.mark.parametrize("kind", ["*", "output", "!output"])
def test_linear_layers_in_int8(kind: str):
    net, before = Net(), Net()
    handler = names.WeightOnlyInt8QuantHandler(net, node_type=kind)
    assert handler.quantized_model() is net
    chosen = {"*": ["hidden", "output"], "output": ["output"], "!output": ["hidden"]}[kind]
    for name in ("hidden", "output"):
        layer, weight = getattr(net, name), getattr(before, name).weight
        assert isinstance(layer, names.WeightOnlyInt8Linear) == (name in chosen)
        if name in chosen:
            scales = weight.abs().amax(1) / 127.5
            expected = X @ (torch.round(weight / scales[:, None]).clamp(-128, 127) * scales[:, None]).T
            torch.testing.assert_close(layer(X), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="hidden has a bias"):
        names.WeightOnlyInt8QuantHandler(nn.ModuleDict({"hidden": nn.Linear(2, 2)})).quantized_model()
    with pytest.raises(ValueError, match="bitwidth=3"):
        names.WeightOnlyInt8QuantHandler(net, bitwidth=3)


def test_int8_layers_have_no_groups():
    """A group size is for the state only; whoever quantises layers or a model with one gets an error."""
    net = Net()
    handler = names.WeightOnlyInt8QuantHandler(net, group_size=32)
    assert handler.create_quantized_state_dict()["hidden.scales"].shape == (64, 2)
    for quantise in (
        handler.quantized_model,
        lambda: names.quantize(net, "int8", group_size=32),
        lambda: quantize_linear(net, "int8", 32),
    ):
        with pytest.raises(ValueError, match=r"group_size=32: .*scale for each row; leave it out"):
            quantise()
    assert type(net.hidden) is nn.Linear and type(net.hidden.weight.data) is Tensor
    moved = names.WeightOnlyInt8QuantHandler(net, "meta").create_quantized_state_dict()
    assert moved["hidden.weight"].device.type == moved["hidden.scales"].device.type == "meta"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_embeddings_keep_the_dtype_of_their_result(dtype: torch.dtype):
    """`to` with a dtype changes it, and a move to a device does not."""
    table = names.QuantizedGroupEmbedding("cpu", 4, 8, dtype=dtype)
    tokens = torch.tensor([1])
    assert table(tokens).dtype == dtype
    assert table.to("cpu").cpu()(tokens).dtype == dtype
    assert nn.Sequential(table).to(torch.device("cpu"))(tokens).dtype == dtype
    assert table.to(torch.bfloat16)(tokens).dtype == torch.bfloat16
    assert table.float()(tokens).dtype == torch.float32


@pytest.mark.parametrize("hqq", [False, True])
@pytest.mark.parametrize(("bits", "group"), [(8, None), (8, 16), (4, 32), (2, 16), (4, None)])
def test_embeddings(bits: int, group: int | None, hqq: bool):
    """Results are close to those of the float weights, equal to the arithmetic with integers and scales, and the same
    in a program."""
    net, before = Net(), Net().table.weight
    transform = names.get_quant_embedding_transform(f"{bits},{group or 0}", quantize_with_hqq=hqq)
    assert transform(net) is net
    table = net.table
    assert isinstance(table, names.QuantizedGroupEmbedding) and table.packed == (bits < 8)
    assert table.weight.shape == (20, 64 * bits // 8 if bits < 8 else 64)
    tokens = torch.tensor([[3, 0, 19]])
    found = table(tokens)
    size = group or 64
    step = table.scales.reshape(20, -1).float().repeat_interleave(size, 1)
    integers = found[0] / step[[3, 0, 19]]
    torch.testing.assert_close(integers, integers.round(), rtol=0, atol=1e-3)
    error = (found[0] - before[[3, 0, 19]]).abs() / step[[3, 0, 19]]
    assert (error <= (1.6 if hqq else 0.51)).float().mean() > 0.95  # HQQ cuts off the largest weights
    made = to_edge(torch.export.export(nn.Sequential(table), (tokens,))).to_executorch()
    method = Runtime.get().load_program(made.buffer).load_method("forward")
    assert method is not None
    torch.testing.assert_close(method.execute([tokens])[0], found)


@pytest.mark.parametrize("qmode", ["int8", "8da4w", "8da8w", "4w", "torchao:8da5w", "torchao:fpa3w"])
def test_modes_of_linear_layers(qmode: str):
    """Results are nearer to those of the float model with more bits, and not equal to them."""
    model, exact = small(), small()
    transform = names.get_quant_weight_transform(qmode, group_size=None if qmode == "int8" else 32)
    assert transform(model) is model
    with torch.no_grad():
        found, expected = model(TOKENS), exact(TOKENS)
    least = 0.95 if "3" in qmode else 0.99
    assert torch.nn.functional.cosine_similarity(found, expected, dim=-1).min() > least
    assert not torch.allclose(found, expected, atol=1e-4)


def test_shared_embeddings():
    model = small()
    transform = names.get_quant_embedding_transform("torchao:4,32", use_shared_embedding=True)
    with pytest.raises(ValueError, match="have different weights"):
        transform(model)
    model.output.weight = model.tok_embeddings.weight
    transform(model)
    assert model.output.weight is model.tok_embeddings.weight
    with pytest.raises(ValueError, match='use_shared_embedding=True needs "torchao:<bits>,<group size>"'):
        names.get_quant_embedding_transform("4,32", use_shared_embedding=True)
    for text, why in (("3,32", "embedding_quantize of 3,32"), ("8", "embedding_quantize of 8")):
        with pytest.raises(ValueError, match=why):
            names.get_quant_embedding_transform(text)
    for qmode, group, why in (("8da4w-gptq", 32, "is not known"), ("torchao:8da4w", None, "needs group_size")):
        with pytest.raises(ValueError, match=why):
            names.quantize(small(), qmode, group_size=group)


def integers(rows: int, columns: int, groups: int, half: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randint(-half, half, (rows, columns), dtype=torch.int8, generator=generator)
    shape = (rows, groups) if groups else (rows,)
    return weight, torch.rand(shape, generator=generator) / half + 0.01


def test_layers_of_a_checkpoint():
    """The layers load quantised weights and scales from a checkpoint, and compute with them."""
    parts = {
        "hidden": integers(64, 64, 2, 8, 1),
        "output": integers(20, 64, 0, 128, 2),
        "table": integers(20, 64, 2, 128, 3),
    }
    state: dict[str, Any] = {}
    for name, (weight, scales) in parts.items():
        state |= {f"{name}.weight": weight[None], f"{name}.scales": scales[None]}
    pre_quantization.sanitize_checkpoint_from_pre_quantization(state)
    assert state["hidden.weight"].shape == (64, 64)
    for weight_only in (False, True):
        net: Any = Net()
        net = pre_quantization.transform_output_linear_for_pre_quantization(net, state, torch.float32)
        net = pre_quantization.transform_linear_for_pre_quantization(net, state, 32, torch.float32, weight_only)
        net = pre_quantization.transform_embedding_for_pre_quantization(net, state, torch.float32, 8, 32)
        missing, unexpected = net.load_state_dict(state, strict=False)
        assert not unexpected and all(name.endswith("zeros") for name in missing)
        weight = parts["hidden"][0] * parts["hidden"][1].repeat_interleave(32, 1)
        tolerance = 1e-4 if weight_only else 0.05 * float(weight.abs().max())
        torch.testing.assert_close(net.hidden(X), X @ weight.T, rtol=1e-4, atol=tolerance * 8)
        if weight_only:
            assert isinstance(net.hidden, pre_quantization.WeightOnlyInt4Linear)
            torch.testing.assert_close(net.hidden(X), X @ weight.T, rtol=1e-4, atol=1e-3)
        rounded = names.linear_forward_8da8w(X, *parts["output"], torch.zeros(20), 20, torch.float32)
        assert torch.equal(net.output(X), rounded)
        with pytest.raises(ValueError, match="out_features=19: weight_int8 has 20 rows"):
            names.linear_forward_8da8w(X, *parts["output"], torch.zeros(20), 19, torch.float32)
        whole = parts["output"][0] * parts["output"][1][:, None]
        step = (X.amax(1).clamp(min=0) - X.amin(1).clamp(max=0)) / 255
        assert ((rounded - X @ whole.T).abs() <= step[:, None] * whole.abs().sum(1) * 0.51).all()
        rows = parts["table"][0] * parts["table"][1].half().repeat_interleave(32, 1)
        torch.testing.assert_close(net.table(torch.tensor([4, 7])).float(), rows[[4, 7]].float(), rtol=1e-2, atol=1e-2)
    assert names.set_8da4w_computation_dtype(net, torch.float16) is net


def test_checkpoints_that_do_not_fit():
    weight, scales = integers(64, 64, 2, 8, 1)
    state = {"hidden.weight": weight.float(), "hidden.scales": scales}
    transform = pre_quantization.transform_linear_for_pre_quantization
    with pytest.raises(ValueError, match="hidden: expected weights in"):
        transform(Net(), state, 32, torch.float32)
    state["hidden.weight"] = weight
    with pytest.raises(ValueError, match="group_size=48"):
        transform(Net(), state, 48, torch.float32)
    with pytest.raises(ValueError, match="rows of 64 weights are not whole groups of 128"):
        transform(Net(), state, 128, torch.float32)
    with pytest.raises(ValueError, match="in_features=64"):
        pre_quantization.WeightOnlyInt4Linear(64, 2, groupsize=48)
    with pytest.raises(ValueError, match="bias=False"):
        names.Int8DynActInt8WeightLinear(4, 4)
    with pytest.raises(ValueError, match="only 2 and 4 bits are packed"):
        names.QuantizedGroupEmbedding("cpu", 4, 8, packed=True)
    with pytest.raises(ValueError, match="packed=True"):
        names.EmbeddingQuantHandler(Net(), packed=True)
