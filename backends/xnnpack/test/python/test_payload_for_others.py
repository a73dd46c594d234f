# SPDX-License-Identifier: BSD-3-Clause
"""Properties that other readers of payloads rely on: ids are positions, and, with `compat`, there are no constants that
the original's runtime would free before they are read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from xnnpack_payloads import graphs, kinds

from constants_kinds import models, models_for_int8
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import XNNGraph
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.backend.backend_api import to_backend
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.runtime import Runtime

torch.manual_seed(0)
MODELS = models()
INT8 = models_for_int8()
# XNNPACK packs the weights and biases of these; it reads constants of other nodes where they are.
PACKING = ("Conv2d", "DepthwiseConv2d", "ConvTranspose2d", "FullyConnected")


def lower(model: nn.Module, inputs: tuple[torch.Tensor, ...], compat: str | None, **how: Any) -> EdgeProgramManager:
    program = export(model, inputs, strict=False, **how)
    return to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner(compat=compat)])


def quantized(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> nn.Module:
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(export(model, inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def tensor_of(value: Any) -> Any:
    """The tensor of a value, which may be quantised."""
    return getattr(value.xvalue_union, "tensor_value", value.xvalue_union)


def check_ids(graph: XNNGraph) -> None:
    values = [tensor_of(value) for value in graph.xvalues]
    assert [value.id_out for value in values] == list(range(len(values)))
    externals = {index for index, value in enumerate(values) if value.flags}
    assert externals == {*graph.input_ids, *graph.output_ids}
    for node in graph.xnodes:
        found = {f.name: getattr(node.xnode_union, f.name) for f in fields(node.xnode_union) if f.name.endswith("_id")}
        assert all(index < len(values) or index == 0xFFFFFFFF for index in found.values()), found


def check_constants(graph: XNNGraph) -> None:
    constants = {v.id_out for v in map(tensor_of, graph.xvalues) if v.constant_buffer_idx}
    for node, kind in zip(graph.xnodes, kinds(graph), strict=True):
        inner = node.xnode_union
        read = [getattr(inner, f.name) for f in fields(inner) if f.name in ("input_id", "input1_id", "input2_id")]
        packed = [inner.filter_id, inner.bias_id] if kind in PACKING else []
        assert constants.isdisjoint(read), f"{kind} reads a constant"
        assert constants.issuperset(index for index in packed if index != 0xFFFFFFFF)


def check_results(lowered: EdgeProgramManager, model: nn.Module, inputs: tuple[torch.Tensor, ...], rtol: float) -> None:
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    with torch.no_grad():
        wanted = model(*inputs)
    found = torch.as_tensor(method.execute(inputs)[0])
    torch.testing.assert_close(found, wanted, rtol=rtol, atol=rtol * float(wanted.abs().max()))


@pytest.mark.sampled
@pytest.mark.parametrize("name", MODELS)
def test_constants_are_arguments(name: str) -> None:
    """XNN-12: with `compat`, constants that XNNPACK does not pack are arguments of the delegate, as in the original."""
    model, inputs = MODELS[name]
    lowered = lower(model, inputs, "1.4")
    if name not in ("branches", "repeated", "two_parts"):  # nothing moves to kernels
        calls = [n for n in lowered.exported_program().graph.nodes if n.op == "call_function"]
        assert {getattr(call.target, "__name__", "") for call in calls} == {"executorch_call_delegate", "getitem"}
    for graph in graphs(lowered):
        check_ids(graph)
        check_constants(graph)
    check_results(lowered, model, inputs, 1e-5)


@pytest.mark.parametrize("name", INT8)
def test_int8_constants_are_arguments(name: str) -> None:
    """XNN-12"""
    model, inputs = INT8[name]
    integers = quantized(model, inputs)
    lowered = lower(integers, inputs, "1.4")
    for graph in graphs(lowered):
        check_ids(graph)
        check_constants(graph)
        assert "Convert" in kinds(graph)
    check_results(lowered, integers, inputs, 0.02)


def test_dynamic_sizes() -> None:
    """XNN-12"""
    model, (x,) = MODELS["mul_scalar"]
    lowered = lower(model, (x,), "1.4", dynamic_shapes={"inputs": ({0: Dim("rows", max=8)},)})
    for graph in graphs(lowered):
        check_constants(graph)
    check_results(lowered, model, (torch.randn(5, 12),), 1e-5)


def test_a_weight_that_others_read_is_packed_as_well() -> None:
    """The linear layer keeps its weight; the product gets a second, equal constant."""
    (graph,) = graphs(lower(*MODELS["packed_too"], "1.4"))
    assert sorted(kinds(graph)) == ["Add", "FullyConnected", "Multiply"]
    assert len(graph.input_ids) == 2


def test_a_program_that_is_lowered_whole_is_refused() -> None:
    """A delegate of a whole program, without a calling program, has no arguments that could be its constants."""
    from sdk.exir import to_edge

    model, inputs = MODELS["mul_parameter"]
    program = to_edge(export(model, inputs, strict=False)).exported_program()
    assert to_backend("XnnpackBackend", program, []).processed_bytes
    with pytest.raises(RuntimeError, match=r"the original may free that.*XnnpackPartitioner\(compat=\.\.\.\)"):
        to_backend("XnnpackBackend", program, [CompileSpec("compat", b"1.4")])


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)),
        nn.Sequential(nn.Linear(4, 6), nn.ReLU6(), nn.Hardswish(), nn.Softmax(-1)),
        nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2)),
    ],
    ids=["relu", "clamp", "image"],
)
def test_ids_are_positions(model: nn.Module) -> None:
    """A fused clamp, or a result that nothing reads, leaves no gap."""
    for graph in graphs(lower(model.eval(), (torch.randn(3, 4),), None)):
        check_ids(graph)
