# SPDX-License-Identifier: BSD-3-Clause
"""Weights that are read from the model's own memory while a file is written."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from sdk.devtools.inspector._inputs import digest_of
from sdk.exir import to_edge
from sdk.exir._serialize._named_data_store import tensor_bytes
from sdk.exir._serialize._tensor_data import DataPool, TensorData, same_content
from sdk.exir.error import ExportError
from sdk.run._outputs import write

DTYPES = [torch.float, torch.bfloat16, torch.bool, torch.int64]


@given(st.lists(st.integers(0, 5), max_size=4).flatmap(lambda s: st.tuples(st.just(s), st.permutations(range(len(s))))))
def test_bytes_are_those_of_the_permuted_tensor(case: tuple[list[int], list[int]]) -> None:
    sizes, order = case
    for dtype in DTYPES:
        tensor = torch.randn(sizes).to(dtype)
        expected = tensor.permute(order).contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        data = TensorData(tensor, order, "weight")
        assert bytes(data) == expected
        assert len(data) == len(expected)
        pool = DataPool()
        assert [pool.add(d) for d in (data, expected, expected + b"\0")] == [0, 0, 1]


def test_large_tensors_come_in_pieces() -> None:
    tensor = torch.randn(700, 900)
    data = TensorData(tensor, [1, 0], "weight")
    pieces = list(data.chunks())
    assert len(pieces) > 1
    assert b"".join(pieces) == tensor.T.contiguous().numpy().tobytes()
    other = tensor.clone()
    other[-1, -1] += 1.0
    assert same_content(data, bytes(data))
    assert not same_content(data, TensorData(other, [1, 0], "other"))


def test_a_weight_that_has_changed_is_an_error_and_not_another_program() -> None:
    model = nn.Linear(3, 2)
    manager = to_edge(torch.export.export(model, (torch.ones(1, 3),))).to_executorch()
    with torch.no_grad():
        model.weight.add_(1.0)
    with pytest.raises(ExportError, match="weight 'weight' was changed after the program was made"):
        manager.write_to_file(io.BytesIO())


def test_a_buffer_that_was_asked_for_stays_as_it_was() -> None:
    model = nn.Linear(3, 2)
    manager = to_edge(torch.export.export(model, (torch.ones(1, 3),))).to_executorch()
    before = manager.buffer
    with torch.no_grad():
        model.weight.add_(1.0)
    assert manager.buffer == before


def test_state_may_change_after_lowering() -> None:
    """Running a stateful model for a comparison changes the model, but not the program."""

    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(x)
            return self.count * 2.0

    model = Counter()
    manager = to_edge(torch.export.export(model, (torch.ones(3),))).to_executorch()
    model(torch.ones(3))
    file = io.BytesIO()
    manager.write_to_file(file)
    assert torch.ones(3).numpy().tobytes() in file.getvalue()


def test_writing_needs_no_room_for_the_weights(tmp_path) -> None:
    """Writing 8 MB of weights needs at most 3 MB of Python's memory, even if the program stores a weight in another
    order."""
    model = nn.Linear(1000, 2000)
    manager = to_edge(torch.export.export(model, (torch.ones(1, 1000),))).to_executorch()
    tracemalloc.start()
    with (tmp_path / "model.pte").open("wb") as file:
        manager.write_to_file(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e6
    assert (tmp_path / "model.pte").stat().st_size > 8e6


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.float16, torch.bool, torch.int8], ids=str)
@pytest.mark.parametrize(
    "part",
    [
        lambda t: t[:1, 0, 0],
        lambda t: t[1:2, 2:3, 3:4],
        lambda t: t.permute(2, 1, 0)[:1],
        lambda t: t[:1, 0, 0].expand(3),
        lambda t: t[:0, 0, 0],
        lambda t: t[1, 2, 3],
    ],
    ids=["one element", "one element of rank 3", "permuted", "expanded", "without elements", "rank 0"],
)
def test_a_dimension_of_size_1_has_any_stride(
    part: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype, tmp_path: Path
) -> None:
    """A tensor such as x[:, 0] of one row is contiguous, although the stride of its last dimension is not 1."""
    tensor = part((torch.arange(60).reshape(3, 4, 5) % 7).to(dtype))
    dense = tensor.contiguous().clone().numpy()
    assert bytes(TensorData(tensor, range(tensor.dim()), "weight")) == dense.tobytes()
    assert tensor_bytes(tensor) == tensor_bytes(tensor.clone(memory_format=torch.preserve_format))
    assert digest_of((tensor,)) == digest_of((torch.from_numpy(dense.copy()),))
    write([tmp_path / "y.bin"], [tensor])
    assert (tmp_path / "y.bin").read_bytes() == dense.tobytes()
