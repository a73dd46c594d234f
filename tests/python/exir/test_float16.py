# SPDX-License-Identifier: BSD-3-Clause
"""`to_float16`: float32 models computed in float16, on the kernels and on XNNPACK.

Tolerance: rounding to float16 changes a number by at most 2^-11 of it. The inputs and the weights are rounded, and the
result of each of `rounding_steps` calls in sequence; the layers here do not amplify errors. Twice the sum of these
errors is allowed, of the output's largest value.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim, ExportedProgram, export
from torch.fx import Node

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.declarations import get_notes
from sdk.exir.float16 import rounding_steps, to_float16
from sdk.runtime import Runtime
from zoo.vision import VisionTransformer

Inputs = tuple[Any, ...]

LOWERINGS: dict[str, list[Any]] = {"kernels": [], "xnnpack": [XnnpackPartitioner]}

ROWS = torch.linspace(-2, 2, 6 * 16).mul(7).sin().reshape(6, 16)
IMAGES = torch.linspace(-2, 2, 2 * 3 * 12 * 12).mul(9).sin().reshape(2, 3, 12, 12)


class Call(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 4)
        nn.init.uniform_(self.norm.running_var, 0.5, 2)
        nn.init.uniform_(self.norm.running_mean, -0.5, 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.conv(x)), inplace=True)
        return self.head(x.mean((2, 3))).softmax(-1)


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.cells, self.head = kind(16, 8, batch_first=True), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.cells(x.unsqueeze(0))[0])


class Decoder(nn.Module):
    """Token ids to logits: tied embedding, RMS norm, rotary positions, and a mask of float32's smallest number."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(32, 16), nn.Linear(16, 32, bias=False)
        self.out.weight = self.words.weight
        self.qkv, self.scale = nn.Linear(16, 48), nn.Parameter(torch.ones(16))
        self.register_buffer("frequencies", 10000.0 ** -(torch.arange(0, 8) / 8))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens)
        length = x.shape[1]
        x = x + self.attend(x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale, length)
        return self.out(x)

    def attend(self, x: torch.Tensor, length: int) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        angles = torch.arange(length).float()[:, None] * self.frequencies
        cos, sin = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)

        def turned(y: torch.Tensor) -> torch.Tensor:
            first, second = y.chunk(2, -1)
            return y * cos + torch.cat([-second, first], -1) * sin

        later = torch.full((length, length), torch.finfo(torch.float32).min).triu(1)
        scores = turned(q) @ turned(k).transpose(1, 2) / 4 + later
        return scores.softmax(-1) @ v


