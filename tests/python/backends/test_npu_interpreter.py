# SPDX-License-Identifier: BSD-3-Clause
"""The interpreter of quantised graphs: exact integers against arithmetic in Python, and each operator against the model
with quantise and dequantise calls in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from npu_graphs import Parameters, Quantized, Weighted, graph
from torch import Tensor
from torch.nn import functional

from sdk.backends.npu.graph import Call, Graph, Quantization, Ref, Value
from sdk.backends.npu.integer import rule_of
from sdk.backends.npu.interpreter import Interpreter
from sdk.backends.npu.rescale import fixed_point

A, B, OUT = Parameters(0.031, 5), Parameters(0.017, -9), Parameters(0.043, -3)
WIDE = (Parameters(2e-4, 0, torch.int16), Parameters(1e-4, 0, torch.int16), Parameters(3e-4, 0, torch.int16))


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


X, Y = numbers(2, 4, 6, 6), numbers(2, 4, 6, 6, seed=1)

Case = tuple[Callable[..., Any], tuple[Tensor, ...]]

IN_INTEGERS: dict[str, Case] = {
    "add": (lambda a, b: a + b, (X, Y)),
    "add of a row": (lambda a, b: a + b, (X, Y[:1, :, :1])),
    "add with alpha": (lambda a, b: torch.add(a, b, alpha=3), (X, Y)),
    "sub": (lambda a, b: a - b, (X, Y)),
    "mul": (lambda a, b: a * b, (X, Y)),
    "mul by a number": (lambda a: a * 0.37, (X,)),
    "add of a negative number": (lambda a: a + -1.25, (X,)),
    "sub and relu": (lambda a, b: torch.relu(a - b), (X, Y)),
    "add and relu6": (lambda a, b: functional.relu6(a + b), (X, Y)),
    "bmm": (torch.bmm, (X[0], Y[1])),
    "matmul": (torch.matmul, (X, Y)),
    "relu": (torch.relu, (X,)),
    "clamp": (lambda a: a.clamp(-0.5), (X,)),
    "hardtanh": (lambda a: functional.hardtanh(a, -1.1, 0.7), (X,)),
    "mean": (lambda a: a.mean((2, 3), keepdim=True), (X,)),
    "mean of one": (lambda a: a.mean(-1), (X,)),
    "avg_pool2d": (lambda a: functional.avg_pool2d(a, 3, 2, 1), (X,)),
    "avg_pool2d with a divisor": (lambda a: functional.avg_pool2d(a, 2, divisor_override=3), (X,)),
    "adaptive_avg_pool2d": (lambda a: functional.adaptive_avg_pool2d(a, (3, 2)), (X,)),
    "max_pool2d": (lambda a: functional.max_pool2d(a, 3, 2, 1, dilation=1), (X,)),
    "cat": (lambda a, b: torch.cat([a, b], 1), (X, Y)),
    "pad": (lambda a: functional.pad(a, (1, 2, 0, 1), value=0.5), (X,)),
    "reshape": (lambda a: a.reshape(2, -1), (X,)),
    "permute": (lambda a: a.permute(0, 2, 3, 1), (X,)),
    "slice": (lambda a: a[:, 1:3, ::2], (X,)),
    "select": (lambda a: a[:, -1], (X,)),
    "expand": (lambda a: a[:, :1].expand(2, 5, 6, 6), (X,)),
    "unsqueeze": (lambda a: a.unsqueeze(0), (X,)),
    "pixel_shuffle": (lambda a: functional.pixel_shuffle(a, 2), (X,)),
    "nearest": (lambda a: functional.interpolate(a, scale_factor=2, mode="nearest"), (X,)),
}

IN_FLOATS: dict[str, Case] = {
    "softmax": (lambda a: torch.softmax(a, 1), (X,)),
    "sigmoid": (torch.sigmoid, (X,)),
    "tanh": (torch.tanh, (X,)),
    "gelu": (lambda a: functional.gelu(a, approximate="tanh"), (X,)),
    "div": (lambda a, b: a / (b.abs() + 0.5), (X, Y)),
    "layer_norm": (lambda a: functional.layer_norm(a, [6]), (X,)),
    "exp": (torch.exp, (X,)),
    "avg_pool2d without its padding": (lambda a: functional.avg_pool2d(a, 3, 2, 1, count_include_pad=False), (X,)),
    "bilinear": (lambda a: functional.interpolate(a, scale_factor=2, mode="bilinear"), (X,)),
}


def run(model: torch.nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, Graph]:
    made = graph(model, inputs)
    (result,) = Interpreter(made).run("forward", inputs)
    return result, made


def steps(found: Tensor, expected: Tensor, scale: float) -> Tensor:
    """The differences in steps of a scale."""
    return ((found - expected) / scale).round().abs()


@pytest.mark.parametrize("width", ["int8", "int16"])
@pytest.mark.parametrize("name", IN_INTEGERS)
def test_integers_are_within_one_step_of_pytorch(name: str, width: str) -> None:
    """At least half of all results are equal, because rounding differs only at ties."""
    function, inputs = IN_INTEGERS[name]
    *operands, result = (A, B, OUT) if width == "int8" else WIDE
    model = Quantized(function, operands[: len(inputs)], result)
    found, made = run(model, inputs)
    main = [call for call in made.calls if call.name.startswith("aten.")]
    assert main and all(rule_of(call, made) is not None for call in main), [call.name for call in main]
    differences = steps(found, model(*inputs), result.scale)
    assert differences.max() <= 1 and differences.mean() < 0.5


@pytest.mark.parametrize("name", IN_FLOATS)
def test_floats_are_those_of_pytorch(name: str) -> None:
    function, inputs = IN_FLOATS[name]
    model = Quantized(function, (A, B)[: len(inputs)], OUT)
    found, _ = run(model, inputs)
    assert steps(found, model(*inputs), OUT.scale).max() <= 1 if name == "div" else torch.equal(found, model(*inputs))


LAYERS: dict[str, tuple[Callable[[], torch.nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: torch.nn.Linear(6, 5), (3, 4, 6)),
    "linear without bias": (lambda: torch.nn.Linear(6, 5, bias=False), (3, 6)),
    "conv2d": (lambda: torch.nn.Conv2d(4, 6, 3, stride=2, padding=1), (2, 4, 7, 6)),
    "depthwise": (lambda: torch.nn.Conv2d(4, 8, (3, 1), groups=4, dilation=(2, 1)), (1, 4, 7, 6)),
    "conv1d": (lambda: torch.nn.Conv1d(4, 6, 3, padding=2), (2, 4, 9)),
}


@pytest.mark.parametrize("zero_points", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_exact_sums_rescaled_once(name: str, zero_points: bool) -> None:
    """The result's integers are computed a second time in Python: unbounded sums of products, one multiplication by
    the fixed-point factor, one rounding."""
    make, shape = LAYERS[name]
    torch.manual_seed(0)
    layer, x = make(), numbers(*shape)
    model = Weighted(layer, A, OUT, zero_points)
    found, made = run(model, (x,))
    (call,) = [call for call in made.calls if call.name in ("aten.linear.default", "aten.convolution.default")]
    assert rule_of(call, made) is not None
    stored = torch.ops.quantized_decomposed.quantize_per_tensor(x, *A.given).to(torch.int64) - A.given[1]
    weight = model.stored.to(torch.int64) - model.zeros.reshape(-1, *[1] * (model.stored.dim() - 1))
    # float64 is exact here: torch has no convolution of int64, and these sums are below 2**53.
    exact = torch.func.functional_call(
        layer.double(), {"weight": weight.double(), **_zero_bias(layer)}, (stored.double(),)
    ).to(torch.int64)
    channel = -1 if "linear" in name else 1
    expected = []
    for index, sums in enumerate(exact.movedim(channel, 0)):
        unit = A.scale * float(model.scales[index])
        bias = 0 if layer.bias is None else round(float(layer.bias[index]) / unit)
        multiplier, shift = fixed_point(unit / OUT.scale)
        moved = [
            ((each + bias) * multiplier + (1 << (shift - 1)) >> shift) + OUT.given[1]
            for each in sums.flatten().tolist()
        ]
        expected.append(torch.tensor(moved).clamp(-128, 127).reshape(sums.shape))
    integers = torch.stack(expected).movedim(0, channel)
    assert torch.equal((found / OUT.scale).round() + OUT.given[1], integers.float())
    eager = model.eval().float()(x)
    assert steps(found, eager, OUT.scale).max() <= 1


def _zero_bias(layer: Any) -> dict[str, Tensor]:
    return {} if layer.bias is None else {"bias": torch.zeros_like(layer.bias, dtype=torch.float64)}


def test_scales_pass_through_what_only_moves() -> None:
    """Operators without a scale keep that of the operand, so that the following operators work with integers."""

    def function(a: Tensor, b: Tensor) -> Tensor:
        pooled = functional.max_pool2d(a, 2)
        return pooled.permute(0, 2, 3, 1).reshape(2, -1) * b

    model = Quantized(function, (A, B), OUT)
    inputs = (X, numbers(2, 36))
    found, made = run(model, inputs)
    assert all(rule_of(call, made) for call in made.calls if call.name.startswith("aten."))
    assert steps(found, model(*inputs), OUT.scale).max() <= 1


def test_a_result_in_floats_has_floats() -> None:
    model = Quantized(lambda a, b: a * b, (A, B), None)
    found, made = run(model, (X, Y))
    assert made.values[made.outputs[0]].quantization is None
    torch.testing.assert_close(found, model(X, Y))


def test_integers_enter_and_leave() -> None:
    """A model whose inputs and results are integers."""

    class Model(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = torch.relu(torch.ops.quantized_decomposed.dequantize_per_tensor(x, *A.given))
            return torch.ops.quantized_decomposed.quantize_per_tensor(y, *OUT.given)

    x = torch.arange(-128, 128).to(torch.int8).reshape(16, 16)
    found, _ = run(Model(), (x,))
    assert found.dtype == torch.int8 and (found - Model()(x)).abs().max() <= 1


def test_split_and_embedding() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", torch.randint(-128, 127, (10, 6), dtype=torch.int8))

        def forward(self, index: Tensor) -> tuple[Tensor, ...]:
            table = torch.ops.quantized_decomposed.dequantize_per_tensor(self.table, *A.given)
            first, second = torch.split(A(torch.embedding(table, index)), [2, 4], 1)
            return OUT(first), second

    index = torch.tensor([1, 9, 0])
    model = Model()
    made = graph(model, (index,))
    for found, expected in zip(Interpreter(made).run("forward", (index,)), model(index), strict=True):
        assert steps(found, expected, OUT.scale).max() <= 1


def test_inputs_that_do_not_fit() -> None:
    made = graph(Quantized(torch.relu, (A,), OUT), (X,))
    with pytest.raises(
        ValueError, match=r"input 0 is torch\.float32 \[3\]; the graph expects torch\.float32 \[2, 4, 6"
    ):
        Interpreter(made).run("forward", (torch.ones(3),))
    with pytest.raises(ValueError, match="1 inputs; 0 are given"):
        Interpreter(made).run("forward", ())


def test_a_graph_calls_operators_of_the_catalog_only() -> None:
    value = Value(torch.float32, (2,))
    other = Graph([value, value], [Call("aten.bernoulli.default", [Ref(0), None], [1])], [0], [1])
    with pytest.raises(ValueError, match=r"calls aten\.bernoulli\.default"):
        Interpreter(other)


def test_one_scale_is_asked_of_a_value_with_several() -> None:
    with pytest.raises(ValueError, match="too many values"):
        _ = Quantization((1.0, 2.0), (0, 0), -128, 127, 0).scale
