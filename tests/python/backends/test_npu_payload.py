# SPDX-License-Identifier: BSD-3-Clause
"""Reference payloads: graphs are read back unchanged, and damaged bytes give errors in words."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from npu_graphs import Parameters, Quantized, Weighted, graph

from sdk.backends.npu import reference_set
from sdk.backends.npu.compiler import graphs_for
from sdk.backends.npu.graph import Graph
from sdk.backends.npu.interpreter import Interpreter, MethodInterpreter
from sdk.backends.npu.reference_payload import Constants, from_bytes, is_reference, to_bytes

X = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def nothing(key: str) -> bytes:
    raise ValueError(f"no {key}")


def convolution() -> Graph:
    torch.manual_seed(0)
    return graph(Weighted(torch.nn.Conv2d(3, 4, 3), Parameters(0.03, 1), Parameters(0.05, -2), True), (X,))


def texts() -> Graph:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(torch.relu(x * 2), approximate="tanh").to(torch.float16)

    return graph(Quantized(function, (Parameters(0.03, 1),), None), (X,))


@pytest.mark.parametrize("make", [convolution, texts])
def test_a_graph_comes_back(make: object) -> None:
    made: Graph = make()  # type: ignore[operator]
    payload = to_bytes(made)
    assert is_reference(payload) and to_bytes(made) == payload
    read = from_bytes(payload, nothing)
    assert (read.calls, read.inputs, read.outputs) == (made.calls, made.inputs, made.outputs)
    for before, after in zip(made.values, read.values, strict=True):
        assert (before.dtype, before.shape, before.quantization) == (after.dtype, after.shape, after.quantization)
        assert (before.data is None and after.data is None) or torch.equal(before.data, after.data)
    for one, other in zip(Interpreter(made).run("", (X,)), Interpreter(read).run("", (X,)), strict=True):
        assert torch.equal(one, other)


def test_payloads_share_constants() -> None:
    """The second graph adds no constants, because it has those of the first."""
    constants = Constants()
    payloads = [to_bytes(convolution(), constants, "weights") for _ in range(2)]
    shared = constants.to_bytes()
    assert payloads[0] == payloads[1] and len(payloads[0]) + len(shared) <= len(to_bytes(convolution())) + 16
    asked = []
    read = from_bytes(payloads[1], lambda key: asked.append(key) or shared)
    assert asked == ["weights"]
    assert torch.equal(*(Interpreter(each).run("", (X,))[0] for each in (read, convolution())))


def test_methods_share_a_payload() -> None:
    """Each method calls its graph. Constants that both have are stored once."""
    graphs = {"prefill": convolution(), "decode": texts()}
    payload = reference_set.to_bytes(graphs)
    both = MethodInterpreter(graphs_for("a compiler", payload))
    for method, made in graphs.items():
        assert both.input_count(method) == 1
        assert torch.equal(both.run(method, (X,))[0], Interpreter(made).run("", (X,))[0])
    with pytest.raises(ValueError, match="no graph for the method 'verify'; it has prefill, decode"):
        both.run("verify", (X,))
    twice = reference_set.to_bytes({"a": convolution(), "b": convolution()})
    constants = sum(value.data.nbytes for value in convolution().values if value.data is not None)
    assert len(twice) < 2 * len(to_bytes(convolution())) - constants + 100
    alone = MethodInterpreter(graphs_for("a compiler", to_bytes(convolution())))
    assert torch.equal(alone.run("any", (X,))[0], both.run("prefill", (X,))[0])
    with pytest.raises(ValueError, match="the payload refers to the named data 'weights', and this backend has none"):
        graphs_for("a compiler", to_bytes(convolution(), Constants(), "weights"))


def _read_one(payload: bytes) -> dict[str, Graph]:
    return {"": from_bytes(payload, nothing)}


@pytest.mark.parametrize("make", [to_bytes, lambda made: reference_set.to_bytes({"a": made, "b": made})])
def test_damaged_bytes_are_errors(make: Callable[[Graph], bytes]) -> None:
    """Truncated at every length, and with changed bytes: a ValueError, or a graph that is checked."""
    payload = make(convolution())
    read = reference_set.from_bytes if reference_set.is_set(payload) else _read_one
    for size in range(len(payload)):
        with pytest.raises(ValueError, match="payload"):
            read(payload[:size])
    numbers = random.Random(0)
    refused = 0
    for _ in range(400):
        changed = bytearray(payload)
        for _ in range(numbers.randint(1, 3)):
            changed[numbers.randrange(600)] = numbers.randrange(256)
        try:
            MethodInterpreter(read(bytes(changed)))
        except ValueError:
            refused += 1
    assert refused > 200
