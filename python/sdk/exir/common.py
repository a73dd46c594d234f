# SPDX-License-Identifier: BSD-3-Clause
"""Helpers on operator schemas."""

from __future__ import annotations

import re
from typing import TypeVar

import torch

T = TypeVar("T")

_NAME = re.compile(r"(?:torch\.ops\.)?(\w+)(?:::|\.)(\w+)(?:\.(\w+))?")


def extract_out_arguments(
    schema: torch.FunctionSchema, keyword_args: dict[str, T]
) -> tuple[str, T] | list[tuple[str, T]]:
    """The out arguments among the keyword arguments of a call: a list in the schema's order, or the argument itself if
    there is only one.
    """
    found = [(a.name, keyword_args[a.name]) for a in schema.arguments if a.is_out and a.name in keyword_args]
    return found[0] if len(found) == 1 else found


def get_schema_for_operators(ops: list[str]) -> dict[str, str]:
    """Schemas by operator name, for names like `aten::add.Tensor` or `torch.ops.aten.add.Tensor`. The result has names
    of the first form. An operator that PyTorch does not know has the text "<No Schema Found>".

    Raises ValueError for a text that is no operator's name.
    """
    schemas = {}
    for name in ops:
        parts = _NAME.fullmatch(name)
        if parts is None:
            raise ValueError(
                f"{name!r} is no operator's name, such as 'aten::add.Tensor' or 'torch.ops.aten.add.Tensor'"
            )
        namespace, base, overload = parts.groups()
        packet = getattr(getattr(torch.ops, namespace), base, None)
        found = getattr(packet, overload or "default", None)
        known = f"{namespace}::{base}" + (f".{overload}" if overload else "")
        schemas[known] = "<No Schema Found>" if found is None else str(found._schema)
    return schemas
