# SPDX-License-Identifier: BSD-3-Clause
"""Results that jump where a quotient changes a little. A GPU's division may be off by 2.5 units in the last place.
Lavapipe's is exact, so `vulkan_replay` repeats the tests with the option `division_error`, which changes the quotients
and roots that the device computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hand_built import numbers
from test_replay import check_with_options
from torch import Tensor

Part = tuple[Callable[..., Any], tuple[Tensor, ...]]
LARGE, SMALL = 3e38, 1.5e-38


def near_whole_quotients() -> tuple[Tensor, Tensor]:
    """Numbers and divisors: products with whole numbers, adjacent numbers, and operands near the limits of float32."""
    b = torch.cat([numbers(900, seed=1), torch.tensor([0.1, -0.1, 1 / 3, 7.0, 49.0])])
    whole = torch.randint(-3000, 3000, b.shape, generator=torch.Generator().manual_seed(0)).float()
    a = b * whole
    a = torch.cat([a, torch.nextafter(a, torch.tensor(math.inf)), torch.nextafter(a, torch.tensor(-math.inf)), b])
    b = b.repeat(4)
    special = [(x, y) for x in (0.0, 1.0, -5.0, LARGE, -LARGE, SMALL) for y in (3.0, -LARGE, SMALL, LARGE, 0.1)]
    # Quotients that float32 cannot represent are left out.
    special = [(x, y) for x, y in special if x == 0 or 1e-37 < abs(x / y) < 1e38]
    return torch.cat([a, torch.tensor([x for x, _ in special])]), torch.cat([b, torch.tensor([y for _, y in special])])


def quotients() -> dict[str, Part]:
    a, b = near_whole_quotients()
    infinite = torch.tensor([math.inf, -math.inf, math.nan, 5.0, -5.0, 0.0, 5.0, -5.0])
    divisors = torch.tensor([2.0, 2.0, 2.0, math.inf, math.inf, 0.0, 0.0, math.nan])
    parts: dict[str, Part] = {
        "equal": (lambda x: (x / x == 1, x.div(x, rounding_mode="trunc"), x.div(x, rounding_mode="floor")), (b,)),
        "not finite": (
            lambda x, y: (x / y, *(x.div(y, rounding_mode=m) for m in ("trunc", "floor"))),
            (infinite, divisors),
        ),
    }
    for mode in ("floor", "trunc"):
        parts[mode] = lambda x, y, mode=mode: x.div(y, rounding_mode=mode), (a, b)
        for divisor in (0.1, -0.1, 1 / 3, 7.0):
            parts[f"{mode} of {divisor}"] = (
                lambda x, d=divisor, m=mode: x.div(d, rounding_mode=m),
                (a[:3000] * divisor,),
            )
    whole = torch.arange(1.0, 1201)
    parts["true quotients"] = lambda x, y: torch.trunc(x / y), (a[:3600], b[:3600])
    parts["reciprocal"] = lambda x: torch.floor(x * torch.reciprocal(x) * 4), (2.0 ** torch.arange(-20, 20),)
    parts["means"] = lambda x: torch.floor(x.expand(-1, 7).mean(-1)), (whole.unsqueeze(1),)
    parts["pools"] = lambda x: torch.floor(torch.nn.functional.avg_pool2d(x, 3)), (torch.full((1, 2, 6, 6), 5.0),)
    return parts


def powers() -> dict[str, Part]:
    whole = torch.arange(-12.0, 13)
    parts: dict[str, Part] = {f"power {n}": (lambda x, n=n: torch.trunc(x**n), (whole,)) for n in (2, 3, 4, 5, 6)}
    parts["powers of 2"] = lambda x: torch.trunc(torch.pow(torch.full_like(x, 2.0), x)), (torch.arange(0.0, 24),)
    parts["powers of 10"] = lambda x: torch.trunc(torch.pow(torch.full_like(x, 10.0), x)), (torch.arange(0.0, 7),)
    parts["inverse powers"] = lambda x: x**-2 * 1048576, (2.0 ** torch.arange(-4, 5),)
    parts["halves"] = lambda x: torch.trunc(x**1.5), (torch.arange(1.0, 100) ** 2,)
    parts["pairs"] = lambda x, y: torch.trunc(torch.pow(x, y)), (whole, torch.tensor([3.0, 4.0, 5.0]).repeat(9)[:25])
    parts["roots"] = lambda x: torch.trunc(torch.sqrt(x)), (torch.arange(0.0, 2000) ** 2,)
    return parts


@pytest.mark.parametrize("parts", [quotients, powers], ids=["quotients", "powers"])
def test_whole_results(parts: Callable[[], dict[str, Part]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VK-05: trunc is that of the quotient rounded as in IEEE 754; floor is that of the exact quotient."""
    check_with_options(parts(), ("division_error=-2", "division_error=2"), tmp_path, monkeypatch)
