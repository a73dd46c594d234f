# SPDX-License-Identifier: BSD-3-Clause
"""torch.ops.llama.quantized_moe_ffn of ExecuTorch 1.5: eager, exported and run, compared with the sum over the chosen
experts of each token, in float64, of the weights that were packed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim, export

from sdk.exir import to_edge
from sdk.extension.llm.custom_ops import custom_ops  # noqa: F401  (registers the operators)
from sdk.runtime import Runtime
from torchao_bytes import torchao_bytes

op = torch.ops.llama.quantized_moe_ffn
SETTINGS: list[dict[str, Any]] = [
    {"score": "sigmoid", "bits": 4, "bias": True},
    {"score": "sigmoid", "bits": 8, "bias": False, "chosen": 1},
    {"score": "softmax", "bits": 4, "bias": False, "group": 16},
    {"score": "softmax", "bits": 8, "bias": False, "chosen": 5},
]


class Case:
    """A mixture of 5 experts with sizes that do not fill the last tile."""

    def __init__(self, score: str, bits: int, bias: bool, chosen: int = 2, group: int = 32) -> None:
        self.generator = torch.Generator().manual_seed(0)
        dim, hidden, experts = 96, 32, 5
        self.gate, self.bias = self._random(experts, dim), self._random(experts if bias else 0)
        w13 = [self._weights(2 * hidden, dim, group, bits) for _ in range(experts)]
        w2 = [self._weights(dim, hidden, group, bits) for _ in range(experts)]
        self.experts = [(*w.chunk(2), down) for (w, _), (down, _) in zip(w13, w2, strict=True)]
        self.packed = [torch.stack([packed for _, packed in each]) for each in (w13, w2)]
        self.settings = (chosen, experts, hidden, dim, group, bits, score, 2.5)

    def _random(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator)

    def _weights(self, rows: int, columns: int, group: int, bits: int) -> tuple[Tensor, Tensor]:
        least = -(1 << (bits - 1))
        q = torch.randint(least, -least, (rows, columns), dtype=torch.int8, generator=self.generator)
        scales = torch.rand(rows, columns // group, generator=self.generator) / -least
        return q.double() * scales.double().repeat_interleave(group, 1), torchao_bytes(q, scales, bits)

    def inputs(self, tokens: int) -> Tensor:
        return self._random(tokens, self.gate.shape[1])

    def arguments(self, x: Tensor) -> tuple[Any, ...]:
        return (x, self.gate, self.bias, *self.packed, *self.settings)

    def expected(self, x: Tensor) -> Tensor:
        chosen, *_, score, scale = self.settings
        results = []
        for token in x.double():
            scores = self.gate.double() @ token
            ranks = scores
            if score == "sigmoid":
                scores = 1 / (1 + torch.exp(-scores))
                ranks = scores + self.bias.double() if self.bias.numel() else scores
            best = sorted(range(len(scores)), key=lambda e, ranks=ranks: -float(ranks[e]))[:chosen]
            given = scores[best] if score == "sigmoid" else torch.exp(scores[best])
            weights = given / given.sum() * (scale if score == "sigmoid" else 1.0)
            parts = [down @ (F.silu(gate @ token) * (up @ token)) for gate, up, down in (self.experts[e] for e in best)]
            results.append(sum(w * part for w, part in zip(weights, parts, strict=True)))
        return torch.stack(results).float()


class Layer(nn.Module):
    def __init__(self, case: Case) -> None:
        super().__init__()
        for name, tensor in zip(("gate", "bias", "w13", "w2"), (case.gate, case.bias, *case.packed), strict=True):
            self.register_buffer(name, tensor)
        self.settings = case.settings

    def forward(self, x: Tensor) -> Tensor:
        return op(x, self.gate, self.bias, self.w13, self.w2, *self.settings)


def _near(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_eager_is_the_sum_of_the_chosen_experts(settings: dict[str, Any]) -> None:
    case = Case(**settings)
    x = case.inputs(9)
    _near(op(*case.arguments(x)), case.expected(x))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_program_is_the_sum_of_the_chosen_experts(settings: dict[str, Any]) -> None:
    case = Case(**settings)
    program = export(Layer(case), (case.inputs(4),), dynamic_shapes=({0: Dim("tokens", min=1, max=16)},))
    method = Runtime.get().load_program(to_edge(program).to_executorch().buffer).load_method("forward")
    assert method is not None
    for tokens in (4, 1, 16):
        x = case.inputs(tokens)
        _near(method.execute((x,))[0], case.expected(x))


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (0, torch.zeros(2, 95), r"x must be float32 of the shape \[2, 96\], found torch.float32 of \[2, 95\]"),
        (1, torch.zeros(4, 96), r"gate_weight must be float32 of the shape \[5, 96\]"),
        (2, torch.zeros(4), r"expert_bias must be float32 of the shape \[5\]"),
        (3, torch.zeros(5, 9), "packed_w13 must be uint8 with a row for each of 5 experts"),
        (4, torch.zeros(5, 9, dtype=torch.uint8), "an expert has 9 bytes; the header alone has 64"),
        (
            4,
            torch.zeros(5, 99, dtype=torch.uint8),
            "must have torchao's weights of 4 bits without zero points and bias",
        ),
        (5, 6, "num_activated_experts is 6, with 5 experts"),
        (7, 0, "hidden_dim is 0 and dim is 96; both must be at least 1"),
        (7, -32, "hidden_dim is -32 and dim is 96"),
        (9, 24, "group_size must be a multiple of 16 that divides"),
        (10, 3, "weights have 4 or 8 bits, found 3"),
        (11, "softmax", "expert_bias needs score_func='sigmoid'"),
        (11, "softmax_all", "score_func must be 'sigmoid' or 'softmax', found 'softmax_all'"),
    ],
)
def test_wrong_arguments(place: int, wrong: Any, message: str) -> None:
    case = Case(**SETTINGS[0])
    given = list(case.arguments(case.inputs(2)))
    given[place] = wrong
    with pytest.raises(ValueError, match=message):
        op(*given)


def test_bytes_that_end_too_early() -> None:
    case = Case(**SETTINGS[0])
    case.packed[0] = case.packed[0][:, :-1].contiguous()
    with pytest.raises(ValueError, match=r"an expert has 4671 bytes; 64 x 96 weights in groups of 32 need 4672"):
        op(*case.arguments(case.inputs(1)))
    method = Runtime.get().load_program(_without_checks(case)).load_method("forward")
    assert method is not None
    with pytest.raises(RuntimeError, match="InvalidArgument"):
        method.execute((case.inputs(1),))


def _without_checks(case: Case) -> bytes:
    """A program with these bytes: tracing does not read them."""
    return to_edge(export(Layer(case), (case.inputs(1),))).to_executorch().buffer
