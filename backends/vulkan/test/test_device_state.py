# SPDX-License-Identifier: BSD-3-Clause
"""Caches that calls change, and operators that PyTorch has no definition of: graphs built by hand."""

from __future__ import annotations

import copy
from typing import Any

import lowered
import pytest
import torch
from device_program import DeviceProgram
from hand_built import GraphOf, numbers
from torch import nn

import sdk.extension.llm.custom_ops.custom_ops  # noqa: F401 - registers llama's operators

QUERY, KEY, CACHE = (1, 4, 4, 8), (1, 4, 2, 8), (1, 12, 2, 8)


def cached(whole: bool, prefix: str, packs: bool, filled: torch.Tensor) -> Any:
    """A loaded program of `cached_graph`."""
    graph, out = cached_graph(whole, prefix, packs, filled)
    return graph.program(
        lambda q, k, v, position: q + k.sum() + v.sum() + position,
        (numbers(*QUERY), numbers(*KEY), numbers(*KEY), torch.tensor([0], dtype=torch.int32)),
        out,
    )


def cached_graph(whole: bool, prefix: str, packs: bool, filled: torch.Tensor) -> tuple[GraphOf, int]:
    """A graph of attention over caches, which are constants of the program or copies of constants; the result's id."""
    g = GraphOf()
    q, k, v = g.input(*QUERY), g.input(*KEY), g.input(*KEY)
    start = g.call("et_vk.select_as_symint.default", g.input(1, dtype=torch.int32), g.value(0), g.value(0), g.symint())
    caches = [g.constant(filled), g.constant(filled * 2)]
    if packs:
        caches = [g.call("et_vk.prepack.default", cache, g.tensor(*CACHE)) for cache in caches]
    out, none, no, yes = g.tensor(*QUERY), g.value(None), g.value(0.0), g.value(True)
    if whole:
        g.call(
            f"{prefix}sdpa_with_kv_cache.default",
            *(q, k, v, *caches, start, g.value(QUERY[1]), none, no, yes, none, out),
        )
    else:
        for value, cache in ((k, caches[0]), (v, caches[1])):
            g.call(f"{prefix}update_cache.default", value, cache, start, g.tensor(1))
        g.call(f"{prefix}custom_sdpa.default", q, *caches, start, none, no, yes, none, out)
    return g, out


@pytest.mark.sampled
@pytest.mark.parametrize("packs", [False, True], ids=["constants", "prepacked"])
@pytest.mark.parametrize("whole", [False, True], ids=["update_cache", "sdpa_with_kv_cache"])
@pytest.mark.parametrize("prefix", ["", "llama."])
def test_caches_keep_their_state(whole: bool, prefix: str, packs: bool) -> None:
    """Calls write several positions, leave a gap, which keeps the program's initial values, and begin at the start
    again. Two loaded programs do not share caches."""
    filled = numbers(*CACHE)
    models = [(cached(whole, prefix, packs, filled), filled.clone(), filled * 2) for _ in range(2)]
    for step, start in enumerate([0, 6, 4, 8, 0, 2]):
        for number, (program, k_cache, v_cache) in enumerate(models):
            seed = step + 100 * number
            q, k, v = numbers(*QUERY, seed=seed), numbers(*KEY, seed=seed + 10), numbers(*KEY, seed=seed + 20)
            expected = torch.ops.llama.sdpa_with_kv_cache(
                q, k, v, k_cache, v_cache, start, QUERY[1], None, 0.0, True, None
            )
            program.check([q, k, v, torch.tensor([start], dtype=torch.int32)], expected, 1e-4, 1e-4)


def test_a_position_beyond_the_cache_is_an_error() -> None:
    program = cached(True, "", False, numbers(*CACHE))
    for start in (9, 12, -1, 2**31 - 1):
        with pytest.raises(RuntimeError):
            program.loaded.forward(
                [numbers(*QUERY), numbers(*KEY), numbers(*KEY), torch.tensor([start], dtype=torch.int32)]
            )


