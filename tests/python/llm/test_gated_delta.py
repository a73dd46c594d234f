# SPDX-License-Identifier: BSD-3-Clause
"""torch.ops.llama.gated_delta_rule, and its older name: eager, exported and run. Expected values follow from its
definition, in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export

from sdk.exir import to_edge
from sdk.extension.llm.custom_ops import custom_ops  # noqa: F401  (registers the operators)
from sdk.runtime import Runtime

op = torch.ops.llama.gated_delta_rule
SIZES = [(2, 3, 4, 5, 6), (1, 4, 7, 8, 3), (1, 1, 1, 16, 40), (2, 2, 5, 4, 3, 2, True), (1, 1, 3, 4, 40, 3)]


def arguments(
    batch: int, heads: int, positions: int, keys: int, values: int, groups: int = 1, scalar_decay: bool = False
) -> tuple[Tensor, ...]:
    """`groups` heads of queries share a state; with `scalar_decay` it decays by one number a position."""
    torch.manual_seed(positions)
    rows = (batch, heads, positions)
    query = torch.randn(batch, heads * groups, positions, keys)
    key, value = torch.randn(*rows, keys), torch.randn(*rows, values)
    return (
        query,
        key / keys**0.5,
        value,
        torch.rand(rows if scalar_decay else (*rows, keys)),
        torch.rand(rows),
        torch.randn(batch, heads, keys, values),
    )


def defined(*given: Tensor) -> tuple[Tensor, Tensor]:
    """The recurrence, with matrices of one head of queries at a time."""
    q, k, v, decay, beta, initial = (x.double() for x in given)
    out, state = q.new_zeros(*q.shape[:3], v.shape[3]), initial.clone()
    for b, h in torch.cartesian_prod(torch.arange(q.shape[0]), torch.arange(q.shape[1])).tolist():
        of = h // (q.shape[1] // k.shape[1])
        s = initial[b, of]
        for t in range(q.shape[2]):
            s = torch.diag(decay[b, of, t].expand(k.shape[3])) @ s
            s = s + torch.outer(k[b, of, t], beta[b, of, t] * (v[b, of, t] - s.T @ k[b, of, t]))
            out[b, h, t] = s.T @ q[b, h, t]
        state[b, of] = s
    return out.float(), state.float()


class Call(nn.Module):
    def forward(self, *given: Tensor) -> Any:
        return op(*given)


class Layer(nn.Module):
    """Keeps the state between calls."""

    def __init__(self) -> None:
        super().__init__()
        self.state = nn.Buffer(torch.zeros(1, 2, 4, 3))

    def forward(self, query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor) -> Tensor:
        out, state = op(query, key, value, decay, beta, self.state)
        self.state.copy_(state)
        return out


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("op", [op, torch.ops.llama.channelwise_gated_delta_rule])
def test_eager_equals_the_definition(sizes: Any, op: Any) -> None:
    given = arguments(*sizes)
    before = [x.clone() for x in given]
    expected = defined(*given)
    torch.testing.assert_close(op(*given), expected)
    assert all(torch.equal(*pair) for pair in zip(given, before, strict=True))
    out, state = torch.empty(1), torch.empty(1)
    results = op.out(*given, out=out, final_state_out=state)
    assert [x.data_ptr() for x in results] == [out.data_ptr(), state.data_ptr()]
    torch.testing.assert_close((out, state), expected)


def test_parts_of_a_text_continue_the_state() -> None:
    *given, initial = arguments(2, 3, 6, 5, 6)
    expected, state, outputs = op(*given, initial), initial, []
    for start, end in ((0, 2), (2, 5), (5, 6)):
        out, state = op(*(x[:, :, start:end] for x in given), state)
        outputs.append(out)
    torch.testing.assert_close((torch.cat(outputs, 2), state), expected)


@pytest.mark.parametrize(("groups", "scalar_decay"), [(1, False), (2, True)])
def test_a_program_of_any_length_equals_the_definition(groups: int, scalar_decay: bool) -> None:
    positions = {2: Dim("positions", min=1, max=16)}
    shapes = ((positions,) * 5 + (None,),)
    program = export(Call(), arguments(2, 3, 4, 5, 40, groups, scalar_decay), dynamic_shapes=shapes)
    method = Runtime.get().load_program(to_edge(program).to_executorch().buffer).load_method("forward")
    for count in (4, 1, 16):
        given = arguments(2, 3, count, 5, 40, groups, scalar_decay)
        torch.testing.assert_close(tuple(method.execute(given)), defined(*given))


def test_a_layer_keeps_its_state() -> None:
    *given, _ = arguments(1, 2, 5, 4, 3)
    expected = defined(*given, torch.zeros(1, 2, 4, 3))[0]
    positions = {2: Dim("positions", min=1, max=5)}
    program = export(Layer(), tuple(given), dynamic_shapes=(positions,) * 5)
    method = Runtime.get().load_program(to_edge(program).to_executorch().buffer).load_method("forward")
    found = [method.execute([x[:, :, part].contiguous() for x in given])[0] for part in (slice(0, 3), slice(3, 5))]
    torch.testing.assert_close(torch.cat(found, 2), expected)


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (0, torch.zeros(1, 2, 3), r"expected \(batch, heads, positions, width\)"),
        (1, torch.zeros(1, 2, 3, 5), r"key must have the shape \[1, 2, 3, 4\], found \[1, 2, 3, 5\]"),
        (3, torch.zeros(1, 2, 3, 4).double(), "decay must be float32, found torch.float64"),
        (4, torch.zeros(1, 2, 3, 1), r"beta must have the shape \[1, 2, 3\]"),
        (0, torch.zeros(1, 3, 3, 4), "3 heads of queries cannot share 2 heads of keys"),
        (3, torch.zeros(1, 2, 4), r"decay must have the shape \[1, 2, 3\], found \[1, 2, 4\]"),
        (5, torch.zeros(1, 2, 6, 4), r"initial_state must have the shape \[1, 2, 4, 6\]"),
    ],
)
def test_wrong_arguments_say_what_was_expected(place: int, wrong: Tensor, message: str) -> None:
    given = list(arguments(1, 2, 3, 4, 6))
    given[place] = wrong
    with pytest.raises((ValueError, RuntimeError), match=message):
        op(*given)
