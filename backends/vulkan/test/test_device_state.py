# SPDX-License-Identifier: BSD-3-Clause
"""Caches that calls change, and operators that PyTorch has no definition of: graphs built by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hand_built import GraphOf, numbers

import sdk.extension.llm.custom_ops.custom_ops  # noqa: F401 - registers llama's operators

QUERY, KEY, CACHE = (1, 4, 4, 8), (1, 4, 2, 8), (1, 12, 2, 8)


def cached(whole: bool, prefix: str, packs: bool, filled: torch.Tensor) -> Any:
    """Attention over caches that are constants of the program, or copies of such."""
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
    return g.program(
        lambda q, k, v, position: q + k.sum() + v.sum() + position,
        (numbers(*QUERY), numbers(*KEY), numbers(*KEY), torch.tensor([0], dtype=torch.int32)),
        out,
    )


@pytest.mark.parametrize("packs", [False, True], ids=["constants", "prepacked"])
@pytest.mark.parametrize("whole", [False, True], ids=["update_cache", "sdpa_with_kv_cache"])
@pytest.mark.parametrize("prefix", ["", "llama."])
def test_caches_keep_their_state(whole: bool, prefix: str, packs: bool) -> None:
    """Several positions, a gap that reads what the program holds, and the start again. Two loaded programs do not share
    caches."""
    filled = numbers(*CACHE)
    models = [(cached(whole, prefix, packs, filled), filled.clone(), filled * 2) for _ in range(2)]
    for step, start in enumerate([0, 6, 4, 8, 0, 2]):
        for number, (program, k_cache, v_cache) in enumerate(models):
            seed = step + 100 * number
            q, k, v = numbers(*QUERY, seed=seed), numbers(*KEY, seed=seed + 10), numbers(*KEY, seed=seed + 20)
            expected = torch.ops.llama.sdpa_with_kv_cache(
                q, k, v, k_cache, v_cache, start, QUERY[1], None, 0.0, True, None
            )
            (found,) = program.forward([q, k, v, torch.tensor([start], dtype=torch.int32)])
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_a_position_beyond_the_cache_is_an_error() -> None:
    program = cached(True, "", False, numbers(*CACHE))
    for start in (9, 12, -1, 2**31 - 1):
        with pytest.raises(RuntimeError):
            program.forward([numbers(*QUERY), numbers(*KEY), numbers(*KEY), torch.tensor([start], dtype=torch.int32)])


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
        torch.testing.assert_close(program.forward(list(given))[0], expect(*given), rtol=1e-4, atol=1e-4)


def test_an_operator_without_a_kernel_is_refused() -> None:
    g = GraphOf()
    out = g.tensor(3)
    g.call("et_vk.adamw_step.default", g.input(3), out)
    with pytest.raises(RuntimeError, match="NotSupported"):
        g.program(lambda x: x * 2, (numbers(3),), out).forward([numbers(3)])
