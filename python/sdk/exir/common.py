# SPDX-License-Identifier: BSD-3-Clause
"""Helpers on operator schemas."""

from __future__ import annotations

from typing import TypeVar

import torch

T = TypeVar("T")


def extract_out_arguments(
    schema: torch.FunctionSchema, keyword_args: dict[str, T]
) -> tuple[str, T] | list[tuple[str, T]]:
    """The out arguments among the keyword arguments of a call: a list in the schema's order, or the argument itself if
    there is only one.
    """
    found = [(a.name, keyword_args[a.name]) for a in schema.arguments if a.is_out and a.name in keyword_args]
    return found[0] if len(found) == 1 else found


def get_schema_for_operators(ops: list[str]) -> dict[str, str]:
    """Schemas by operator name, for names like `aten::add.Tensor`."""
    schemas = {}
    for name in ops:
        namespace, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        schemas[name] = str(getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")._schema)
    return schemas