class Large(nn.Module):
    """A layer whose weights exceed float16, and a layer that brings the results back into its range."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(16, 16), nn.Linear(16, 16)
        nn.init.uniform_(self.up.weight, -2e5, 2e5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.up(x) * 1e-6)


MODELS: dict[str, tuple[Callable[[], nn.Module], Inputs]] = {
    "layers": (lambda: nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 8), nn.LogSoftmax(-1)), (ROWS,)),
    "convolutions": (ConvNet, (IMAGES,)),
    "vision transformer": (VisionTransformer, (torch.linspace(-2, 2, 3 * 32 * 32).sin().reshape(1, 3, 32, 32),)),
    "lstm": (lambda: Recurrent(nn.LSTM), (ROWS,)),
    "gru": (lambda: Recurrent(nn.GRU), (ROWS,)),
    "decoder": (Decoder, (torch.tensor([[3, 1, 4, 1, 5, 9]]),)),
    "large weights": (Large, (ROWS,)),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), (ROWS.reshape(1, 6, 16),)),
}


def made(name: str) -> tuple[nn.Module, Inputs]:
    torch.manual_seed(0)
    model, inputs = MODELS[name]
    return model().eval(), inputs


def run(program: ExportedProgram, lowering: str, *calls: Inputs) -> list[list[Any]]:
    partitioners = [make() for make in LOWERINGS[lowering]]
    emitted = to_edge_transform_and_lower(program, partitioner=partitioners).to_executorch()
    method = Runtime.get().load_program(emitted.buffer).load_method("forward")
    return [[torch.as_tensor(value).clone() for value in method.execute(inputs)] for inputs in calls]


def check(found: torch.Tensor, wanted: torch.Tensor, program: ExportedProgram) -> None:
    found, wanted = found.detach(), wanted.detach()
    assert found.dtype == wanted.dtype
    bound = 2 * 2**-11 * (rounding_steps(program) + 2)
    difference = float((found - wanted).abs().max() / wanted.abs().max())
    assert difference <= bound, f"{difference:.2g} of the largest value, and {bound:.2g} is allowed"


def calls(program: ExportedProgram, name: str) -> list[Node]:
    return [node for node in program.graph.nodes if node.op == "call_function" and name in str(node.target)]


def notes(program: ExportedProgram) -> str:
    return "\n".join(get_notes(program.graph_module))


@pytest.mark.sampled
@pytest.mark.parametrize("lowering", LOWERINGS)
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, lowering: str) -> None:
    """XNN-05"""
    model, inputs = made(name)
    program = to_float16(export(copy.deepcopy(model), inputs))
    ((found,),) = run(program, lowering, inputs)
    check(found, model(*inputs), program)


@pytest.mark.sampled
@pytest.mark.parametrize("lowering", LOWERINGS)
@pytest.mark.parametrize("name", ["layers", "convolutions", "encoder layer"])
def test_dynamic_sizes_stay_dynamic(name: str, lowering: str) -> None:
    model, (given,) = made(name)
    example = torch.cat([given] * 3)[:3]
    captured = export(copy.deepcopy(model), (example,), dynamic_shapes=({0: Dim("n", min=2, max=9)},))
    program = to_float16(captured)
    ends = [(torch.cat([example] * 3)[:n] * 0.9,) for n in (2, 9)]
    for inputs, (found,) in zip(ends, run(program, lowering, *ends), strict=True):
        check(found, model(*inputs), program)


def test_inputs_and_outputs_are_converted_once() -> None:
    model, inputs = made("layers")
    program = to_float16(export(nn.Sequential(*list(model)[:3]), inputs))
    assert [str(node.args[0]) for node in calls(program, "_to_copy")] == ["input", "linear_1"]
    assert {tensor.dtype for tensor in program.state_dict.values()} == {torch.float16}
    assert notes(program) == ""


def test_the_model_is_not_changed() -> None:
    model, inputs = made("decoder")
    captured = export(model, inputs)
    before = str(captured.graph)
    to_float16(captured)
    assert str(captured.graph) == before
    assert {tensor.dtype for tensor in captured.state_dict.values()} == {torch.float32}


def test_no_value_is_converted_twice() -> None:
    """There is no conversion between two operators in float32, and each value is converted at most once."""
    model, inputs = made("decoder")
    conversions = calls(to_float16(export(model, inputs)), "_to_copy")
    sources = [node.args[0] for node in conversions]
    assert len(set(sources)) == len(sources)
    assert not set(sources) & set(conversions)


def test_tied_weights_stay_one() -> None:
    model, inputs = made("decoder")
    program = to_float16(export(model, inputs))
    assert program.state_dict["words.weight"].dtype == torch.float16
    assert program.state_dict["out.weight"] is program.state_dict["words.weight"]
    assert {name for name, value in program.state_dict.items() if value.dtype == torch.float32} == {"frequencies"}


THOUSANDS = torch.linspace(0.5, 1.5, 4096).reshape(2, 2048)
KEPT: dict[str, tuple[Callable[..., Any], Inputs, str]] = {
    "exp": (lambda x: (x * 4).exp() * 1e-3, (ROWS * 1.5,), "exponentials"),
    "pow": (lambda x: (x * 300).pow(2).mean(-1), (ROWS,), "exponentials"),
    "a square": (lambda x: (lambda y: (y * y).sum(-1))(x * 300), (ROWS,), "exponentials"),
    "sum": (lambda x: (x * 40).sum(-1), (THOUSANDS,), "a sum"),
    "cumsum": (lambda x: x.cumsum(-1), (THOUSANDS,), "a sum"),
    "var": (lambda x: (x * 1000).var(-1), (ROWS,), "a sum"),
    "norm": (lambda x: (x * 1000).norm(dim=-1) * 30, (THOUSANDS,), "a sum"),
    "mean": (lambda x: (x * 1000).mean(-1), (THOUSANDS,), "a mean"),
    "softmax": (lambda x: (x * 8).softmax(-1), (THOUSANDS,), "a softmax"),
    "log_softmax": (lambda x: (x * 8).log_softmax(-1), (THOUSANDS,), "a softmax"),
    "logsumexp": (lambda x: (x * 8).logsumexp(-1), (THOUSANDS,), "exponentials"),
    "softmax by hand": (lambda x: (x * 8).exp() / (x * 8).exp().sum(-1, keepdim=True), (THOUSANDS,), "exponentials"),
    "layer_norm": (lambda x: F.layer_norm(x * 1000, (16,)), (ROWS,), "a norm"),
    "group_norm": (lambda x: F.group_norm(x * 1000, 1), (IMAGES,), "a norm"),
    "instance_norm": (lambda x: F.instance_norm(x * 1000), (IMAGES,), "a norm"),
    "rms_norm": (lambda x: F.rms_norm(x * 1000, (16,)), (ROWS,), "a norm"),
    "log": (lambda x: (x + 0.5).log(), (THOUSANDS,), "a logarithm"),
    "reciprocal": (lambda x: (x * 1e-4 + 1e-4).reciprocal() * 10, (THOUSANDS,), "reciprocals"),
    "rsqrt": (lambda x: torch.rsqrt(x + 1), (THOUSANDS,), "reciprocals"),
    "arange": (lambda x: x + torch.arange(2048, dtype=torch.float32) * 3, (THOUSANDS,), "every integer above 2048"),
    "integers": (lambda i: i.float() * 1.5, (torch.arange(4000, 4096),), "every integer above 2048"),
    "mse_loss": (lambda x: F.mse_loss(x * 1000, -x * 1000), (ROWS,), "a loss"),
    "large number": (lambda x: x.masked_fill(x < 0, torch.finfo(torch.float32).min).amax(-1), (ROWS,), "-3.4e+38"),
    "small number": (lambda x: (x * 1e-7) / (x.abs() * 1e-7 + 1e-8), (THOUSANDS,), "1e-07"),
    "bicubic": (lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), (IMAGES,), "positions"),
    "grid": (
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        (IMAGES, IMAGES[:, :2].permute(0, 2, 3, 1)),
        "positions",
    ),
    "fft": (lambda x: torch.fft.rfft(x).abs() * 10, (ROWS,), "no float16 version"),
    "float64": (lambda x: (x.double() * 3).float(), (ROWS,), "float64"),
    "control flow": (lambda x: torch.cond(x.amax() > 0, torch.sin, torch.cos, (x,)), (ROWS,), "cond"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", KEPT)
def test_what_stays_in_float32_says_why(name: str) -> None:
    function, inputs, reason = KEPT[name]
    model = Call(function)
    program = to_float16(export(model, inputs))
    assert reason in notes(program)
    wanted = model(*inputs)
    ((found,),) = run(program, "kernels", inputs)
    check(found, wanted, program)


HALVED: dict[str, tuple[Callable[..., Any], Inputs]] = {
    "moves": (lambda x: torch.cat([x.t().reshape(6, 16), x[:, ::2].repeat(1, 2)], 1).flip(0), (ROWS,)),
    "pointwise": (lambda x: F.silu(x) + F.hardswish(x) * x.clamp(-1, 1) - F.leaky_relu(x).tanh(), (ROWS,)),
    "attention": (lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]), (ROWS,)),
    "pools": (lambda x: F.max_pool2d(F.avg_pool2d(x, 2), 2), (IMAGES,)),
    "resizing": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (IMAGES,)),
    "masks": (lambda x, m: x.masked_fill(m, 0.0) * m.logical_not().float(), (ROWS, ROWS > 1)),
    "infinite mask": (lambda x, m: x.masked_fill(m, -float("inf")).amax(-1), (ROWS, ROWS > 1)),
    "indices": (lambda x, i: x[i] + torch.zeros(3, 16), (ROWS, torch.tensor([5, 0, 3]))),
    "einsum": (lambda x: torch.einsum("ij,kj->ik", x, x), (ROWS,)),
    "conversions": (lambda x: x.float().to(torch.float32) * 2, (ROWS,)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("lowering", LOWERINGS)
@pytest.mark.parametrize("name", HALVED)
def test_everything_else_is_float16(name: str, lowering: str) -> None:
    function, inputs = HALVED[name]
    model = Call(function)
    program = to_float16(export(model, inputs))
    assert notes(program) == ""
    ((found,),) = run(program, lowering, inputs)
    check(found, model(*inputs), program)


def test_constants_that_float16_does_not_hold() -> None:
    model, inputs = made("large weights")
    program = to_float16(export(model, inputs))
    kept = {name for name, value in program.state_dict.items() if value.dtype == torch.float32}
    assert kept == {"up.weight", "up.bias"}
    assert "aten.linear \u00d71: up.weight: its values reach 2e+05, and float16 ends at 65504" in notes(program)


class Tables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.full((6, 6), -torch.inf).triu(1))
        self.register_buffer("tiny", torch.full((6,), 1e-6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x[:, :6] + self.mask).softmax(-1) / (x[:, :6].abs() + self.tiny)


def test_infinite_constants_are_float16_and_tiny_ones_are_not() -> None:
    program = to_float16(export(Tables(), (ROWS,)))
    assert program.state_dict["mask"].dtype == torch.float16
    assert program.state_dict["tiny"].dtype == torch.float32
    assert "below the normal range of float16" in notes(program)


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.full((1,), 2048.0))
        self.register_buffer("mean", torch.zeros(16))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.count += 1
        self.mean.mul_(0.99).add_(x.mean(0), alpha=0.01)
        return self.count + 0, x + self.mean


@pytest.mark.parametrize("lowering", LOWERINGS)
def test_state_keeps_its_dtype(lowering: str) -> None:
    """In float16, 2048 plus 1 is 2048."""
    program = to_float16(export(Counter(), (ROWS,)))
    assert program.state_dict["count"].dtype == torch.float32
    model = Counter()
    for found in run(program, lowering, *[(ROWS,)] * 3):
        for have, want in zip(found, model(ROWS), strict=True):
            check(have, want.clone(), program)
    assert float(found[0]) == 2051


def test_large_inputs_stay_in_float32() -> None:
    model, inputs = Call(lambda x: (x / 1e5 + 1) * 3), (ROWS * 1e6,)
    program = to_float16(export(model, inputs))
    ((found,),) = run(program, "kernels", inputs)
    check(found, model(*inputs), program)
    assert "the input args_0: its example reaches 9.99e+05" in notes(program)


def test_what_is_not_float32_stays_as_it_is() -> None:
    model = Call(lambda i, d: (i * 2 + 1, d * 2, i > 3))
    inputs = (torch.arange(5), torch.ones(5, dtype=torch.float64))
    captured = export(model, inputs)
    program = to_float16(captured)
    assert str(program.graph) == str(captured.graph)


@pytest.mark.parametrize("lowering", LOWERINGS)
def test_the_file_is_half_as_large(lowering: str) -> None:
    model, inputs = nn.Sequential(nn.Linear(16, 2000), nn.ReLU(), nn.Linear(2000, 16)).eval(), (ROWS,)
    captured = export(model, inputs)
    sizes = [
        len(
            to_edge_transform_and_lower(program, partitioner=[make() for make in LOWERINGS[lowering]])
            .to_executorch()
            .buffer
        )
        for program in (captured, to_float16(captured))
    ]
    weights = 4 * sum(parameter.numel() for parameter in model.parameters())
    assert sizes[0] - sizes[1] > weights / 2 * 0.95
