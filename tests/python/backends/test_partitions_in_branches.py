# SPDX-License-Identifier: BSD-3-Clause
"""Partitions in the branches of cond and the bodies of loops, of all partitioners, and their numbers on the runtime."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops import map as map_rows
from torch._higher_order_ops import scan, while_loop
from torch.export import Dim, export

from sdk.backends.partition import graphs_of
from sdk.backends.transforms.constants import get_constant, is_constant, is_shared, settled
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from sdk.runtime import Runtime


class Model(nn.Module):
    def __init__(self, step: Callable[..., Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.register_buffer("state", torch.randn(4, 4))
        self.step = step

    def forward(self, x: Tensor) -> Any:
        return self.step(self, x)


def cond(x: Tensor, first: Callable[..., Any], second: Callable[..., Any], *more: Tensor) -> Any:
    return torch.cond(x.sum() > 0, first, second, (x, *more))


def _loop(m: Any, x: Tensor) -> Tensor:
    return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, m.a(y).relu() + y * 0.1), (torch.tensor(0), x))[1]


def _loop_from_a_weight(m: Any, x: Tensor) -> Tensor:
    """The loop begins with a buffer, which has the buffer's name in the body, too, and is not a constant there."""

    def body(i: Tensor, w: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return i + 1, (w + 1.0) * 0.5, nn.functional.linear(y, w).relu()

    return while_loop(lambda i, w, y: i < 3, body, (torch.tensor(0), m.state, x))[2]


def _scan(m: Any, x: Tensor) -> Any:
    return scan(lambda c, row: ((m.a(row) + c).tanh(), (c * row).sigmoid()), x[0] * 0, x)


def _nested(m: Any, x: Tensor) -> Tensor:
    def inner(x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 2, lambda x: m.a(x).relu(), lambda x: m.b(m.a(x)), (x,))

    return cond(x, inner, lambda x: m.b(x) * 2)


def _main_too(m: Any, x: Tensor) -> Tensor:
    y = m.a(x) * 0.5
    return cond(x, lambda x, y: m.a(x).relu() + y, lambda x, y: (x * y).sigmoid(), y)


def _image(m: Any, x: Tensor) -> Tensor:
    image = x.reshape(x.shape[0], 1, 2, 2).expand(x.shape[0], 3, 2, 2)
    return torch.cond(
        x.sum() > 0, lambda i: m.norm(m.conv(i)).relu(), lambda i: (m.conv(i) * 2).tanh(), (image.contiguous(),)
    )


MODELS = {
    "cond": lambda m, x: cond(x, lambda x: m.a(x).relu(), lambda x: m.b(x).relu() + 1),
    "constants": lambda m, x: cond(x, lambda x: x * torch.tensor([1.0, 2, 3, 4]) + 0.5, lambda x: x - torch.ones(1, 4)),
    "image": _image,
    "main graph too": _main_too,
    "map": lambda m, x: map_rows(lambda row: m.a(row).relu(), x),
    "nested": _nested,
    "one weight in both": lambda m, x: cond(x, lambda x: m.a(x).relu(), lambda x: m.a(x).sigmoid()),
    "scan": _scan,
    "while": _loop,
    "while, from a weight": _loop_from_a_weight,
}
X = torch.tensor([[1.0, -2, 0.5, 3], [0.25, 1, -1, 2]])
INPUTS = [X, -X, X.abs(), -X.abs(), X.abs() * 9]


def lower(name: str, partitioner: Any, dynamic: Any = None, dtype: torch.dtype = torch.float32) -> tuple[Any, Any]:
    model = Model(MODELS[name]).eval().to(dtype)
    exported = export(model, (X.to(dtype),), dynamic_shapes=dynamic)
    return model, to_edge_transform_and_lower(exported, partitioner=[partitioner])


def delegates(edge: EdgeProgramManager) -> list[Any]:
    return get_lowered_backend_modules(edge.exported_program().graph_module)


def check(model: nn.Module, edge: EdgeProgramManager, inputs: list[Tensor], **tolerance: float) -> None:
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for x in inputs:
        with torch.no_grad():
            expected = model(x)
        torch.testing.assert_close(
            list(method.execute([x])), list(expected) if isinstance(expected, tuple) else [expected], **tolerance
        )


@pytest.mark.sampled
@pytest.mark.parametrize("name", MODELS)
def test_branches_and_bodies_are_delegated(name: str) -> None:
    model, edge = lower(name, XnnpackPartitioner())
    inside = [
        node
        for module in graphs_of(edge.exported_program())[1:]
        for node in module.graph.nodes
        if getattr(node.target, "__name__", "") == "executorch_call_delegate"
    ]
    assert inside and not any("linear" in str(node.target) for node in inside)
    check(model, edge, INPUTS, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["cond", "while", "one weight in both", "map"])
def test_dynamic_sizes_in_branches(name: str) -> None:
    model, edge = lower(name, XnnpackPartitioner(), ({0: Dim("n", max=5)},))
    assert delegates(edge)
    check(model, edge, [torch.randn(n, 4) * sign for n in (1, 2, 5) for sign in (1, -1)], rtol=1e-5, atol=1e-5)
    if name in ("cond", "one weight in both"):
        check(model, edge, [torch.randn(0, 4)])


def test_branches_in_half_precision() -> None:
    model, edge = lower("cond", XnnpackPartitioner(), dtype=torch.float16)
    assert len(delegates(edge)) == 2
    check(model, edge, [x.half() for x in INPUTS], rtol=2e-3, atol=2e-3)


def test_each_operator_alone() -> None:
    model, edge = lower("nested", XnnpackPartitioner(per_op_mode=True))
    assert len(delegates(edge)) > 4
    check(model, edge, INPUTS, rtol=1e-5, atol=1e-5)


def test_weights_that_remain_the_programs() -> None:
    model, edge = lower("one weight in both", XnnpackPartitioner(force_non_static_weights_for_f32_linear=True))
    assert len(delegates(edge)) == 2
    for module in delegates(edge):
        assert not module.original_module.graph_signature.inputs_to_parameters
    check(model, edge, INPUTS, rtol=1e-5, atol=1e-5)


def test_a_weight_of_several_graphs_is_stored_once() -> None:
    sizes = []
    for name in ("one weight in both", "cond"):
        _, edge = lower(name, XnnpackPartitioner())
        data = [len(buffer) for module in delegates(edge) for buffer in module.named_data_store_output.buffers]
        sizes.append(len(edge.to_executorch().buffer))
        assert data.count(64) == 2  # each delegate has the weight under its own name
    assert sizes[0] < sizes[1]


def test_constants_of_branches() -> None:
    """Constants of branches are those that the branches receive as constants, not values that have the name of one."""
    program = to_edge(export(Model(MODELS["while, from a weight"]).eval(), (X,))).exported_program()
    with settled(program):
        _, *branches = graphs_of(program)
        for module in branches:
            inputs = [n for n in module.graph.nodes if n.op == "placeholder"]
            assert all(n.name.startswith("lifted_") == is_constant(program, n) for n in inputs)  # numbers of the body
    program = to_edge(export(Model(MODELS["one weight in both"]).eval(), (X,))).exported_program()
    with settled(program):
        _, *branches = graphs_of(program)
        for module in branches:
            inputs = [n for n in module.graph.nodes if n.op == "placeholder"]
            known = [n for n in inputs if get_constant(program, n) is not None]
            assert len(inputs) == 3 and len(known) == 2 and all(is_shared(program, n) for n in known)


def _others() -> dict[str, Callable[[], Any]]:
    def make(module: str, name: str, *args: Any) -> Callable[[], Any]:
        return lambda: getattr(pytest.importorskip(module), name)(*args)

    def tosa() -> Any:
        arm = importlib.import_module("sdk.backends.arm.tosa")
        return arm.TOSAPartitioner(arm.TosaCompileSpec("TOSA-1.0+FP"))

    return {
        "mps": make("sdk.backends.apple.mps.partition", "MPSPartitioner"),
        "vulkan": make("sdk.backends.vulkan.partitioner.vulkan_partitioner", "VulkanPartitioner"),
        "tosa": tosa,
    }


@pytest.mark.sampled
@pytest.mark.parametrize("backend", _others())
@pytest.mark.parametrize("name", ["cond", "one weight in both", "while", "map", "nested", "while, from a weight"])
def test_all_partitioners_go_into_branches(backend: str, name: str) -> None:
    """The partitions compute the same as the program in Python; the backends' own tests check their numbers."""
    model, edge = lower(name, _others()[backend]())
    program = edge.exported_program()
    inside = [
        node
        for module in graphs_of(program)[1:]
        for node in module.graph.nodes
        if getattr(node.target, "__name__", "") == "executorch_call_delegate"
    ]
    assert inside
    for x in INPUTS:
        with torch.no_grad():
            torch.testing.assert_close(program.module()(x), model(x), rtol=1e-5, atol=1e-5)
