# SPDX-License-Identifier: BSD-3-Clause
"""Writes `edge.yaml`: which dtypes each operator of the Core ATen set accepts and what it then returns.

No dtype is written down by hand: every operator is called with each combination of dtypes of its tensors
(normalisations with some of them), and the table has the dtypes that PyTorch returns. Half and BFloat16 are accepted
wherever Float is, because hardware often has them where PyTorch's CPU kernels do not.

    python -m sdk.exir.dialects.edge.spec.gen            # writes the table
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from sdk.exir.dialects.edge._dtype_constraint import TABLE
from sdk.exir.dialects.edge.dtype.supported import regular_tensor_dtypes_to_str as NAMES
from sdk.exir.dialects.edge.op.sample_input import Shape, sample_arguments, sample_keywords
from sdk.exir.operator.aten_rules import EXTRA_CORE_OPS, VIEW_TO_COPY

_LIKE_FLOAT = (torch.float16, torch.bfloat16)
_HEAD = """# Dtypes that the operators of edge dialect accept, by argument, and return (__ret_0, __ret_1, ...).
# Written by `python -m sdk.exir.dialects.edge.spec.gen`: change that, not this.

"""

Box = tuple[frozenset[str], ...]
"""A set of dtypes for every tensor of a call: all their combinations."""


class EdgeOpYamlInfo:
    """An entry of the table. `allowed_types` are the combinations of dtypes, each in the order of
    `tensor_variable_names`."""

    def __init__(
        self,
        func_name: str,
        tensor_variable_names: list[str],
        allowed_types: set[tuple[str, ...]],
        inherits: str = "",
        custom: str = "",
    ) -> None:
        self.func_name = func_name
        self.tensor_variable_names = tensor_variable_names
        self.allowed_types = allowed_types
        self.inherits = inherits
        self.custom = custom

    def to_yaml(self) -> dict[str, Any]:
        """The entry as plain data, with combinations gathered under as few aliases as is easy to find."""
        used: list[tuple[frozenset[str], int]] = []
        constraints = []
        for groups, boxes in _boxes(self.allowed_types):
            for box in boxes:
                # Independent arguments with the same dtypes need an alias each: one alias means one dtype.
                keys = [(types, 0 if len(types) == 1 else box[:i].count(types)) for i, types in enumerate(box)]
                used += [key for key in dict.fromkeys(keys) if key not in used]
                aliases = [f"T{used.index(keys[group])}" for group in groups]
                constraints.append(dict(zip(self.tensor_variable_names, aliases, strict=True)))
        order = list(NAMES.values())
        types_of = {f"T{i}": sorted(types, key=order.index) for i, (types, _) in enumerate(used)}
        result: dict[str, Any] = {"func": self.func_name, "namespace": "edge"}
        result |= {key: value for key, value in (("inherits", self.inherits), ("custom", self.custom)) if value}
        return {**result, "type_alias": types_of, "type_constraint": constraints}

    def to_text(self) -> str:
        """The entry as text for the file."""
        data = self.to_yaml()
        lines = [f"{key}: {value}" for key, value in data.items() if isinstance(value, str)]
        lines.append("type_alias:")
        lines += [f"  {name}: [{', '.join(types)}]" for name, types in data["type_alias"].items()]
        lines.append("type_constraint:")
        for entry in data["type_constraint"]:
            items = [f"{name}: {alias}" for name, alias in entry.items()]
            lines += [f"  - {items[0]}", *(f"    {item}" for item in items[1:])]
        return "- " + "\n  ".join(lines) + "\n"


def _boxes(combinations: set[tuple[str, ...]]) -> list[tuple[list[int], list[Box]]]:
    """Compresses the combinations. Each result is a pair: the group number of each tensor (tensors of a group have the
    same dtype), and boxes. A box has a set of dtypes for each group, and stands for every combination of them."""
    whole = _grouped(combinations)
    equal = {c for c in combinations if len(set(c)) == 1}
    if not equal or equal == combinations:
        return [whole]
    width = len(next(iter(combinations)))
    alike: list[Box] = [(frozenset(c[0] for c in equal),)]
    others = _grouped(combinations - equal)
    return [([0] * width, alike), others] if 1 + len(others[1]) < len(whole[1]) else [whole]


def _grouped(combinations: set[tuple[str, ...]]) -> tuple[list[int], list[Box]]:
    columns = list(zip(*sorted(combinations), strict=True))
    distinct = list(dict.fromkeys(columns))
    boxes: list[Box] = [tuple(frozenset({t}) for t in row) for row in zip(*distinct, strict=True)]
    for axis in range(len(distinct)):
        merged: dict[tuple, frozenset[str]] = {}
        for box in boxes:
            rest = box[:axis] + box[axis + 1 :]
            merged[rest] = merged.get(rest, frozenset()) | box[axis]
        boxes = [(*rest[:axis], types, *rest[axis:]) for rest, types in merged.items()]
    return [distinct.index(c) for c in columns], boxes


def _tensors(args: Iterable[Any]) -> Iterator[Any]:
    for argument in args:
        if isinstance(argument, Shape) or (
            isinstance(argument, list) and argument and all(isinstance(a, Shape) for a in argument)
        ):
            yield argument


def _make(argument: Any, dtype: torch.dtype) -> Any:
    if isinstance(argument, list):
        return [_make(a, dtype) for a in argument]
    return torch.ones(argument, dtype=dtype)


def get_sample_input(
    key: str, overload_name: str, edge_type: torch.dtype
) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Arguments and keyword arguments of a call of `aten::key`, with tensors of `edge_type`."""
    op = getattr(getattr(torch.ops.aten, key.removeprefix("aten::")), overload_name or "default")
    args = sample_arguments(op._schema)
    wanted = {id(a) for a in _tensors(args)}
    for keywords in sample_keywords(op._schema):
        yield [_make(a, edge_type) if id(a) in wanted else a for a in args], keywords


