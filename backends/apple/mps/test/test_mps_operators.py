# SPDX-License-Identifier: BSD-3-Clause
"""Tests every operator separately: the interpreter's results for the payload are eager's, in both precisions."""

from __future__ import annotations

import operator
from itertools import groupby
from typing import Any

import pytest
import torch
from mps_cases import Call, all_calls, bools, floats, integers
from mps_lowering import LIMITS, QuantizedLinear, difference, lower, lower_call, reference
from mps_programs import expected_of, tensors_of

import sdk.backends.apple.mps.operators  # noqa: F401 - registers the visitors
from sdk.backends.apple.mps.operators.node_visitor import get_node_visitors
from sdk.backends.apple.mps.serialization.mps_graph_serialize import read_mps_graph
from sdk.backends.apple.mps.verify import run
from sdk.exir.lowered_backend_module import get_lowered_submodules

CALLS = {name: list(calls) for name, calls in groupby(all_calls(), key=lambda call: call.target)}
ELSEWHERE = {
    "aten.empty.memory_format", "dim_order_ops._clone_dim_order.default", "dim_order_ops._empty_dim_order.default",
    "dim_order_ops._to_dim_order_copy.default", "getitem",
    "quantized_decomposed.choose_qparams_per_token_asymmetric.default",
    "quantized_decomposed.dequantize_per_channel_group.default",
    "quantized_decomposed.dequantize_per_token.default", "quantized_decomposed.quantize_per_token.default",
}  # fmt: skip
"""Operators that the tests below call."""


def test_every_operator_has_calls() -> None:
    names = set(get_node_visitors(torch.export.export(torch.nn.Identity(), (torch.ones(1),)))) - {
        "placeholder",
        "output",
    }
    assert names - ELSEWHERE == set(CALLS)


@pytest.mark.sampled
@pytest.mark.parametrize("use_fp16", [False, True], ids=["fp32", "fp16"])
@pytest.mark.parametrize("name", CALLS)
def test_an_operator(name: str, use_fp16: bool) -> None:
    for call in CALLS[name]:
        results = run(lower_call(call, use_fp16), tensors_of(call))
        assert difference(results, expected_of(call, use_fp16)) <= LIMITS[use_fp16], call


def test_the_memory_of_empty_is_zeros() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.aten.empty.memory_format([2, 3], dtype=x.dtype) * 0 + x

    manager = lower(Model(), (floats(2, 3),))
    operators = _delegated(manager)
    assert "MPSFull" in operators
    call = Call("aten.empty.memory_format", ([2, 3],), {"dtype": torch.float32})
    assert torch.equal(run(lower_call(call, False), tensors_of(call))[0], torch.zeros(2, 3))


