# SPDX-License-Identifier: BSD-3-Clause
"""Out variants of operators in a namespace of the user's."""

from __future__ import annotations

import pytest
import torch
from torch.library import Library

from sdk.exir.operator.convert import NoOutVariantError, to_out_variant

LIBRARY = Library("out_variants_of_users", "DEF")
OPS = torch.ops.out_variants_of_users


def test_an_out_variant_that_is_registered_later() -> None:
    """Registers an out variant after the operator is in use, like a library that is loaded after the model was
    written."""
    LIBRARY.define("late(Tensor x) -> Tensor")
    operator = OPS.late.default
    assert OPS.late.overloads() == ["default"]
    with pytest.raises(NoOutVariantError, match=r"Register an overload 'out_variants_of_users::late\.out'"):
        to_out_variant(operator)
    LIBRARY.define("late.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    assert to_out_variant(operator) == (OPS.late.out, ("out",))


def test_several_results_under_any_names() -> None:
    LIBRARY.define("parts.int(Tensor x, int count=2) -> (Tensor, Tensor)")
    LIBRARY.define(
        "parts.values(Tensor x, int count=2, *, Tensor(a!) first, Tensor(b!) rest) -> (Tensor(a!), Tensor(b!))"
    )
    assert to_out_variant(OPS.parts.int) == (OPS.parts.values, ("first", "rest"))


def test_an_out_variant_with_other_arguments_is_named() -> None:
    LIBRARY.define("other(Tensor x, float scale) -> Tensor")
    LIBRARY.define("other.out(Tensor x, int scale, *, Tensor(a!) out) -> Tensor(a!)")
    with pytest.raises(
        NoOutVariantError, match=r"have other arguments: out_variants_of_users::other\.out\(Tensor x, int"
    ):
        to_out_variant(OPS.other.default)
