# SPDX-License-Identifier: BSD-3-Clause
"""Schemas of out variants, as text."""

from __future__ import annotations


def gen_out_variant_schema(func_op_schema: str) -> str:
    """The schema of the out variant that belongs to a functional schema.

    `ns::op(Tensor a) -> Tensor` becomes `ns::op.out(Tensor a, *, Tensor(a!) out) -> Tensor(a!)`.
    """
    import torch

    schema = torch._C.parse_schema(func_op_schema)
    head = func_op_schema[: func_op_schema.index("(")]
    arguments = func_op_schema[func_op_schema.index("(") + 1 : func_op_schema.rindex(") ->")]
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
