# SPDX-License-Identifier: BSD-3-Clause
"""Finds the out variant of an operator: the overload that writes its results into tensors the caller provides."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

_TENSOR_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})


class NoOutVariantError(RuntimeError):
    """An operator has no out variant."""


def unwrap_op_overload(target: object) -> torch._ops.OpOverload:
    """The ATen or custom operator behind a node's target, which may be its edge form."""
    if isinstance(target, torch._ops.OpOverload):
        return target
    wrapped = getattr(target, "_op", None)
    if isinstance(wrapped, torch._ops.OpOverload):
        return wrapped
    raise TypeError(f"expected an operator overload, got {type(target).__name__}: {target}")


def is_out_variant(qualified_opname: str, overload: str) -> bool:
    """Whether `namespace::name` with `overload` is an operator that takes out arguments."""
    namespace, name = qualified_opname.split("::")
    op = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
    return any(a.is_out for a in op._schema.arguments)


def is_inplace_variant(qualified_opname: str, overload: str) -> bool:
    """Whether the operator writes to its first argument and returns it."""
    namespace, name = qualified_opname.split("::")
    schema = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")._schema
    return name.endswith("_") and bool(schema.arguments) and _is_written(schema.arguments[0])


def output_to_aliased_input_map(schema: torch.FunctionSchema) -> dict[int, int]:
    """For every result that is an argument (an out or in-place argument): maps the position of the result to that of
    the argument, the first one if several share memory."""
    result: dict[int, int] = {}
    for i, returned in enumerate(schema.returns):
        for j, argument in enumerate(schema.arguments):
            aliases = _is_written(argument) and returned.alias_info is not None
            if aliases and returned.alias_info.before_set == argument.alias_info.before_set:
                result.setdefault(i, j)
    return result


def _get_overload_schema(op_overload: torch._ops.OpOverload) -> Any | None:
    """The schema of an operator in torchgen's model; None if torchgen cannot parse it."""
    from torchgen.model import FunctionSchema

    try:
        return FunctionSchema.parse(str(op_overload._schema))
    except (AssertionError, ValueError, RuntimeError):
        return None


@cache
def to_out_variant(op_overload: torch._ops.OpOverload) -> tuple[torch._ops.OpOverload, tuple[str, ...]]:
    """The out variant of an operator, and the names of its out arguments in order.

    An overload qualifies if it takes the operator's arguments, of the same names and types, and one out argument for
    each result. It may leave out dtype, layout, device and pin_memory, which the out tensors imply. Raises
    `NoOutVariantError` if no overload qualifies.
    """
    schema = op_overload._schema
    if any(a.is_out for a in schema.arguments):
        return op_overload, tuple(a.name for a in schema.arguments if a.is_out)
    if op_overload.namespace == "quantized_decomposed":
        import sdk.exir.operator.quantized_kernel_ops  # noqa: F401  (registers the out variants)
    packet = op_overload.overloadpacket
    best: tuple[int, torch._ops.OpOverload] | None = None
    # The packet knows only the overloads that were registered before its first use.
    schemas = torch._C._jit_get_schemas_for_operator(schema.name)
    schemas = [each for each in schemas if any(argument.is_out for argument in each.arguments)]
    for candidate in (getattr(packet, each.overload_name or "default") for each in schemas):
        missing = _missing_arguments(schema, candidate._schema)
        if missing is not None and (best is None or missing < best[0]):
            best = (missing, candidate)
    if best is None:
        found = f" Those of that name have other arguments: {'; '.join(map(str, schemas))}." if schemas else ""
        raise NoOutVariantError(
            f"{op_overload} has no out variant, so the runtime cannot give it memory.{found} Register an overload "
            f"'{schema.name}.out' with the same arguments and one keyword-only 'Tensor(a!) out' per result."
        )
    return best[1], tuple(a.name for a in best[1]._schema.arguments if a.is_out)


def _missing_arguments(functional: torch.FunctionSchema, candidate: torch.FunctionSchema) -> int | None:
    """Returns how many arguments the candidate lacks, or None if it is not an out variant of the functional
    operator."""
    outs = [a for a in candidate.arguments if a.is_out]
    if not outs or [_kind(o) for o in outs] != [_kind(r) for r in functional.returns]:
        return None
    taken = {a.name: a for a in candidate.arguments if not a.is_out}
    missing = 0
    for argument in functional.arguments:
        other = taken.pop(argument.name, None)
        if other is None:
            if argument.name not in _TENSOR_OPTIONS:
                return None
            missing += 1
        elif str(other.type) != str(argument.type):
            return None
    return None if taken else missing


def _kind(value: Any) -> str:
    return str(value.type)


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write
