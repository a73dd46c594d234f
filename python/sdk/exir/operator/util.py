# SPDX-License-Identifier: BSD-3-Clause
"""Schemas of out variants, as text."""

from __future__ import annotations

import re
from typing import Any


def gen_out_variant_schema(func_op_schema: str) -> str:
    """The schema of the out variant that belongs to a functional schema.

    `ns::op(Tensor a) -> Tensor` becomes `ns::op.out(Tensor a, *, Tensor(a!) out) -> Tensor(a!)`. So does
    `ns::op_(Tensor(a!) a) -> Tensor(a!)`, the schema of an operator that writes to its first argument.
    """
    import torch

    schema = torch._C.parse_schema(func_op_schema)
    head = func_op_schema[: func_op_schema.index("(")]
    arguments = func_op_schema[func_op_schema.index("(") + 1 : func_op_schema.rindex(") ->")]
    if _is_in_place(schema):
        name, dot, overload = head.partition(".")
        head, arguments = name.removesuffix("_") + dot + overload, re.sub(r"^Tensor\(\w+!\)", "Tensor", arguments)
    for returned in schema.returns:
        if str(returned.type) not in ("Tensor", "List[Tensor]"):
            raise ValueError(f"an operator that returns {returned.type} has no out variant: {func_op_schema}")
    single = len(schema.returns) == 1
    letters = [chr(ord("a") + i) for i in range(len(schema.returns))]
    outs, results = [], []
    for i, (returned, letter) in enumerate(zip(schema.returns, letters, strict=True)):
        suffix = "[]" if str(returned.type) == "List[Tensor]" else ""
        outs.append(f"Tensor({letter}!){suffix} {'out' if single else f'out{i}'}")
        if not suffix:
            results.append(f"Tensor({letter}!)")
    name = f"{head}_out" if "." in head else f"{head}.out"
    separator = "" if any(a.kwarg_only for a in schema.arguments) else "*, "
    prefix = f"{arguments}, " if arguments.strip() else ""
    result = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"{name}({prefix}{separator}{', '.join(outs)}) -> {result}"


def _is_in_place(schema: Any) -> bool:
    """Whether an operator writes to its first argument, returns it, and is named like PyTorch's in-place operators."""
    if not schema.name.endswith("_") or schema.name.endswith("__") or len(schema.returns) != 1 or not schema.arguments:
        return False
    written, returned = schema.arguments[0].alias_info, schema.returns[0].alias_info
    return written is not None and returned is not None and written.before_set == returned.before_set
