# SPDX-License-Identifier: BSD-3-Clause
"""Writes in place to state, inputs and intermediate results, and through views, in quantised models."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from sdk.backends.arm.quantizer import (
    TOSAQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from sdk.backends.mediatek.quantizer.quantizer import NeuropilotQuantizer
from sdk.backends.nxp.backend.neutron_target_spec import NeutronTargetSpec
from sdk.backends.nxp.quantizer.neutron_quantizer import NeutronQuantizer
from sdk.backends.quantizer.writes import replace_writes
from sdk.backends.samsung.quantizer.quantizer import EnnQuantizer
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.backends.xnnpack.quantizer import xnnpack_quantizer as xnnpack
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime

SHAPE = (4, 6)


class State(nn.Module):
    """Writes to its state as it is told, and reads all of it."""

    def __init__(self, write: Callable[[Tensor, Tensor], Any]) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(SHAPE))
        self.write = write

    def forward(self, x: Tensor) -> Tensor:
        before = self.state.sum(1)
        self.write(self.state, x)
        return self.state * 2 + before.unsqueeze(1)


def _rows(state: Tensor, x: Tensor) -> None:
    row = state[1]
    row.add_(x[0])
    row.mul_(0.5)
    state[2] = row


WRITES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "whole": lambda state, x: state.add_(x),
    "copy": lambda state, x: state.copy_(x[0]),
    "zero": lambda state, x: state[:, 0].zero_(),
    "fill": lambda state, x: (state.fill_(0.5), state.add_(x)),
    "select": lambda state, x: state.select(0, -1).add_(x[0]),
    "index": lambda state, x: state.__setitem__(0, x[0]),
    "slice": lambda state, x: state[:, 1:3].copy_(x[:, :2]),
    "steps": lambda state, x: state[::2].mul_(0.5).sub_(x[::2]),
    "index_put": lambda state, x: state.__setitem__(torch.tensor([0, 3]), x[:2]),
    "index_copy": lambda state, x: state.index_copy_(0, torch.tensor([1, 2]), x[:2]),
    "view": lambda state, x: state.view(2, 12)[1].add_(x.view(-1)[:12]),
    "flat": lambda state, x: state.flatten()[3:9].copy_(x[0]),
    "squeeze": lambda state, x: state.unsqueeze(0).squeeze(0).add_(x),
    "split": lambda state, x: state.split(2)[0].add_(x[:2]),
    "split_with_sizes": lambda state, x: state.split([1, 3])[1].add_(x[1:]),
    "chunk": lambda state, x: state.chunk(2, 1)[1].add_(x[:, 3:]),
    "part to part": lambda state, x: (state.copy_(x), state.split(2)[1].sub_(state.split(2)[0])),
    "unbind": lambda state, x: state.unbind(1)[2].add_(x[:, 0]),
    "transpose": lambda state, x: state.t()[1].add_(x[:, 0]),
    "permute": lambda state, x: state.permute(1, 0).transpose(0, 1).add_(x),
    "diagonal": lambda state, x: state.diagonal(1).add_(x[:, 0]),
    "masked": lambda state, x: state.masked_fill_(x > 0, 1.0),
    "row by row": _rows,
}


class Input(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x[0].add_(1.0)
        return x.sum(1)


class Intermediate(nn.Module):
    """Changes a part of a result that is read twice."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        y[:, 2:] = x[:, 2:]
        y.relu_()
        return y * 2 + y[0]


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        return x * self.count.float()


class Cache(nn.Module):
    """Writes results to its state without gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.register_buffer("cache", torch.zeros(1, 8, 6))

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        with torch.no_grad():
            self.cache[:, 2:6] = y
            total = self.cache.sum(1)
        return (y @ self.cache[0].t()).softmax(-1) @ self.cache[0] + total


class Swap(nn.Module):
    """Each state gets what the other one had."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.full(SHAPE, 1.0))
        self.register_buffer("b", torch.full(SHAPE, 3.0))

    def forward(self, x: Tensor) -> Tensor:
        old = self.a.clone()
        self.a.copy_(self.b)
        self.b.copy_(old)
        self.b.add_(x)
        return self.a + self.b


INT8 = get_symmetric_quantization_config()
INT16 = get_symmetric_a16w8_quantization_config()


def _tosa() -> TOSAQuantizer:
    return TOSAQuantizer("TOSA-1.0+INT+FP+int16")


