# SPDX-License-Identifier: BSD-3-Clause
"""The calls that `MPSPartitioner` delegates, and the reasons for the others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from mps_cases import bools, floats, integers
from mps_lowering import LIMITS, difference, lower, reference, specs
from torch.export import Dim

from sdk.backends.apple.mps import MPSBackend
from sdk.backends.apple.mps.mps_preprocess import MPSBackend as Preprocess
from sdk.backends.apple.mps.operators.node_visitor import NodeVisitor, register_node_visitor
from sdk.backends.apple.mps.partition import MPSPartitioner
from sdk.backends.apple.mps.partition.mps_partitioner import MPSPartitioner as Partitioner
from sdk.backends.apple.mps.verify import MPSProgram
from sdk.exir import to_edge
from sdk.exir.backend.backend_api import to_backend
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.utils import get_non_lowered_nodes, get_refusals
from sdk.exir.lowered_backend_module import get_lowered_submodules

ROOT = Path(__file__).resolve().parents[4]
aten = torch.ops.aten


class Model(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def refusals(function: Any, *inputs: torch.Tensor, use_fp16: bool = False, **options: Any) -> dict[str, str]:
    program = lower(Model(function), inputs, use_fp16, **options).exported_program()
    nodes = get_non_lowered_nodes(program.graph)
    return {str(getattr(n.target, "_op", n.target)): get_refusals(n).get("MPSBackend", "") for n in nodes}


X = floats(2, 3, 8, 8)
REFUSED: dict[str, tuple[Any, tuple[torch.Tensor, ...], str]] = {
    "an operator that MPS lacks": (lambda x: x.cumsum(0), (X,), "no such operator"),
    "float64": (lambda x: x + 1, (X.double(),), "no float64"),
    "bfloat16": (lambda x: x + 1, (X.bfloat16(),), "no bfloat16"),
    "uint8": (lambda x: x + 1, (integers(4, low=0, dtype=torch.uint8),), "no uint8"),
    "no elements": (lambda x: x + 1, (torch.ones(0, 3),), "no empty tensors"),
    "a transposed convolution": (
        lambda x: aten.convolution(x, torch.ones(3, 2, 2, 2), None, [2, 2], [0, 0], [1, 1], True, [0, 0], 1),
        (X,),
        "transposed",
    ),
    "three spatial dimensions": (
        lambda x: torch.conv3d(x, torch.ones(1, 3, 2, 2, 2)), (floats(1, 3, 4, 4, 4),), "has 3",
    ),
    "integer division": (lambda x: x // 3, (integers(4),), "divides floats"),
    "integer remainders": (lambda x: x % 3, (integers(4),), "divides floats"),
    "powers of integers": (lambda x, y: torch.pow(x, y), (integers(4), integers(4, low=0)), "powers of floats"),
    "sums of bool": (lambda x, y: torch.add(x, y), (bools(4), bools(4, seed=1)), "arithmetic of bool"),
    "indices of dimensions apart": (lambda x, i: x[i, :, i], (X, torch.tensor([0, 1])), "not [0, 2]"),
    "a mask as an index": (lambda x, m: aten.index_put(x, [m], x.sum()), (X, bools(2, 3, 8, 8)), "int32 and int64"),
    "sums at indices": (
        lambda x, i: aten.index_put(x, [i], x[:1], True), (X, torch.tensor([0, 0])), "does not add",
    ),
    "the padding of ceil_mode beside the model's": (
        lambda x: torch.nn.functional.avg_pool2d(x, 3, 3, 1, ceil_mode=True), (floats(1, 3, 9, 9),), "ceil_mode",
    ),
    "pooling without a batch": (lambda x: torch.nn.functional.avg_pool2d(x, 2), (X[0],), "rank 4"),
    "negative padding": (lambda x: torch.nn.functional.pad(x, (-1, 2)), (X,), "does not remove"),
    "padding of four dimensions": (lambda x: torch.nn.functional.pad(x, (1,) * 8), (X,), "1 to 3 dimensions"),
    "a large integer": (lambda x: torch.full_like(x, 2**24 + 1), (integers(4),), "16777217 is not"),
    "statistics": (lambda x: aten.native_layer_norm(x, [8], None, None, 1e-5)[1], (X,), "statistics"),
    "products of integers": (lambda x: x @ x, (integers(4, 4),), "matrices of floats"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_stays_outside_and_why(what: str) -> None:
    function, inputs, message = REFUSED[what]
    found = refusals(function, *inputs)
    assert any(message in reason for reason in found.values()), found


def test_dynamic_sizes_stay_outside() -> None:
    found = refusals(lambda x: x.relu(), floats(3, 4), dynamic_shapes=(({0: Dim("n", max=9)},),))
    assert "fixed shapes" in found["aten.relu.default"]


def test_tensors_in_channels_last_stay_outside() -> None:
    """The runtime reads and writes contiguous tensors. Weights in another order are stored contiguously."""
    found = refusals(lambda x: x.relu(), X.to(memory_format=torch.channels_last))
    assert "dim order" in found["aten.relu.default"]


def test_weights_in_channels_last_are_stored_contiguously(tmp_path: Path) -> None:
    convolution = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    model = torch.nn.Sequential(convolution, torch.nn.Flatten(), torch.nn.Linear(144, 2))
    manager = lower(model, (X,))
    program = reference(manager, tmp_path)
    assert difference(program.run_method("forward", (X,)), model(X)) <= LIMITS[False]


def test_copies_alone_are_not_worth_a_delegate() -> None:
    assert refusals(lambda x: x.clone(), X)
    assert refusals(lambda x: (x.cumsum(0), torch.ones(3)), X)["aten.full.default"].startswith("alone")


class _Positions(torch.nn.Module):
    """Indices that are gathered from buffers, as in language models, and sums of a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kinds", integers(1, 6, low=0, high=3))
        self.register_buffer("positions", torch.arange(8)[None])
        self.weight = torch.nn.Parameter(floats(3, 4))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        kinds = self.kinds.expand(1, -1).gather(1, self.positions[:, 2:6])
        return torch.nn.functional.embedding(kinds, self.weight) + x, self.weight.cumsum(0), kinds.to(torch.int32) + 1


