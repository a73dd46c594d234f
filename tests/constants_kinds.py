# SPDX-License-Identifier: BSD-3-Clause
"""Models in which operators read constants that no layer packs, each with its inputs; for the tests of a backend and
for those with the original."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

Inputs = tuple[Tensor, ...]


class Reads(nn.Module):
    """Calls `function` with itself and the inputs; its tensors are parameters, its modules are submodules."""

    def __init__(self, function: Callable[..., Tensor], **members: Tensor | nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, member in members.items():
            setattr(self, name, nn.Parameter(member) if isinstance(member, Tensor) else member)

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.function(self, *inputs)


def random_norm(norm: nn.Module) -> nn.Module:
    with torch.no_grad():
        for tensor in (norm.weight, norm.bias, norm.running_mean):
            tensor.normal_()
        norm.running_var.uniform_(0.5, 2.0)
    return norm


def models() -> dict[str, tuple[nn.Module, Inputs]]:
    rows, image = (torch.randn(2, 12),), (torch.randn(1, 3, 8, 8),)
    p, square = torch.randn(12), torch.randn(12, 12)
    found: dict[str, tuple[nn.Module, Inputs]] = {}
    for f in (torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum):
        name = f.__name__
        found[f"{name}_parameter"] = Reads(lambda m, x, f=f: f(x, m.p) + f(m.p, x.abs() + 1), p=p), rows
        found[f"{name}_slices"] = Reads(lambda m, x, f=f: f(x, m.p[1:2]) + f(x, m.p[3]), p=p), rows
        found[f"{name}_computed"] = Reads(lambda m, x, f=f: f(x, (m.p * 2).exp() + 1), p=p), rows
        found[f"{name}_image"] = (
            Reads(lambda m, x, f=f: f(m.c(x), m.q).relu(), c=nn.Conv2d(3, 4, 3), q=torch.randn(1, 4, 6, 6)),
            image,
        )
        if f not in (torch.maximum, torch.minimum):
            found[f"{name}_scalar"] = Reads(lambda m, x, f=f: torch.cat([f(x, 2.5), f(x, -3)], 1)), rows
    found["packed_too"] = (
        Reads(lambda m, x: nn.functional.linear(x, m.w) + x * m.w, w=square),
        (torch.randn(12, 12),),
    )
    found["prelu"] = nn.Sequential(nn.Conv2d(3, 4, 3), nn.PReLU(4, 0.3)), image
    found["prelu_of_one"] = nn.Sequential(nn.Conv2d(3, 4, 3), nn.PReLU(1, 0.3)), image
    found["norm_of_images"] = nn.Sequential(random_norm(nn.BatchNorm2d(3)), nn.ReLU()), image
    found["norm_of_rows"] = nn.Sequential(random_norm(nn.BatchNorm1d(12)), nn.ReLU()), rows
    found["norm_of_lines"] = nn.Sequential(random_norm(nn.BatchNorm1d(5)), nn.ReLU()), (torch.randn(2, 5, 7),)
    found["class_token"] = (
        Reads(lambda m, x: (torch.cat([m.t, x], 1) + m.s).tanh(), t=torch.randn(1, 1, 6), s=torch.randn(1, 5, 6)),
        (torch.randn(1, 4, 6),),
    )
    found["added_matrix"] = (
        Reads(lambda m, x: torch.addmm(m.b, x, m.w), b=torch.randn(2, 4), w=torch.randn(12, 4)),
        rows,
    )
    found["batches"] = Reads(lambda m, x: torch.bmm(torch.bmm(m.a, x), m.b), **_two_batches()), (torch.randn(2, 4, 6),)
    found["first_factor"] = Reads(lambda m, x: torch.mm(m.w, x), w=torch.randn(5, 2)), rows
    found["repeated"] = Reads(lambda m, x: x.unsqueeze(1).expand(2, 3, 12) * x.unsqueeze(1)), rows
    found["two_parts"] = Reads(lambda m, x: torch.cumsum(x * m.p, 1) * m.p + 2, p=p), rows
    found["branches"] = (
        Reads(lambda m, x: torch.cond(x.sum() > 0, lambda x: x * m.p + 2, lambda x: x - m.p * 3, (x,)), p=p),
        rows,
    )
    return {name: (model.eval(), inputs) for name, (model, inputs) in found.items()}


def _two_batches() -> dict[str, Tensor]:
    return {"a": torch.randn(2, 5, 4), "b": torch.randn(2, 6, 3)}


def models_for_int8() -> dict[str, tuple[nn.Module, Inputs]]:
    rows, image = (torch.randn(2, 12),), (torch.randn(1, 3, 8, 8),)
    found: dict[str, tuple[nn.Module, Inputs]] = {
        "int8_sum": (Reads(lambda m, x: m.l(x + m.p) + 0.5, p=torch.randn(12), l=nn.Linear(12, 4)), rows),
        "int8_product": (Reads(lambda m, x: m.l(x * m.p) * 0.5, p=torch.randn(12), l=nn.Linear(12, 4)), rows),
        "int8_cat": (
            Reads(lambda m, x: torch.cat([m.l(x), m.q], 1), l=nn.Linear(12, 4), q=torch.randn(2, 4)),
            rows,
        ),
        "int8_image": (
            Reads(lambda m, x: m.c(x) + m.q, c=nn.Conv2d(3, 4, 3), q=torch.randn(1, 4, 6, 6)),
            image,
        ),
    }
    return {name: (model.eval(), inputs) for name, (model, inputs) in found.items()}