class _Conversions(torch.nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.relu()
        kept = (y.clone() + 1, y.to(torch.int64), i.to(torch.float32) * x, b.to(torch.float32) + x, i.to(torch.bool))
        return (*kept, y.half(), y.half() * 2, x, y, y)


@pytest.mark.parametrize("use_fp16", [False, True], ids=["fp32", "fp16"])
def test_copies_and_conversions_of_the_edge_dialect(use_fp16: bool, tmp_path) -> None:
    """Copies, conversions, results that are inputs, and results that are returned twice."""
    inputs = (floats(3, 4), integers(3, 4), bools(3, 4))
    program = reference(lower(_Conversions(), inputs, use_fp16), tmp_path)
    assert difference(program.run_method("forward", inputs), _Conversions()(*inputs)) <= LIMITS[use_fp16]


@pytest.mark.parametrize("dynamic", [False, True])
def test_linear_layers_with_int4_weights(dynamic: bool, tmp_path) -> None:
    """The weights take half a byte each; activations are not quantised, so the results are closer to the float model's
    than those of the quantised model."""
    import torch.ao.quantization.fx._decomposed

    model, x = QuantizedLinear(dynamic), floats(5, 64)
    manager = lower(model, (x,), use_fp16=True)
    operators = _delegated(manager)
    assert operators["MPSDequantizePerChannelGroup"] == 1
    assert not any(name.startswith("quantized") for name in _outside(manager))
    (result,) = reference(manager, tmp_path).run_method("forward", (x,))
    exact = torch.nn.functional.linear(x, model.weight * model.scales.repeat_interleave(32, 1))
    assert difference([result], exact) <= LIMITS[True]
    assert ("stay floats" in str(_module(manager).meta)) == dynamic  # in the receipt
    graph, constants = read_mps_graph(_payload(manager))
    packed = next(value for value in graph.mps_values if value.datatype.name == "mps_data_type_int4")
    first = constants[packed.segment_offset]
    assert packed.constant_buffer_size == 48 * 32
    assert (first & 15, first >> 4) == tuple(int(value) & 15 for value in model.weight[0, :2])


@pytest.mark.parametrize("shape", [(5, 64), (1, 1, 64), (2, 3, 64)], ids=str)
def test_quantised_linear_layers_in_float32(shape: tuple[int, ...], tmp_path) -> None:
    """int4 weights and the quantisation of activations stay outside, where they give eager's results."""
    import torch.ao.quantization.fx._decomposed  # noqa: F401 - its operators

    model, x = QuantizedLinear(True), floats(*shape)
    manager = lower(model, (x,), use_fp16=False)
    outside = _outside(manager)
    assert outside["quantized_decomposed.dequantize_per_channel_group.default"] == (
        "MPS dequantises to float16, and use_fp16 is off"
    )
    assert outside["quantized_decomposed.quantize_per_token.default"] == (
        "MPS has no quantised activations, and int4 weights only with use_fp16"
    )
    assert difference(reference(manager, tmp_path).run_method("forward", (x,)), model(x)) <= LIMITS[False]


class _QuantizedActivations(torch.nn.Module):
    """Quantised activations of a linear layer whose weights are floats, or quantised activations that other operators
    read, too."""

    def __init__(self, also_read: bool) -> None:
        super().__init__()
        self.linear, self.also_read = QuantizedLinear(True), also_read
        self.weight = torch.nn.Parameter(floats(16, 64))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if self.also_read:
            quantized = self.linear.quantized(x)
            return torch.nn.functional.linear(quantized, self.linear.dequantized()), quantized.relu()
        return (torch.nn.functional.linear(self.linear.quantized(x), self.weight),)


@pytest.mark.parametrize("also_read", [False, True])
def test_quantised_activations_of_other_layers_stay_quantised(also_read: bool, tmp_path) -> None:
    """Results are eager's with use_fp16, too; without the quantisation they would differ by more than float16's
    rounding."""
    model, x = _QuantizedActivations(also_read), floats(5, 64)
    manager = lower(model, (x,), use_fp16=True)
    assert _outside(manager)["quantized_decomposed.quantize_per_token.default"] == (
        "MPS leaves out the quantisation of activations only before multiplications with int4 weights"
    )
    with torch.no_grad():
        expected = model(x)
    assert difference(reference(manager, tmp_path).run_method("forward", (x,)), expected) <= LIMITS[True]


def _module(manager: object) -> Any:
    """The only delegate of a lowered model."""
    ((_, module, _),) = get_lowered_submodules(manager.exported_program().graph_module)  # type: ignore[attr-defined]
    return module


def _payload(manager: object) -> bytes:
    return bytes(_module(manager).processed_bytes)


def _delegated(manager: object) -> dict[str, int]:
    from sdk.backends.apple.mps.verify import MPSProgram

    return MPSProgram.from_payload(_payload(manager)).operations()


def _outside(manager: object) -> dict[str, str]:
    from sdk.exir.backend.utils import get_non_lowered_nodes, get_refusals

    nodes = get_non_lowered_nodes(manager.exported_program().graph)  # type: ignore[attr-defined]
    calls = [node for node in nodes if node.target is not operator.getitem]  # the call that it reads has the reason
    return {str(getattr(node.target, "_op", node.target)): get_refusals(node)["MPSBackend"] for node in calls}
