# SPDX-License-Identifier: BSD-3-Clause
"""Parts of transformers, lowered to XNNPACK: norms, attention, embeddings, caches, and whole models in one delegate."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim, export

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.backends.xnnpack.serialization.xnnpack_graph_serialize import XNNHeader
from sdk.exir import EdgeProgramManager, ExecutorchProgramManager, to_edge_transform_and_lower
from sdk.exir.backend.utils import get_delegated_payload, get_non_lowered_nodes, get_refusals
from sdk.exir.schema import KernelCall
from sdk.runtime import Runtime
from zoo.language import Decoder, Encoder
from zoo.vision import VisionTransformer

ROWS = torch.linspace(-4, 4, 2 * 5 * 12).sin().reshape(2, 5, 12)
HEADS = torch.linspace(-3, 5, 2 * 3 * 7 * 12).cos().reshape(2, 3, 7, 12)
KEEP = torch.arange(7 * 7).reshape(7, 7) % 3 != 1


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


class HandwrittenRmsNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 2, 12))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


class Cache(nn.Module):
    """Writes a row and returns the sum of all."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(1, 2, 6, 4))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.rows[:, :, position] = x
        return self.rows.sum(2)


class Prefill(nn.Module):
    """Writes the first rows of a cache."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(1, 2, 6, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.rows.index_copy_(2, torch.arange(3), x)
        return self.rows.sum(2)


def lower(model: nn.Module, inputs: tuple[torch.Tensor, ...], compat: str | None = None, **kwargs: object):
    program = export(model.eval(), inputs, **kwargs)  # type: ignore[arg-type]
    return to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner(compat=compat)])


def identifiers(lowered: EdgeProgramManager) -> list[bytes]:
    """The version of each payload."""
    payloads = [payload for _, _, payload in get_delegated_payload(lowered.exported_program().graph_module).values()]
    return [payload[(at := XNNHeader.from_bytes(payload).flatbuffer_offset) + 4 : at + 8] for payload in payloads]


def check(model: nn.Module, *calls: tuple[torch.Tensor, ...], lowered: EdgeProgramManager) -> None:
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for inputs in calls:
        expected = torch.utils._pytree.tree_leaves(model(*inputs))
        found = [torch.as_tensor(output) for output in method.execute(inputs)]
        # Functions are approximated to a few units in the last place; sums have another order.
        torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-5)


def attend(**kwargs: object) -> nn.Module:
    return Call(lambda x: F.scaled_dot_product_attention(x, x.cos(), x.sin(), **kwargs))  # type: ignore[arg-type]


def grouped(x: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(x, x[:, :1], x[:, 1:2], enable_gqa=True)


def split_heads(x: torch.Tensor) -> torch.Tensor:
    q, k, v = (part.unflatten(-1, (2, 2)).transpose(1, 2) for part in x.chunk(3, -1))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2) + 1


INDICES = torch.tensor([[3, 0, 2], [1, 1, 4]])
TABLE = torch.linspace(-1, 1, 5 * 4).reshape(5, 4)
# The type embeddings of all 64 tokens are too large to be computed when the model is lowered.
TYPES = torch.ones(1, 64, dtype=torch.long)
WIDE = torch.linspace(-1, 1, 2 * 384).reshape(2, 384)

torch.manual_seed(0)  # seeds the weights of these cases; other files' tests use the same
PATTERNS: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {
    "layer norm": (nn.LayerNorm(12), (ROWS,)),
    "layer norm of two dimensions, without weights": (nn.LayerNorm((5, 12), elementwise_affine=False), (ROWS,)),
    "layer norm without bias": (nn.LayerNorm(12, eps=0.1, bias=False), (ROWS,)),
    "rms norm": (nn.RMSNorm(12, eps=1e-3), (ROWS,)),
    "rms norm, default eps": (nn.RMSNorm(12), (ROWS,)),
    "rms norm by hand": (HandwrittenRmsNorm(), (ROWS,)),
    "gelu by tanh": (nn.GELU("tanh"), (ROWS * 3,)),
    "attention": (attend(), (HEADS,)),
    "attention, scale": (attend(scale=0.7), (HEADS,)),
    "attention, causal": (attend(is_causal=True), (HEADS,)),
    "attention, many rows, causal": (attend(is_causal=True), (torch.linspace(-2, 2, 70 * 5).sin().view(1, 1, 70, 5),)),
    "attention, bool mask": (attend(attn_mask=KEEP), (HEADS,)),
    "attention, rows that see nothing": (attend(attn_mask=KEEP & (torch.arange(7) != 2)[:, None]), (HEADS,)),
    "attention, float mask": (
        Call(lambda x, m: F.scaled_dot_product_attention(x, x, x, attn_mask=m)),
        (HEADS, torch.linspace(-2, 2, 3 * 7 * 7).reshape(1, 3, 7, 7)),
    ),
    "attention, mask of each batch": (
        Call(lambda x, m: F.scaled_dot_product_attention(x, x, x, attn_mask=m[:, None, None, :].bool())),
        (HEADS, torch.tensor([[1, 1, 1, 1, 1, 0, 0], [1, 0, 1, 1, 1, 1, 1]])),
    ),
    "attention of one row": (Call(lambda x: F.scaled_dot_product_attention(x[:, :, :1], x, x)), (HEADS,)),
    "attention without heads": (attend_flat := Call(lambda x: F.scaled_dot_product_attention(x, x, x)), (ROWS,)),
    "attention of a matrix": (attend_flat, (ROWS[0],)),
    "attention of groups": (Call(grouped), (HEADS,)),
    "attention of split heads": (Call(split_heads), (ROWS,)),
    "multi-head attention": (
        nn.TransformerEncoderLayer(12, 3, 16, dropout=0.0, activation="gelu", batch_first=True),
        (ROWS,),
    ),
    "where": (Call(lambda x: torch.where(torch.tensor([True, False, True] * 4), x, x * 0 - math.inf)), (ROWS,)),
    "where of an argument": (Call(lambda c, x: torch.where(c, x, 0.5)), (KEEP, HEADS[0, 0, :, :7].clone())),
    "truth values in and out": (Call(lambda a, b: (a & ~b) | (b.logical_and(a))), (KEEP, KEEP.t().contiguous())),
    "mask of numbers": (Call(lambda x, m: x * m.unsqueeze(-1).float()), (ROWS, torch.arange(10).reshape(2, 5) % 3)),
    "mean of rows": (Call(lambda x: x.mean(-1, keepdim=True) + x.mean(1, keepdim=True)), (ROWS,)),
    "sums": (Call(lambda x: x.sum((0, 2)) * 2), (ROWS,)),
    "powers": (Call(lambda x: x.pow(3) + (x * x + 1).pow(0.5) + (x * x + 1).pow(-0.5)), (ROWS,)),
    "embedding": (Call(lambda i, t: F.embedding(i, t) * 2), (INDICES, TABLE)),
    "rows of a table": (Call(lambda i, t: t[i] * 2), (torch.tensor([4, -1, 0]), TABLE)),
    "rows of one type": (Call(lambda x: x + F.embedding(TYPES, WIDE)), (torch.ones(1, 64, 384),)),
    "expand": (Call(lambda x: x.unsqueeze(1).expand(-1, 3, -1, -1) + 1), (ROWS,)),
    "split and select": (Call(lambda x: torch.cat(x.split([2, 7, 3], -1)[::2], -1) + x[:, 1:2, :5]), (ROWS,)),
    "select": (Call(lambda x: x[:, -1] * 2), (ROWS,)),
    "folded constants": (Call(lambda x: x + torch.arange(12).float().outer(torch.ones(12)).sum(1)), (ROWS,)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", PATTERNS)
def test_each_pattern_is_delegated_and_right(name: str) -> None:
    """XNN-04."""
    torch.manual_seed(0)
    model, inputs = PATTERNS[name]
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -0.8, 0.9)
    lowered = lower(model, inputs)
    assert get_non_lowered_nodes(lowered.exported_program().graph) == []
    check(model, inputs, lowered=lowered)


def models() -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    torch.manual_seed(0)
    mask = torch.ones(2, 10, dtype=torch.long)
    mask[1, 6:] = 0
    return {
        "vision": (VisionTransformer(), (torch.randn(1, 3, 32, 32),)),
        "encoder": (Encoder(), (torch.randint(0, 64, (2, 10)), mask)),
        "decoder, prefill": (Decoder(depth=4), (torch.randint(0, 64, (1, 8)), torch.arange(8))),
        "decoder, one token": (Decoder(depth=4), (torch.tensor([[3]]), torch.tensor([0]))),
    }


@pytest.mark.parametrize("name", models())
def test_transformers_are_one_delegate(name: str) -> None:
    """No operator stays outside of the delegate."""
    model, inputs = models()[name]
    lowered = lower(model, inputs)
    left = [node.target.__name__ for node in get_non_lowered_nodes(lowered.exported_program().graph)]
    assert [name for name in left if "copy_" not in name] == []
    assert identifiers(lowered) == [b"XNS1"]
    check(model, inputs, lowered=lowered)


def test_a_cache_keeps_what_was_written() -> None:
    model, fresh = Cache(), Cache()
    lowered = lower(model, (torch.ones(1, 2, 1, 4), torch.tensor([0])))
    calls = [(torch.full((1, 2, 1, 4), float(i + 1)), torch.tensor([i * 2])) for i in range(3)]
    check(fresh, *calls, lowered=lowered)


def names_of_calls(program: ExecutorchProgramManager) -> list[str]:
    plan = program.executorch_program.execution_plan[0]
    kinds = [instruction.instr_args for chain in plan.chains for instruction in chain.instructions]
    return [plan.operators[call.op_index].name if isinstance(call, KernelCall) else "delegate" for call in kinds]


def test_a_cache_is_written_in_its_own_memory() -> None:
    """The cache is not copied, neither by the delegate nor by the program: its input and output share memory."""
    program = lower(Cache(), (torch.ones(1, 2, 1, 4), torch.tensor([0]))).to_executorch()
    assert names_of_calls(program) == ["delegate"]
    plan = program.executorch_program.execution_plan[0]
    arguments = plan.chains[0].instructions[0].instr_args.args
    assert len(arguments) == len(set(arguments)) + 1


class KeepsTheOld(Cache):
    """Returns the previous contents of the cache, computed inside of the delegate or unchanged."""

    def __init__(self, computes: bool) -> None:
        super().__init__()
        self.computes = computes

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        old = self.rows.sum(2) if self.computes else self.rows.clone()
        return super().forward(x, position), old


@pytest.mark.parametrize("computes", [True, False])
def test_a_cache_whose_old_contents_are_read_is_not_overwritten_before(computes: bool) -> None:
    model, fresh = KeepsTheOld(computes), KeepsTheOld(computes)
    lowered = lower(model, (torch.ones(1, 2, 1, 4), torch.tensor([0])))
    assert "aten::copy_" in names_of_calls(lowered.to_executorch())
    calls = [(torch.full((1, 2, 1, 4), float(i + 1)), torch.tensor([i % 2])) for i in range(4)]
    check(fresh, *calls, lowered=lowered)


def test_two_caches_that_change_places_are_both_right() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("a", torch.zeros(1, 2, 6, 4))
            self.register_buffer("b", torch.ones(1, 2, 6, 4))

        def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
            a = torch.ops.aten.index_put(self.a, (None, None, position), x)
            b = torch.ops.aten.index_put(self.b, (None, None, position), x * 2)
            self.a.copy_(b)
            self.b.copy_(a)
            return (a - b).sum(2)

    lowered = lower(Two(), (torch.ones(1, 2, 1, 4), torch.tensor([0])))
    calls = [(torch.full((1, 2, 1, 4), float(i + 1)), torch.tensor([i])) for i in range(4)]
    check(Two(), *calls, lowered=lowered)


def test_dynamic_lengths() -> None:
    model, inputs = models()["encoder"]
    length = Dim("length", min=2, max=16)
    lowered = lower(model, inputs, dynamic_shapes={"ids": {1: length}, "mask": {1: length}})
    short = tuple(x[:, :3].clone() for x in inputs)
    check(model, inputs, short, inputs, lowered=lowered)


def test_an_index_outside_of_the_table_is_an_error() -> None:
    lowered = lower(nn.Sequential(nn.Embedding(5, 4), nn.LayerNorm(4)), (torch.tensor([1, 2]),))
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for wrong in (5, -1, 2**40):
        with pytest.raises(RuntimeError):
            method.execute((torch.tensor([1, wrong]),))
    assert method.execute((torch.tensor([4, 0]),))


def test_constant_indices_that_differ_stay_outside() -> None:
    """In the payload format, only arguments may be integers."""
    types = torch.arange(64) % 2
    model = Call(lambda x, t: x + F.embedding(types, t))
    inputs = (torch.ones(1, 64, 384), WIDE)
    lowered = lower(model, inputs)
    (left,) = get_non_lowered_nodes(lowered.exported_program().graph)
    assert get_refusals(left)["XnnpackBackend"] == "its indices are constant and differ"
    check(model, inputs, lowered=lowered)
    model = Prefill()
    lowered = lower(model, (torch.ones(1, 2, 3, 4),))
    reasons = [get_refusals(n).get("XnnpackBackend") for n in get_non_lowered_nodes(lowered.exported_program().graph)]
    assert "its indices are constant" in reasons
    check(Prefill(), (torch.ones(1, 2, 3, 4),), lowered=lowered)


def test_compat_keeps_to_the_format_of_the_original() -> None:
    """XNN-12."""
    model, inputs = models()["vision"]
    lowered = lower(model, inputs, compat="1.4")
    assert set(identifiers(lowered)) == {b"XN01"}
    left = get_non_lowered_nodes(lowered.exported_program().graph)
    reasons = {node.target.__name__: get_refusals(node).get("XnnpackBackend") for node in left}
    assert reasons["aten.native_layer_norm.default"] == "the original has no node for it in version 1.4"
    check(model, inputs, lowered=lowered)
    plain = nn.Sequential(nn.Linear(12, 4), nn.GELU())
    assert identifiers(lower(plain, (ROWS,))) == [b"XN01"]
    with pytest.raises(ValueError, match=r"expected None or '1\.4'"):
        XnnpackPartitioner(compat="1.3")
