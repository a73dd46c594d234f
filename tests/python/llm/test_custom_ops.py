# SPDX-License-Identifier: BSD-3-Clause
"""torch.ops.llama: eager, exported and run. Expected values come from PyTorch's `scaled_dot_product_attention`."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from declared import default
from sdk.exir import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from sdk.extension.llm.custom_ops import custom_ops, op_fallback  # noqa: F401  (registers the operators)
from sdk.runtime import Runtime

HEADS, KEY_HEADS, WIDTH, CONTEXT, MODEL = 4, 2, 16, 40, 64

llama = torch.ops.llama


def reference(q: Tensor, k: Tensor, v: Tensor, start: int, scale: float | None = None) -> Tensor:
    """Causal attention of the positions from `start` over the first `start` + positions of k and v."""
    queries = q.shape[1]
    k, v = (t[:, : start + queries].repeat_interleave(q.shape[2] // k.shape[2], 2) for t in (k, v))
    mask = torch.ones(queries, start + queries, dtype=torch.bool).tril(start)
    rows = [t.float().transpose(1, 2) for t in (q, k, v)]
    out = nn.functional.scaled_dot_product_attention(*rows, attn_mask=mask, scale=scale)
    return out.transpose(1, 2).to(q.dtype)


def random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("start", [0, 7, 33])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_eager_sdpa_with_kv_cache_is_attention_over_the_cache(start: int, dtype: torch.dtype) -> None:
    q, k, v = (random(2, 7, heads, 8, seed=i, dtype=dtype) for i, heads in enumerate((4, 2, 2)))
    caches = [random(2, CONTEXT, 2, 8, seed=9 + i, dtype=dtype) for i in range(2)]
    expected = [cache.clone() for cache in caches]
    for cache, value in zip(expected, (k, v), strict=True):
        cache[:, start : start + 7] = value
    out = llama.sdpa_with_kv_cache(q, k, v, *caches, start, 7, None, 0.0, True)
    assert all(torch.equal(*pair) for pair in zip(caches, expected, strict=True))
    torch.testing.assert_close(out, reference(q, expected[0], expected[1], start))


def test_update_cache_writes_in_place_and_by_indices() -> None:
    cache = torch.zeros(2, 8, 1, 1)
    llama.update_cache(torch.arange(1.0, 5).reshape(2, 2, 1, 1), cache, 3)
    assert cache.flatten().tolist() == [0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0]
    indices = torch.tensor([[0, 7], [2, 2]])
    llama.update_cache_with_indices(torch.arange(5.0, 9).reshape(2, 2, 1, 1), cache, 0, indices)
    assert cache.flatten().tolist() == [5, 0, 0, 1, 2, 0, 0, 6, 0, 0, 8, 3, 4, 0, 0, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda q, k: llama.update_cache(k[:, :3], k.clone(), 38), "do not fit the cache, which has 40"),
        (lambda q, k: llama.update_cache(k[:, :3], k.clone(), -1), "must not be negative"),
        (lambda q, k: llama.update_cache(k[:, :3].half(), k.clone(), 0), "must have one dtype"),
        (lambda q, k: llama.update_cache(k[:, :3, :1], k.clone(), 0), "dimension 2 of the cache is 2"),
        (lambda q, k: llama.custom_sdpa(q, k, k, 38, None, 0.0, True), "do not fit the cache, which has 40"),
        (lambda q, k: llama.custom_sdpa(q[:, :, :3], k, k, 0), "3 heads of query are not a multiple"),
        (lambda q, k: llama.custom_sdpa(q, k, k, 0, torch.zeros(3, 40), 0.0, True), "cannot be given together"),
        (lambda q, k: llama.custom_sdpa(q, k, k, 0, None, 0.5), "drpout_p must be 0"),
        (lambda q, k: llama.custom_sdpa(q.double(), k.double(), k.double(), 0), "float32, float16 or bfloat16"),
        (
            lambda q, k: llama.update_cache_with_indices(k[:, :1], k.clone(), 0, torch.tensor([[40]])),
            "positions 0 to 39",
        ),
        (lambda q, k: llama.fast_hadamard_transform(torch.zeros(12)), "2\\^k or 28"),
    ],
)
def test_wrong_arguments_say_what_was_expected(call: Any, message: str) -> None:
    with pytest.raises((ValueError, RuntimeError), match=message):
        call(random(1, 3, 4, 8), random(1, 40, 2, 8))


class Decoder(nn.Module):
    """One layer of attention over a cache, with a projection on each side."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form
        self.qkv = nn.Linear(MODEL, (HEADS + 2 * KEY_HEADS) * WIDTH)
        self.out = nn.Linear(HEADS * WIDTH, MODEL)
        self.keys = nn.Buffer(torch.zeros(1, CONTEXT, KEY_HEADS, WIDTH))
        self.values = nn.Buffer(torch.zeros(1, CONTEXT, KEY_HEADS, WIDTH))

    def forward(self, x: Tensor, position: Tensor) -> Tensor:
        start, length = position[0].item(), x.shape[1]
        torch._check(start >= 0)
        torch._check(start + length <= CONTEXT)
        rows = self.qkv(x).view(1, length, HEADS + 2 * KEY_HEADS, WIDTH)
        q, k, v = rows.split([HEADS, KEY_HEADS, KEY_HEADS], 2)
        if self.form == "sdpa_with_kv_cache":
            y = llama.sdpa_with_kv_cache(q, k, v, self.keys, self.values, start, length, None, 0.0, True)
        else:
            llama.update_cache(k, self.keys, start)
            llama.update_cache(v, self.values, start)
            y = llama.custom_sdpa(q, self.keys, self.values, start, None, 0.0, True)
        return self.out(y.reshape(1, length, HEADS * WIDTH))


