# SPDX-License-Identifier: BSD-3-Clause
"""Recurrent layers."""

from __future__ import annotations

from typing import Any

import torch

from sdk.backends.apple.coreml.verify.operations.registry import OPERATIONS, flag, number, operation


def _one_direction(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weights: Any,
    reverse: bool,
    names: tuple[str, str, str],
    clip: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The hidden states of every step in the order of x, and the last states."""
    to_gates, from_hidden, bias, peephole = weights
    gate, cell, output = (OPERATIONS[name] for name in names)
    states: list[torch.Tensor] = [h] * x.shape[0]
    steps = range(x.shape[0] - 1, -1, -1) if reverse else range(x.shape[0])
    for step in steps:
        gates = x[step] @ to_gates.T + h @ from_hidden.T
        gates = gates if bias is None else gates + bias
        i, f, o, z = gates.chunk(4, dim=-1)
        if peephole is not None:
            look_i, look_f, look_o = peephole.chunk(3)
            i, f = i + look_i * c, f + look_f * c
        new = gate(f) * c + gate(i) * cell(z)
        new = new if clip is None else torch.clamp(new, -number(clip), number(clip))
        c = new
        o = o if peephole is None else o + look_o * c
        h = gate(o) * output(c)
        states[step] = h
    return torch.stack(states), h, c


@operation("lstm")
def lstm(
    x: torch.Tensor,
    initial_h: torch.Tensor,
    initial_c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: Any = None,
    peephole: Any = None,
    weight_ih_back: Any = None,
    weight_hh_back: Any = None,
    bias_back: Any = None,
    peephole_back: Any = None,
    direction: str = "forward",
    output_sequence: Any = None,
    recurrent_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    activation: str = "tanh",
    clip: Any = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """LSTM with the gates in the order input, forget, output, cell."""
    names = (recurrent_activation, cell_activation, activation)
    forward = (weight_ih, weight_hh, bias, peephole)
    if direction != "bidirectional":
        states, h, c = _one_direction(x, initial_h, initial_c, forward, direction == "reverse", names, clip)
        return (states if flag(output_sequence) else h.unsqueeze(0)), h, c
    backward = (weight_ih_back, weight_hh_back, bias_back, peephole_back)
    (h0, h1), (c0, c1) = initial_h.chunk(2, -1), initial_c.chunk(2, -1)
    states, h0, c0 = _one_direction(x, h0, c0, forward, False, names, clip)
    reverse, h1, c1 = _one_direction(x, h1, c1, backward, True, names, clip)
    h, c = torch.cat([h0, h1], -1), torch.cat([c0, c1], -1)
    return (torch.cat([states, reverse], -1) if flag(output_sequence) else h.unsqueeze(0)), h, c


@operation("gru")
def gru(
    x: torch.Tensor,
    initial_h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: Any = None,
    direction: str = "forward",
    output_sequence: Any = None,
    recurrent_activation: str = "sigmoid",
    activation: str = "tanh",
    reset_after: Any = None,
    input_bias: Any = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """GRU with the gates in the order reset, output, update."""
    gate, output = OPERATIONS[recurrent_activation], OPERATIONS[activation]
    h, states = initial_h, [initial_h] * x.shape[0]
    width = h.shape[-1]
    zeros = torch.zeros(3 * width)
    own, given = (zeros if bias is None else bias), (zeros if input_bias is None else input_bias)
    for step in range(x.shape[0] - 1, -1, -1) if direction == "reverse" else range(x.shape[0]):
        r_x, o_x, z_x = (x[step] @ weight_ih.T + given).chunk(3, -1)
        w_r, w_o, w_z = weight_hh.chunk(3)
        b_r, b_o, b_z = own.chunk(3)
        r, z = gate(r_x + h @ w_r.T + b_r), gate(z_x + h @ w_z.T + b_z)
        if flag(reset_after):
            o = output(o_x + r * (h @ w_o.T + b_o))
        else:
            o = output(o_x + (r * h) @ w_o.T + b_o)
        h = (1 - z) * o + z * h
        states[step] = h
    return (torch.stack(states) if flag(output_sequence) else h.unsqueeze(0)), h


@operation("rnn")
def rnn(
    x: torch.Tensor,
    initial_h: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: Any = None,
    direction: str = "forward",
    output_sequence: Any = None,
    activation: str = "tanh",
) -> tuple[torch.Tensor, torch.Tensor]:
    """A recurrent layer with one matrix."""
    h, states = initial_h, [initial_h] * x.shape[0]
    for step in range(x.shape[0] - 1, -1, -1) if direction == "reverse" else range(x.shape[0]):
        total = x[step] @ weight_ih.T + h @ weight_hh.T
        h = OPERATIONS[activation](total if bias is None else total + bias)
        states[step] = h
    return (torch.stack(states) if flag(output_sequence) else h.unsqueeze(0)), h
