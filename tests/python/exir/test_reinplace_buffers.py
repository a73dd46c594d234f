# SPDX-License-Identifier: BSD-3-Clause
"""`reinplace_pass` on buffers and inputs that a program writes to."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import export

from sdk.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from sdk.exir.dialects._ops import ops
from sdk.exir.passes.reinplace import DEFAULT_INPLACEABLE_OPS, reinplace_pass
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

CALLS = [(torch.tensor([1, 3]), torch.tensor([5.0, 6.0])), (torch.tensor([0, 3]), torch.tensor([-1.0, 2.5]))]


class Cache(torch.nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.state = torch.nn.Buffer(torch.zeros(5))

    def forward(self, indices: torch.Tensor, values: torch.Tensor) -> Any:
        state = self.state
        if self.how == "returned":
            return state.index_put_((indices,), values)
        if self.how == "accumulated":
            return state.index_put_((indices,), values, accumulate=True).sum()
        if self.how == "twice":
            return state.index_put_((indices,), values).index_put_((indices + 1,), values * 2).sum()
        if self.how == "old value":
            old = state + 0
            return state.index_put_((indices,), values) * old
        if self.how == "read later":
            put = state.index_put((indices,), values)
            state.add_(1)
            return put
        if self.how == "other value":
            put = state.index_put((indices,), values)
            state.copy_(torch.zeros(5) + values.sum())
            return put
        assert self.how == "returned before"
        old = state.clone()
        state.index_put_((indices,), values)
        return old


@pytest.mark.parametrize(
    ("how", "count"),
    [
        *(("returned", 1), ("accumulated", 1), ("twice", 2), ("old value", 1)),
        *(("read later", 0), ("other value", 0), ("returned before", None)),
    ],
)
def test_a_write_to_a_buffer_is_in_place(how: str, count: int | None) -> None:
    """`index_put_` writes to the buffer in the graph, without a copy, unless the write would change another value. In
    each call, the results and the buffer equal eager's."""
    edge = to_edge(export(Cache(how), CALLS[0], strict=True))
    program = edge.to_executorch(ExecutorchBackendConfig(run_reinplace_pass=True))
    targets = [str(node.target) for node in program.exported_program().graph.nodes if node.op == "call_function"]
    if count is not None:
        assert targets.count("aten.index_put_.default") == count
        assert targets.count("aten.copy_.default") == (count == 0)
    loaded, eager = _load_for_executorch_from_buffer(program.buffer), Cache(how)
    for inputs in (*CALLS, *CALLS):
        found, expected = loaded.forward(inputs)[0].clone(), eager(*inputs).clone()
        torch.testing.assert_close(found, expected)


def test_returned_buffers_keep_their_memory() -> None:
    """Writing to a returned tensor does not change the program's state."""
    program = to_edge(export(Cache("returned"), CALLS[0])).to_executorch(
        ExecutorchBackendConfig(run_reinplace_pass=True)
    )
    loaded = _load_for_executorch_from_buffer(program.buffer)
    loaded.forward(CALLS[0])[0].fill_(7)
    assert loaded.forward(CALLS[1])[0].tolist() == [-1.0, 5.0, 0.0, 2.5, 0.0]


class WritesToInput(torch.nn.Module):
    def forward(self, x: torch.Tensor, indices: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        return x.index_put_((indices,), values).sum()


def test_a_write_to_an_input_is_in_place() -> None:
    inputs = (torch.ones(5), *CALLS[0])
    program = reinplace_pass(to_edge(export(WritesToInput(), inputs)).exported_program())
    assert ops.edge.aten.index_put_.default in {node.target for node in program.graph.nodes}
    x = torch.ones(5)
    assert program.module()(x, *CALLS[0]) == 14.0
    assert x.tolist() == [1.0, 5.0, 1.0, 6.0, 1.0]


class Copies(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state = torch.nn.Buffer(torch.zeros(5))

    def forward(self, indices: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        return self.state.index_copy_(0, indices, values).sum()


def test_operators_that_are_asked_for_write_to_buffers() -> None:
    config = EdgeCompileConfig(preserve_ops=[torch.ops.aten.index_copy.default], _check_ir_validity=False)
    edge = to_edge(export(Copies(), CALLS[0]), compile_config=config)
    index_copy = ops.edge.aten.index_copy.default
    assert index_copy in {node.target for node in edge.exported_program().graph.nodes}
    program = reinplace_pass(edge.exported_program(), DEFAULT_INPLACEABLE_OPS | {index_copy})
    targets = {node.target for node in program.graph.nodes}
    assert ops.edge.aten.index_copy_.default in targets and index_copy not in targets