def lowered(model: nn.Module, delegated: bool) -> EdgeProgramManager:
    example = (random(1, 5, MODEL), torch.tensor([0]))
    program = torch.export.export(
        model, example, dynamic_shapes=({1: Dim("length", min=1, max=CONTEXT)}, None), strict=False
    )
    if delegated:
        return to_edge_transform_and_lower(program, partitioner=[default().make("partitioner")])
    return to_edge(program)


@pytest.mark.parametrize("delegated", [False, True], ids=["portable", "delegated"])
@pytest.mark.parametrize("form", ["sdpa_with_kv_cache", "update_cache and custom_sdpa"])
def test_an_exported_decoder_prefills_and_decodes_as_eager(form: str, delegated: bool) -> None:
    """The sequence has any length, and the caches stay in the program and are written in place."""
    torch.manual_seed(0)
    model = Decoder(form).eval()
    manager = lowered(model, delegated).to_executorch()
    graph = str(manager.exported_program().graph)
    assert "auto_functionalized" not in graph
    assert "copy_" not in graph.replace("_copy", "")  # the caches are not written back: they were written in place
    method = Runtime.get().load_program(manager.buffer).load_method("forward")
    assert method is not None
    start = 0
    for length in (9, 1, 1, 16, 1, 12):
        x = random(1, length, MODEL, seed=start)
        with torch.no_grad():
            expected = model(x, torch.tensor([start]))
        torch.testing.assert_close(method.execute([x, torch.tensor([start])])[0], expected, rtol=1e-4, atol=1e-5)
        start += length
    assert start == CONTEXT
    with pytest.raises(RuntimeError):  # a position more than the cache has
        method.execute([random(1, 1, MODEL), torch.tensor([CONTEXT])])


