# SPDX-License-Identifier: BSD-3-Clause
"""Reads functions.yaml: which C++ function implements which operator, for which dtypes and dim orders.

An entry names an ATen operator (``op: add.out``) or gives a whole schema (``func: my::op.out(...) -> Tensor(a!)``), and
lists ``kernels``. ``arg_meta: null`` means all inputs; otherwise ``arg_meta`` maps tensor arguments to
``[type alias, dim order alias]`` and the kernel is used for exactly those combinations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .schema import Schema, SchemaError, aten_schemas, parse_schema

KERNEL_KEY_VERSION = "v1"
DEFAULT_NAMESPACE = "torch::executor"

# Values of ScalarType, as serialised.
SCALAR_TYPES = {
    "Byte": 0,
    "Char": 1,
    "Short": 2,
    "Int": 3,
    "Long": 4,
    "Half": 5,
    "Float": 6,
    "Double": 7,
    "ComplexHalf": 8,
    "ComplexFloat": 9,
    "ComplexDouble": 10,
    "Bool": 11,
    "QInt8": 12,
    "QUInt8": 13,
    "QInt32": 14,
    "BFloat16": 15,
}


@dataclass(frozen=True)
class KernelEntry:
    """One kernel: an operator, the keys it is for (empty: all inputs), and the C++ function."""

    schema: Schema
    function: str
    keys: tuple[str, ...] = ()

    @property
    def namespace(self) -> str:
        """The C++ namespace of the function."""
        return self.function.rpartition("::")[0]

    @property
    def unqualified(self) -> str:
        """The function's name without its namespace."""
        return self.function.rpartition("::")[2]


def load_functions(path: Path) -> list[KernelEntry]:
    """Every kernel of a functions.yaml, in the order of the file. Raises SchemaError naming the entry that is wrong."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    if document is None:
        return []
    if not isinstance(document, list):
        raise SchemaError(f"{path}: expected a list of entries, found {type(document).__name__}")
    entries: list[KernelEntry] = []
    for number, item in enumerate(document, start=1):
        try:
            entries.extend(_read_entry(item))
        except SchemaError as error:
            raise SchemaError(f"{path}: entry {number}: {error}") from error
    _check_unique(entries, path)
    return entries


def select(entries: Iterable[KernelEntry], operators: Iterable[str] | None) -> list[KernelEntry]:
    """The entries of the named operators (``aten::add.out``); all of them when ``operators`` is None."""
    if operators is None:
        return list(entries)
    wanted = set(operators)
    return [entry for entry in entries if entry.schema.qualified_name in wanted]


def native_function(kernel_name: str) -> str:
    """The C++ function for a kernel_name: ``native`` is the last level of its namespace."""
    namespace, _, name = kernel_name.rpartition("::")
    return f"{namespace or DEFAULT_NAMESPACE}::native::{name}"


def _read_entry(item: Any) -> list[KernelEntry]:
    if not isinstance(item, dict) or ("op" in item) == ("func" in item):
        raise SchemaError("expected either 'op: <ATen operator>' or 'func: <schema>'")
    schema = parse_schema(item["func"]) if "func" in item else _aten_schema(item["op"])
    kernels = item.get("kernels")
    if not isinstance(kernels, list) or not kernels:
        raise SchemaError(f"{schema.qualified_name} has no 'kernels'")
    entries = []
    for kernel in kernels:
        name = kernel.get("kernel_name") if isinstance(kernel, dict) else None
        if not name:
            raise SchemaError(f"a kernel of {schema.qualified_name} has no 'kernel_name'")
        keys = _kernel_keys(schema, kernel.get("arg_meta"), item.get("type_alias"), item.get("dim_order_alias"))
        entries.append(KernelEntry(schema, native_function(name), keys))
    return entries


def _aten_schema(name: str) -> Schema:
    qualified = name if "::" in name else f"aten::{name}"
    text = aten_schemas().get(qualified)
    if text is None:
        raise SchemaError(
            f"{qualified} is not in codegen/aten_schemas.txt; check the name, run 'python -m codegen.update_schemas' "
            "where torch is installed, or give the whole schema with 'func:'"
        )
    return parse_schema(text)


def _kernel_keys(
    schema: Schema,
    arg_meta: dict[str, list[str]] | None,
    types: dict[str, list[str]] | None,
    dim_orders: dict[str, list[Any]] | None,
) -> tuple[str, ...]:
    """Registry keys ``v1/dtype;dim,order|...``, one part a tensor argument, for every choice of the aliases."""
    if arg_meta is None:
        return ()
    tensors = [argument.name for argument in schema.arguments if argument.is_tensor]
    if sorted(arg_meta) != sorted(tensors):
        raise SchemaError(f"'arg_meta' of {schema.qualified_name} must describe {tensors}, found {sorted(arg_meta)}")
    choices: dict[str, list[Any]] = {}
    for table, used in ((types or {}, 0), (dim_orders or {}, 1)):
        for alias in {meta[used] for meta in arg_meta.values()}:
            if alias not in table:
                raise SchemaError(f"the alias '{alias}' of {schema.qualified_name} is not defined")
            choices[alias] = table[alias]
    keys = []
    for combination in itertools.product(*choices.values()):
        value = dict(zip(choices, combination, strict=True))
        parts = []
        for tensor in tensors:
            dtype, order = value[arg_meta[tensor][0]], value[arg_meta[tensor][1]]
            if dtype not in SCALAR_TYPES:
                raise SchemaError(f"'{dtype}' is not a dtype; expected one of {', '.join(SCALAR_TYPES)}")
            parts.append(f"{SCALAR_TYPES[dtype]};{','.join(str(dim) for dim in order)}")
        keys.append(f"{KERNEL_KEY_VERSION}/{'|'.join(parts)}")
    return tuple(keys)


def _check_unique(entries: list[KernelEntry], path: Path) -> None:
    seen: dict[tuple[str, str], str] = {}
    for entry in entries:
        for key in entry.keys or ("",):
            identity = (entry.schema.qualified_name, key)
            if identity in seen:
                raise SchemaError(
                    f"{path}: {entry.schema.qualified_name} is registered twice for {key or 'all inputs'}: "
                    f"{seen[identity]} and {entry.function}"
                )
            seen[identity] = entry.function