def _call(
    op: torch._ops.OpOverload, args: tuple[Any, ...], keywords: dict[str, Any], dtypes: tuple[torch.dtype, ...]
) -> tuple[str, ...] | None:
    """The names of the dtypes of all tensors of a call, results last; None if PyTorch refuses it or returns a dtype
    that edge dialect does not have."""
    rest = iter(dtypes)
    positions = {id(a) for a in _tensors(args)}
    values = [_make(a, next(rest)) if id(a) in positions else a for a in args]
    try:
        # The dtypes that oneDNN supports depend on the processor.
        with torch.backends.mkldnn.flags(enabled=False):
            results = op(*values, **keywords)
    except (RuntimeError, IndexError, TypeError, NotImplementedError):
        return None
    if isinstance(results, torch.Tensor):
        found = [results]
    else:  # All tensors of a list have the dtype of the first one.
        found = [results[0]] if isinstance(results, list) else list(results)
    if not all(isinstance(r, torch.Tensor) and r.dtype in NAMES for r in found):
        return None
    return tuple(NAMES[d] for d in dtypes) + tuple(NAMES[r.dtype] for r in found)


def _with_small_floats(combinations: set[tuple[str, ...]], arguments: int) -> set[tuple[str, ...]]:
    """Adds the calls in which all Float tensors, results included, have a smaller floating-point dtype instead."""
    with_float = [c for c in combinations if "Float" in c[:arguments]]
    return combinations | {tuple(NAMES[d] if t == "Float" else t for t in c) for c in with_float for d in _LIKE_FLOAT}


def gen_op_yaml(op_name: str) -> EdgeOpYamlInfo | None:
    """The entry of an ATen operator, `name.overload`; None if it takes no tensors or no sample call works."""
    name, _, overload = op_name.partition(".")
    op = getattr(getattr(torch.ops.aten, name), overload or "default")
    schema = op._schema
    try:
        args = sample_arguments(schema)
    except KeyError:
        return None
    wanted = {id(a) for a in _tensors(args)}
    names = [a.name for a, value in zip(schema.arguments, args, strict=False) if id(value) in wanted]
    if not names or not all("Tensor" in str(r.type) for r in schema.returns):
        return None
    found: set[tuple[str, ...]] = set()
    for dtypes in _dtypes(op_name, len(names)):
        for variant, keywords in itertools.product(_variants(schema, args), sample_keywords(schema)):
            combination = _call(op, variant, keywords, dtypes)
            if combination is not None:
                found.add(combination)
    if not found:
        return None
    found = _with_small_floats(found, len(names))
    names += [f"__ret_{i}" for i in range(len(next(iter(found))) - len(names))]
    qualified = name if overload in ("", "default") else op_name
    return EdgeOpYamlInfo(qualified, names, found, inherits=f"aten::{qualified}")


def _variants(schema: torch._C.FunctionSchema, args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Variants of the arguments that may change the dtype of the result: the given ones; those with fractional numbers;
    and, for an elementwise operator, with a tensor without dimensions, which has a lower priority in type promotion."""
    yield args
    numbers = [str(a.type) in ("number", "Optional[number]") for a in schema.arguments]
    if any(numbers):
        yield tuple(1.5 if number else a for a, number in zip(args, numbers, strict=False))
    tensors = list(_tensors(args))
    if len(tensors) > 1 and all(t == (2, 2) for t in tensors):
        for i, argument in enumerate(args):
            if isinstance(argument, Shape):
                yield (*args[:i], Shape(()), *args[i + 1 :])


def _dtypes(op_name: str, count: int) -> Iterator[tuple[torch.dtype, ...]]:
    """The dtypes to try for the tensors of a call. Normalisations have many tensors, so only some combinations
    are tried: all tensors in the same floating dtype, and the first in Half or BFloat16 with all others in Float."""
    if "norm" not in op_name:
        yield from itertools.product(NAMES, repeat=count)
        return
    yield from ((dtype,) * count for dtype in NAMES if dtype.is_floating_point)
    yield from ((small, *[torch.float32] * (count - 1)) for small in _LIKE_FLOAT)


def core_operators() -> list[str]:
    """Names of the operators of the Core ATen set and of others that programs contain, sorted. A view is listed as its
    copying variant."""
    found = set(EXTRA_CORE_OPS) | set(VIEW_TO_COPY.values())
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            packet = getattr(torch.ops.aten, schema.name.removeprefix("aten::"), None)
            op = getattr(packet, schema.overload_name or "default", None)
            if isinstance(op, torch._ops.OpOverload) and torch.Tag.core in op.tags:
                found.add(op)
    found = {op for op in found if not any(r.alias_info for r in op._schema.returns)}
    return sorted(f"{op._schema.name.removeprefix('aten::')}.{op._overloadname}" for op in found)


def main() -> None:
    """Writes the table of all core operators."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entries = [info for name in core_operators() if (info := gen_op_yaml(name)) is not None]
    TABLE.write_text(_HEAD + "\n".join(entry.to_text() for entry in entries), encoding="utf-8")
    print(f"wrote {TABLE}: {len(entries)} operators")


if __name__ == "__main__":
    main()