class ReadsTheOldCache(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cache = nn.Buffer(torch.zeros(1, 4, 1, 2))

    def forward(self, value: Tensor) -> tuple[Tensor, Tensor]:
        before = self.cache * 2
        kept = self.cache.clone()
        llama.update_cache(value, self.cache, 1)
        return before + kept, self.cache + 1


class ReadsAViewOfTheOldCache(ReadsTheOldCache):
    def forward(self, value: Tensor) -> tuple[Tensor, Tensor]:
        before = self.cache.view(8).clone()
        first = self.cache[:, :3].clone()
        llama.update_cache(value, self.cache, 1)
        return before * 2, first * 2


class ReturnsTheCache(ReadsTheOldCache):
    def forward(self, value: Tensor) -> tuple[Tensor, Tensor]:
        before = self.cache.clone()
        llama.update_cache(value, self.cache, 1)
        return before, self.cache.clone()


class WritesToALayer(nn.Module):
    """The cache of all layers is one tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = nn.Buffer(torch.zeros(2, 1, 4, 1, 2))

    def forward(self, value: Tensor) -> Tensor:
        llama.update_cache(value, self.cache[1], 1)
        return self.cache + 1


@pytest.mark.parametrize("model", [ReadsTheOldCache, ReadsAViewOfTheOldCache, ReturnsTheCache, WritesToALayer])
def test_values_of_a_cache_before_and_after_a_write(model: type[nn.Module]) -> None:
    module = model()
    value = random(1, 2, 1, 2)
    manager = to_edge(torch.export.export(model(), (value,))).to_executorch()
    method = Runtime.get().load_program(manager.buffer).load_method("forward")
    assert method is not None
    for seed in range(3):
        x = random(1, 2, 1, 2, seed=seed)
        with torch.no_grad():
            expected = module(x)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for got, want in zip(method.execute([x]), expected, strict=True):
            torch.testing.assert_close(got, want)


class Call(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


def run(function: Any, *args: Tensor) -> Any:
    """Returns the result of the runtime's kernel for a call of one operator."""
    manager = to_edge(torch.export.export(Call(function), args)).to_executorch()
    method = Runtime.get().load_program(manager.buffer).load_method("forward")
    assert method is not None
    return method.execute(list(args))[0]


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("queries", [1, 2, 15, 16, 17, 63, 64, 65])
def test_the_kernel_equals_pytorch(queries: int, dtype: torch.dtype) -> None:
    """Shapes of models, at both ends of the cache."""
    for heads, key_heads, width in ((32, 8, 64), (3, 1, 80)):
        q = random(1, queries, heads, width, seed=1, dtype=dtype)
        k, v = (random(1, 257, key_heads, width, seed=i, dtype=dtype) for i in (2, 3))
        for start in (0, 257 - queries):
            out = run(lambda q, k, v, s=start: llama.custom_sdpa(q, k, v, s, None, 0.0, True), q, k, v)
            torch.testing.assert_close(out, reference(q, k, v, start))


def test_the_kernel_with_masks_equals_pytorch() -> None:
    q, k, v = random(1, 6, 4, 32), random(1, 50, 2, 32, seed=1), random(1, 50, 2, 32, seed=2)
    for mask in (random(6, 50, seed=3), random(6, 50, seed=3) > 0, random(6, 50, seed=3).half()):
        out = run(lambda q, k, v, m: llama.custom_sdpa(q, k, v, 3, m, 0.0, False, 0.3), q, k, v, mask)
        rows = [t.transpose(1, 2).repeat_interleave(4 // t.shape[2], 1) for t in (q, k, v)]
        added = mask if mask.dtype == torch.bool else mask.float()
        expected = nn.functional.scaled_dot_product_attention(*rows, attn_mask=added, scale=0.3).transpose(1, 2)
        torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("size", [1, 2, 28, 56, 128, 14336])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_hadamard_kernel_equals_eager(size: int, dtype: torch.dtype) -> None:
    x = random(3, size, dtype=dtype)
    torch.testing.assert_close(run(llama.fast_hadamard_transform, x), llama.fast_hadamard_transform(x))
    if size > 1 and size % 28:
        torch.testing.assert_close(
            llama.fast_hadamard_transform(llama.fast_hadamard_transform(x.float())), x.float()
        )  # H / sqrt(n) is its own inverse


@pytest.mark.parametrize("seq_at_2", [False, True])
def test_quantized_attention_equals_that_of_the_floats(seq_at_2: bool) -> None:
    """Attention over int8 tensors (for an int8 cache) equals attention over the floats that they represent."""
    generator = torch.Generator().manual_seed(0)
    tensors, floats = [], []
    for positions, heads in ((5, 4), (40, 2), (40, 2)):
        shape = (1, positions, heads, 16)
        x = torch.randint(-128, 128, shape, dtype=torch.int8, generator=generator)
        zero = torch.randint(-20, 20, (*shape[:3], 1), dtype=torch.int8, generator=generator)
        scale = torch.rand(*shape[:3], 1, generator=generator) * 0.02
        floats.append((x.float() - zero) * scale)
        order = (0, 2, 1, 3) if seq_at_2 else (0, 1, 2, 3)
        tensors += [t.permute(order).contiguous() for t in (x, zero, scale)]

    def call(*args: Tensor) -> Any:
        q, zq, sq, k, zk, sk, v, zv, sv = args
        return llama.custom_quantized_sdpa(q, k, v, 7, None, 0.0, True, None, zq, sq, zk, sk, zv, sv, seq_at_2)

    expected = reference(floats[0], floats[1], floats[2], 7)
    expected = expected.transpose(1, 2) if seq_at_2 else expected
    torch.testing.assert_close(call(*tensors), expected)
    torch.testing.assert_close(run(call, *tensors), expected)


def test_fallback_copies() -> None:
    x = random(2, 3)
    assert torch.equal(run(llama.fallback, x), x)
    out = torch.empty(0)
    assert torch.equal(llama.fallback.out(x, output=out), x)


def test_caches_of_cross_attention() -> None:
    """`update_cross_attn_cache` writes the first positions of the cache, also in a branch of the program. It refuses
    more positions than the cache has."""
    update = torch.ops.executorch.update_cross_attn_cache
    value, cache = torch.randn(2, 1, 3, 4), torch.zeros(2, 1, 5, 4)
    result = update(value, cache)
    assert torch.equal(cache[:, :, :3], value) and not cache[:, :, 3:].any()
    assert torch.equal(result, cache) and result.data_ptr() != cache.data_ptr()

    class Branch(nn.Module):
        def forward(self, chosen: Tensor, value: Tensor, cache: Tensor) -> Tensor:
            return torch.cond(chosen, lambda v, c: update(v, c), lambda v, c: update(v * 2, c), (value, cache))

    inputs = (torch.tensor(False), value, cache)
    program = torch.export.export(Branch(), inputs)
    assert torch.equal(program.module()(*inputs)[:, :, :3], value * 2)
    for bad, message in (
        (torch.zeros(2, 1, 6, 4), "6 positions do not fit in a cache of 5"),
        (torch.zeros(2, 2, 3, 4), "number of heads 1"),
        (torch.zeros(2, 1, 3, 4).half(), "dtype torch.float32, found torch.float16"),
        (torch.zeros(2, 3, 4), "4 dimensions"),
    ):
        with pytest.raises(RuntimeError, match=message):
            update(bad, cache)
