# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of dynamic shapes: the runtime refuses the shapes that torch refuses, and computes the others like eager."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.export import Dim  # noqa: E402

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner  # noqa: E402
from sdk.exir import to_edge_transform_and_lower  # noqa: E402
from sdk.extension.pybindings import portable_lib  # noqa: E402
from sdk.runtime import Runtime  # noqa: E402


class Mean(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(1) / x.shape[1]


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


class Join(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, y]) * 2


def lower(model: torch.nn.Module, inputs: tuple[Any, ...], shapes: Any, xnnpack: bool) -> tuple[Any, bytes]:
    exported = torch.export.export(model.eval(), inputs, dynamic_shapes=shapes)
    partitioner = [XnnpackPartitioner()] if xnnpack else None
    return exported.module(), to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch().buffer


@pytest.mark.parametrize("xnnpack", [False, True], ids=["portable", "xnnpack"])
@pytest.mark.parametrize(
    ("model", "inputs", "shapes", "sizes"),
    [
        pytest.param(
            Mean(),
            (torch.ones(4, 8),),
            ({0: Dim("n", min=3, max=32)},),
            [[(n, k)] for n in (0, 2, 3, 8, 32, 33) for k in (1, 7, 8, 9, 32)],
            id="mean",
        ),
        pytest.param(
            torch.nn.Conv2d(3, 4, 3, padding=1),
            (torch.ones(1, 3, 16, 32),),
            ({2: Dim("h", min=4, max=64)},),
            [[size] for size in ((1, 3, 64, 32), (1, 3, 128, 16), (1, 3, 3, 32), (2, 3, 32, 32), (1, 3, 4, 32))],
            id="conv",
        ),
        pytest.param(
            Add(),
            (torch.ones(4, 2), torch.ones(4, 2)),
            ({0: Dim("n", max=8)}, {0: Dim("n", max=8)}),
            [[(a, 2), (b, 2)] for a, b in itertools.product((1, 2, 5, 8, 9), repeat=2)],
            id="shared",
        ),
        pytest.param(
            Join(),
            (torch.ones(4, 2), torch.ones(9, 2)),
            ({0: Dim("n", min=3, max=8)}, {0: 2 * Dim("n", min=3, max=8) + 1}),
            [[(a, 2), (b, 2)] for a, b in itertools.product((3, 5, 8), (7, 8, 11, 17))],
            id="derived",
        ),
    ],
)
def test_inputs_are_refused_as_by_torch(
    model: torch.nn.Module, inputs: tuple[Any, ...], shapes: Any, sizes: list[Any], xnnpack: bool
) -> None:
    module, data = lower(model, inputs, shapes, xnnpack)
    method = Runtime.get().load_program(data).load_method("forward")
    accepted = 0
    for case in sizes:
        tensors = [torch.randn(size) for size in case]
        try:
            expected = module(*tensors)
        except (AssertionError, RuntimeError):
            with pytest.raises(RuntimeError, match=r"Input \d must have size"):
                method.execute(tensors)
            continue
        accepted += 1
        (found,) = method.execute(tensors)
        np.testing.assert_allclose(found, expected.detach(), rtol=1e-4, atol=1e-5)
    assert 0 < accepted < len(sizes)


def test_an_empty_input_is_refused_where_the_export_excludes_it() -> None:
    """torch.export's program accepts the size 0, whatever the minimum of `Dim` is."""
    for least, refused in ((0, False), (1, True)):
        _, data = lower(Mean(), (torch.ones(4, 8),), ({0: Dim("n", min=least, max=8)},), False)
        method = Runtime.get().load_program(data).load_method("forward")
        if refused:
            with pytest.raises(RuntimeError, match=r"must have sizes \(1\.\.8, 8\), found \(0, 8\)"):
                method.execute([torch.ones(0, 8)])
        else:
            assert method.execute([torch.ones(0, 8)])[0].shape == (0,)


@pytest.mark.parametrize("xnnpack", [False, True], ids=["portable", "xnnpack"])
def test_sizes_that_disagree_name_both_inputs_at_every_door(xnnpack: bool) -> None:
    n = Dim("n", max=8)
    _, data = lower(Add(), (torch.ones(4, 2), torch.ones(4, 2)), ({0: n}, {0: n}), xnnpack)
    method = Runtime.get().load_program(data).load_method("forward")
    module = portable_lib._load_for_executorch_from_buffer(data)
    for execute in (method.execute, module.forward, lambda inputs: module.run_method("forward", inputs)):
        with pytest.raises(RuntimeError, match="Input 1 must have size 3 in dimension 0, because input 0 has 3") as why:
            execute([torch.ones(3, 2), torch.ones(2, 2)])
        assert "XNN" not in str(why.value)
        assert torch.equal(torch.as_tensor(execute([torch.ones(3, 2), torch.ones(3, 2)])[0]), torch.full((3, 2), 2.0))