QUANTIZERS: dict[str, Callable[[], Any]] = {
    "tosa global": lambda: _tosa().set_global(INT8),
    "tosa global int16": lambda: _tosa().set_global(INT16),
    "tosa io": lambda: _tosa().set_io(INT8),
    "tosa module": lambda: _tosa().set_module_type(nn.Linear, INT8).set_module_type(State, INT8),
    "tosa all": lambda: _tosa().set_global(INT16).set_io(INT16),
    "mediatek": NeuropilotQuantizer,
    "samsung": EnnQuantizer,
    "nxp": lambda: NeutronQuantizer(NeutronTargetSpec("imxrt700")),
    "xnnpack": lambda: xnnpack.XNNPACKQuantizer().set_global(xnnpack.get_symmetric_quantization_config()),
}


def _calls(count: int = 4) -> list[Tensor]:
    torch.manual_seed(1)
    return [torch.rand(SHAPE) * 2 - 1 for _ in range(count)]


def _check(model: nn.Module, quantizer: Any, tolerance: float) -> None:
    """Compares a quantised model, call by call, with the model that was not quantised."""
    calls = _calls()
    initial = copy.deepcopy(model.state_dict())
    prepared = prepare_pt2e(export(copy.deepcopy(model), (calls[0].clone(),)).module(), quantizer)
    for x in calls:
        prepared(x.clone())
    converted = convert_pt2e(prepared)
    converted.load_state_dict(initial, strict=False)
    for x in calls:
        ours, theirs = x.clone(), x.clone()
        torch.testing.assert_close(converted(ours), model(theirs), atol=tolerance, rtol=0)
        torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=0)
        for name, value in model.named_buffers():
            torch.testing.assert_close(getattr(converted, name), value, atol=tolerance, rtol=0)


@pytest.mark.parametrize("name", [name for name in QUANTIZERS if name.startswith(("tosa", "xnnpack"))])
@pytest.mark.parametrize("write", WRITES)
def test_state_that_is_written(write: str, name: str) -> None:
    # The state is at most 4 after four calls, so that a step of int8 is at most 0.08 of the result.
    _check(State(WRITES[write]), QUANTIZERS[name](), 0.01 if "int16" in name or "all" in name else 0.4)


@pytest.mark.parametrize("name", QUANTIZERS)
@pytest.mark.parametrize("model", [Input, Intermediate, Counter, Cache, Swap])
def test_other_tensors_that_are_written(model: type[nn.Module], name: str) -> None:
    torch.manual_seed(0)
    _check(model(), QUANTIZERS[name](), 0.2)


@pytest.mark.parametrize("write", WRITES)
def test_the_values_are_exact_without_quantisation(write: str) -> None:
    model = State(WRITES[write])
    captured = export(copy.deepcopy(model), (torch.zeros(SHAPE),)).module()
    replace_writes(captured)
    state = captured.graph.find_nodes(op="get_attr", target="state")[0]
    assert [str(user.target) for user in state.users if user.target._schema.is_mutable] == ["aten.copy_.default"]
    for x in _calls():
        torch.testing.assert_close(captured(x), model(x), atol=0, rtol=0)
        torch.testing.assert_close(captured.state, model.state, atol=0, rtol=0)


def test_a_write_without_gradients_has_none() -> None:
    """As in eager: the state never needs a gradient, and none flows through what the block returns."""
    x = torch.randn(SHAPE)
    eager = Cache()
    captured = export(copy.deepcopy(eager), (x,)).module()
    replace_writes(captured)
    for _ in range(2):
        captured(x).sum().backward()
        eager(x).sum().backward()
    assert not captured.cache.requires_grad
    for name, weight in eager.named_parameters():
        torch.testing.assert_close(captured.get_parameter(name).grad, weight.grad)


def test_a_write_that_the_next_operator_reads_stays() -> None:
    """Quantizers join an activation in place and the layer before it."""
    model = nn.Sequential(nn.Linear(6, 6), nn.ReLU(inplace=True), nn.Linear(6, 6))
    captured = export(model, (torch.zeros(SHAPE),)).module()
    replace_writes(captured)
    assert torch.ops.aten.relu_.default in [node.target for node in captured.graph.nodes]


@pytest.mark.parametrize("write", ["select", "split", "unbind", "index_put"])
def test_the_program_keeps_what_is_written(write: str) -> None:
    calls = _calls()
    model = State(WRITES[write])
    prepared = prepare_pt2e(export(copy.deepcopy(model), (calls[0],)).module(), QUANTIZERS["xnnpack"]())
    for x in calls:
        prepared(x)
    converted = convert_pt2e(prepared)
    converted.state.zero_()
    edge = to_edge_transform_and_lower(export(converted, (calls[0],)), partitioner=[XnnpackPartitioner()])
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for x in calls:
        torch.testing.assert_close(method.execute((x,))[0], model(x), atol=0.4, rtol=0)
