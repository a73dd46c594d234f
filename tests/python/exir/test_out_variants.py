# SPDX-License-Identifier: BSD-3-Clause
"""Out variants of operators in a namespace of the user's."""

from __future__ import annotations

import pytest
import torch
from torch.library import Library

from sdk.exir.operator.convert import (
    NoOutVariantError,
    _get_overload_schema,
    output_to_aliased_input_map,
    to_out_variant,
)
from sdk.exir.operator.util import gen_out_variant_schema

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


@pytest.mark.parametrize(
    ("name", "out"), [("add_.Scalar", "Scalar_out"), ("relu_.default", "out"), ("clamp_.Tensor", "Tensor_out")]
)
def test_the_schema_of_an_out_variant_is_pytorchs(name: str, out: str) -> None:
    """Operators that write to their first argument have the out variant of the operators that do not."""
    operator, overload = name.split(".")
    packet = getattr(torch.ops.aten, operator.rstrip("_"))
    written = gen_out_variant_schema(str(getattr(getattr(torch.ops.aten, operator), overload)._schema))
    assert written == str(getattr(packet, out)._schema)


def test_the_first_of_two_arguments_in_the_same_memory() -> None:
    tied = torch._C.parse_schema("ns::tied(Tensor(a!) x, Tensor(a!) y) -> Tensor(a!)")
    two = torch._C.parse_schema("ns::two(Tensor(x!) a, Tensor(y!) b, int n) -> (Tensor(y!), Tensor(x!))")
    assert output_to_aliased_input_map(tied) == {0: 0}
    assert output_to_aliased_input_map(two) == {0: 1, 1: 0}


def test_the_schema_of_an_overload_has_its_namespace() -> None:
    """For torchgen's model, as for PyTorch's own."""
    for overload in (torch.ops.aten.add.out, torch.ops.aten.relu.default):
        assert str(_get_overload_schema(overload)) == str(overload._schema)
