# SPDX-License-Identifier: BSD-3-Clause
"""Compares outputs with the expected ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from sdk.export.cli.verify import TOLERANCE, compared_elements, tensor_difference

RIGHT, WRONG, FAILED, NOT_RUN, RAN = "right", "wrong", "failed", "not run", "ran"


@dataclass
class Result:
    """The result of a case on a runtime.

    Attributes:
        status: `right`, `wrong`, `failed` (the runtime refused it or failed), `not run` (this runtime cannot take it),
            or `ran` (nothing is expected, or nothing can be compared).
        reason: Why it is `wrong`, `failed` or `not run`, or which output was not compared; "" where the following
            numbers say it all.
        outputs: The number of outputs that are expected.
        output: The output that comes nearest to its limit or exceeds it most; None where none was compared. The
            following are all of this output.
        max_abs: The largest absolute difference.
        max_rel: The same as a share of the output's largest magnitude.
        limit: The largest `max_rel` that is allowed.
    """

    method: str
    case: int
    status: str
    reason: str = ""
    outputs: int = 0
    output: int | None = None
    max_abs: float | None = None
    max_rel: float | None = None
    limit: float | None = None

    def facts(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass
class Runtime:
    """The results on one runtime."""

    name: str
    results: list[Result] = field(default_factory=list)


def compare(method: str, case: int, found: Sequence[Any], expected: Sequence[Any], tolerance: float | None) -> Result:
    """Compares outputs with those of a case. None in `found` is an output that the runtime does not return.

    Args:
        method: Its name.
        case: Its number.
        found: Tensors and numbers.
        expected: The same; empty where nothing is expected.
        tolerance: The allowed difference, relative to an output's largest magnitude; None for that of its dtype in
            `TOLERANCE`, and 1e-6 for a float that is not a tensor. Other dtypes must be equal.
    """
    if not expected:
        return Result(method, case, RAN)
    if found and all(have is None for have in found):
        return Result(method, case, RAN, "the outputs are not tensors, and this runner writes only tensors")
    if len(found) != len(expected):
        reason = f"expected {len(expected)} outputs, found {len(found)}"
        return Result(method, case, WRONG, reason)
    result = Result(method, case, RIGHT, outputs=len(expected))
    nearest = -math.inf
    for index, (have, want) in enumerate(zip(found, expected, strict=True)):
        if have is None:
            result.reason = f"output {index} is not a tensor, and this runner writes only tensors: it was not compared"
            continue
        if isinstance(want, torch.Tensor):
            if not isinstance(have, torch.Tensor) or (have.shape, have.dtype) != (want.shape, want.dtype):
                reason = f"output {index}: expected {_named(want)}, found {_named(have)}"
                return Result(method, case, WRONG, reason)
            limit = TOLERANCE.get(want.dtype, 0.0) if tolerance is None else tolerance
            max_abs, max_rel = tensor_difference(want, have)
            if want.numel() and not compared_elements(want):
                result.reason = f"nothing of output {index} was compared: all its elements are NaN or infinite"
        else:
            limit = 1e-6 if tolerance is None else tolerance
            same = type(have) is type(want) and (have == want or _close(have, want, limit))
            max_abs = max_rel = 0.0 if same else math.inf
        share = max_rel / limit if limit else (math.inf if max_rel else 0.0)
        if share > nearest:
            nearest = share
            result.output, result.max_abs, result.max_rel, result.limit = index, max_abs, max_rel, limit
        if max_rel > limit:
            result.status = WRONG
    return result


def _close(have: Any, want: Any, limit: float) -> bool:
    return isinstance(want, float) and (math.isclose(have, want, rel_tol=limit) or (have != have and want != want))


def _named(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return f"a {type(value).__name__}"
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
