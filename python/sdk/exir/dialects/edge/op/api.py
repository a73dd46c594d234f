# SPDX-License-Identifier: BSD-3-Clause
"""Conversion between the functional, in-place and out variants of an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from sdk.exir.operator.convert import is_inplace_variant, is_out_variant, to_out_variant

if TYPE_CHECKING:
    from torchgen.model import SchemaKind


def get_torch_op_overload(namespace: str, opname: str, overload: str | None) -> torch._ops.OpOverload:
    """The overload of that name; an empty overload name is the default one."""
    return getattr(getattr(getattr(torch.ops, namespace), opname), overload or "default")


def to_variant(op: torch._ops.OpOverload, variant: SchemaKind) -> torch._ops.OpOverload:
    """The variant of `op` of the given kind. Raises `RuntimeError` if it does not exist."""
    from torchgen.model import SchemaKind

    name, overload = op._schema.name, op._schema.overload_name
    if variant == SchemaKind.out:
        return to_out_variant(op)[0]
    if (
        variant == SchemaKind.functional
        and not is_out_variant(name, overload)
        and not is_inplace_variant(name, overload)
    ):
        return op
    if variant == SchemaKind.inplace and is_inplace_variant(name, overload):
        return op
    names = [name.split("::")[1].rstrip("_") + ("_" if variant == SchemaKind.inplace else "")]
    for candidate_name in names:
        packet = getattr(getattr(torch.ops, op.namespace), candidate_name, None)
        for candidate_overload in packet.overloads() if packet is not None else ():
            candidate = getattr(packet, candidate_overload)
            kinds = (
                is_out_variant(candidate._schema.name, candidate_overload),
                is_inplace_variant(candidate._schema.name, candidate_overload),
            )
            if kinds == (False, variant == SchemaKind.inplace) and _same_arguments(op, candidate):
                return candidate
    raise RuntimeError(f"{op} has no {variant.name} variant")


def _same_arguments(a: torch._ops.OpOverload, b: torch._ops.OpOverload) -> bool:
    def form(op: torch._ops.OpOverload) -> list[tuple[str, str]]:
        return [(x.name, str(x.type)) for x in op._schema.arguments if not x.is_out]

    return form(a) == form(b)