@pytest.mark.parametrize(("rows", "outputs", "inputs"), [((7,), 5, 9), ((1,), 4, 4), ((2, 5), 33, 18)])
def test_linear_dw(rows: tuple[int, ...], outputs: int, inputs: int) -> None:
    """The gradient of a weight: d_out^T x over all rows."""
    g = GraphOf()
    out = g.tensor(outputs, inputs)
    g.call("et_vk.linear_dW.default", g.input(*rows, outputs), g.input(*rows, inputs), out)
    given = (numbers(*rows, outputs), numbers(*rows, inputs))

    def expect(d_out: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return d_out.flatten(0, -2).t() @ x.flatten(0, -2)

    program = g.program(expect, given, out)
    for _ in range(2):
        program.check(given, expect(*given), 1e-4, 1e-4)


def test_an_operator_without_a_kernel_is_refused() -> None:
    g = GraphOf()
    out = g.tensor(3)
    g.call("et_vk.adamw_step.default", g.input(3), out)
    with pytest.raises(RuntimeError, match="NotSupported"):
        g.program(lambda x: x * 2, (numbers(3),), out).loaded.forward([numbers(3)])


class Running(nn.Module):
    """A model with state, to which it adds, of which it writes rows, and which it reads before and after."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.ones(3, 4))
        self.register_buffer("table", torch.zeros(2, 6, 4))
        self.register_buffer("seen", torch.zeros(6, 4))

    def forward(self, x: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
        before = self.total * 2
        self.total += x[:3]
        self.table[:, rows] = x[: rows.shape[0]]
        old = self.seen.sum(0)
        self.seen[rows] = x[: rows.shape[0]] * 2
        return before, self.total - 1, self.table.sum(0), old, self.seen


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_buffers_that_a_model_changes(half: bool) -> None:
    """The delegate keeps the buffers between calls. The rows are int64, and repeat from call to call."""
    model = Running()
    eager = copy.deepcopy(model)
    count = torch.export.Dim("count", min=1, max=5)
    rows = [torch.tensor(r) for r in ([0, 5], [3], [1, -1, 0, 2], [5])]
    x = [numbers(5, 4, seed=seed).half().float() for seed in range(4)]
    edge = lowered.lower(model, (x[0], rows[0]), {"x": None, "rows": {0: count}}, compile_options={"force_fp16": half})
    assert not lowered.left(edge)
    program = DeviceProgram(edge.to_executorch().buffer)
    for inputs in zip(x, rows, strict=True):
        tolerance = 1e-2 if half else 1e-5
        program.check(inputs, eager(*inputs), tolerance, tolerance)


def test_rows_beyond_a_buffer_are_not_written() -> None:
    g = GraphOf()
    x, index, value, out = g.input(3, 4), g.input(2, dtype=torch.int32), g.input(2, 4), g.tensor(3, 4)
    g.call("aten.index_put.default", x, g.value([index]), value, g.value(False), out)
    inputs = (numbers(3, 4), torch.tensor([1, 77], dtype=torch.int32), numbers(2, 4, seed=1))
    program = g.program(lambda x, index, value: x + index.sum() + value.sum(), inputs, out)
    expected = inputs[0].clone()
    expected[1] = inputs[2][0]
    program.check(inputs, expected, 0, 0)


def test_symbolic_division() -> None:
    """Quotients are rounded down as in Python, for all int64 values."""
    pairs = [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-(2**63), 3), (-(2**63), -5), (2**63 - 1, -2), (-(2**63), 1)]
    g = GraphOf()
    expected, parts = [], []
    x = torch.zeros(2 * len(pairs))
    g.input(*x.shape)
    for a, b in pairs:
        for name, result in (("floordiv", a // b), ("mod", a % b)):
            number = g.call(name, g.value(a), g.value(b), g.symint())
            parts.append(g.call("aten.full.default", g.value([g.value(1)]), number, g.tensor(1)))
            expected.append(float(result))
    out = g.call("aten.cat.default", g.value(parts), g.value(0), g.tensor(*x.shape))
    g.program(lambda x: x + 0, (x,), out).check((x,), torch.tensor(expected), 0.0, 0.0)


@pytest.mark.parametrize("repeats", [2**31, 2**63 - 1, -(2**63)])
def test_numbers_of_more_than_32_bits_are_refused(repeats: int) -> None:
    g = GraphOf()
    out = g.call("aten.repeat.default", g.input(2), g.value([g.value(repeats)]), g.tensor(4))
    with pytest.raises(RuntimeError):
        g.program(lambda x: x.repeat(2), (torch.ones(2),), out)