@pytest.mark.parametrize("use_fp16", [False, True], ids=["fp32", "fp16"])
def test_what_mps_lacks_is_computed_in_advance_from_constants(use_fp16: bool, tmp_path: Path) -> None:
    """gather and cumsum become constants, and what only they read is not in the payload."""
    model, x = _Positions(), floats(1, 4, 4)
    manager = lower(model, (x,), use_fp16)
    assert not get_non_lowered_nodes(manager.exported_program().graph)
    ((_, module, _),) = get_lowered_submodules(manager.exported_program().graph_module)
    operations = MPSProgram.from_payload(module.processed_bytes).operations()
    assert not {"MPSSlice", "MPSExpand"} & set(operations), operations
    with torch.no_grad():
        expected = model(x)
    assert difference(reference(manager, tmp_path).run_method("forward", (x,)), expected) <= LIMITS[use_fp16]


def test_parts_of_branches_are_delegated(tmp_path: Path) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.exp() + 1, lambda x: x.sin() * 2, (x,))

    program = reference(lower(Model(function), (X,)), tmp_path)
    for x in (X.abs(), -X.abs()):
        assert difference(program.run_method("forward", (x,)), function(x)) <= LIMITS[False]


class Cache(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, 8, 4))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.cache.index_put_((torch.zeros(1, dtype=torch.int64), position), x)
        return self.cache.relu() * 2


def test_buffers_that_the_model_changes_keep_their_values(tmp_path: Path) -> None:
    """Buffers that the model changes are inputs and outputs of the delegate."""
    model = Cache()
    program = reference(lower(Cache(), (floats(1, 4), torch.tensor([0]))), tmp_path)
    for position in (0, 3, 3):
        call = (floats(1, 4, seed=position), torch.tensor([position]))
        with torch.no_grad():
            expected = model(*call)
        assert difference(program.run_method("forward", call), expected) <= LIMITS[False]


def test_options() -> None:
    assert MPSBackend is Preprocess and MPSPartitioner is Partitioner and MPSBackend.__name__ == "MPSBackend"
    partitioner = MPSPartitioner([CompileSpec("use_fp16", bytes([True]))])
    assert partitioner.delegation_spec.backend_id == "MPSBackend"
    assert partitioner.delegation_spec.compile_specs == [CompileSpec("use_fp16", b"\1")]
    with pytest.raises(ValueError, match="'fp16' is unknown"):
        MPSPartitioner([CompileSpec("fp16", b"\1")])
    with pytest.raises(ValueError, match="one byte, 0 or 1"):
        MPSPartitioner([CompileSpec("use_fp16", b"yes")])


def test_whole_programs_without_the_partitioner() -> None:
    edge = to_edge(torch.export.export(Model(lambda x: x.exp() + 1), (X,)))
    lowered = to_backend("MPSBackend", edge.exported_program(), specs(False))
    assert lowered.backend_id == "MPSBackend"
    edge = to_edge(torch.export.export(Model(lambda x: x.cumsum(0)), (X,)))
    with pytest.raises(RuntimeError, match=r"MPS does not take .*cumsum.*no such operator"):
        to_backend("MPSBackend", edge.exported_program(), specs(False))


@pytest.mark.parametrize("name", ["lower", "define_node"])  # the second is the original's
def test_a_visitor_of_the_user(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from sdk.backends.apple.mps.operators import node_visitor
    from sdk.backends.apple.mps.serialization.mps_graph_schema import MPSGraph, MPSMul

    monkeypatch.setattr(node_visitor, "VISITORS", dict(node_visitor.VISITORS))

    def square(self: NodeVisitor, node: torch.fx.Node, mps_graph: MPSGraph) -> None:
        value = self.define_tensor(node.args[0], mps_graph)  # type: ignore[arg-type]
        self.add(MPSMul(value, value, self.define_tensor(node, mps_graph)), mps_graph)

    register_node_visitor(type("Square", (NodeVisitor,), {"target": "aten.trunc.default", name: square}))
    program = reference(lower(Model(torch.trunc), (X,)), tmp_path)
    assert torch.equal(program.run_method("forward", (X,))[0], X * X)


def test_the_receipt_says_that_float16_is_used() -> None:
    for use_fp16 in (False, True):
        manager = lower(Model(lambda x: x.exp()), (X,), use_fp16)
        ((_, module, _),) = get_lowered_submodules(manager.exported_program().graph_module)
        assert ("float32 tensors are float16" in str(module.meta)) == use_fp16


SCRIPT = "import sys, sdk.backends.registry as r; print(r.backend('mps').id, 'torch' in sys.modules)"


def test_the_declaration_imports_no_torch() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.split() == ["MPSBackend", "False"]
