# SPDX-License-Identifier: BSD-3-Clause
"""Reads functions.yaml: which C++ function implements which operator, for which dtypes and dim orders.

An entry names an ATen operator (``op: add.out``) or gives a whole schema (``func: my::op.out(...) -> Tensor(a!)``), and
lists ``kernels``. ``arg_meta: null`` means all inputs; otherwise ``arg_meta`` maps tensor arguments to ``[type alias,
dim order alias]`` and the kernel is used for exactly those combinations. An operator may have several kernels for
certain combinations, and one for all other tensors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .kernel_keys import SCALAR_TYPES, TensorMeta, kernel_key
from .literals import is_identifier
from .regular_file import read_file
from .schema import Schema, SchemaError, aten_schemas, parse_schema

DEFAULT_NAMESPACE = "torch::executor"
ENTRY_FIELDS = ("op", "func", "kernels", "type_alias", "dim_order_alias")
IGNORED_FIELDS = ("variants", "dispatch", "tags", "device_check", "python_module")  # fields of native_functions.yaml
KERNEL_FIELDS = ("arg_meta", "kernel_name")


@dataclass(frozen=True)
class KernelEntry:
    """One kernel: an operator, its keys (none: all inputs), and the C++ function."""

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


class _Loader(yaml.SafeLoader):
    """Refuses a mapping that gives a key twice, of which YAML's loader drops the first value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        "while reading a mapping", node.start_mark, f"'{key.value}' is given twice", key.start_mark
                    )
                seen.add(key.value)
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


def load_functions(path: Path) -> list[KernelEntry]:
    """Every kernel of a functions.yaml, in the order of the file. Raises SchemaError that names the wrong entry."""
    return entries_of(load_document(path), path)


def load_document(path: Path) -> list[Any]:
    """The entries of a functions.yaml, before they are checked."""
    document = read_yaml(path)
    if document is None:
        return []
    if not isinstance(document, list):
        raise SchemaError(
            f"{path}: expected a list of entries ('- op: add.out'), "
            f"found {type(document).__name__}; is it a functions.yaml?"
        )
    return document


def read_yaml(path: Path) -> Any:
    """The content of a YAML file. Raises SchemaError with the file and the line if it is not valid YAML."""
    try:
        return yaml.load(read_file(path), _Loader)
    except yaml.YAMLError as error:
        raise SchemaError(f"{path}: not YAML: {error}") from error


def entries_of(document: list[Any], path: Path) -> list[KernelEntry]:
    """The kernels of entries that were read from ``path``."""
    entries: list[KernelEntry] = []
    for number, item in enumerate(document, start=1):
        try:
            entries.extend(_read_entry(item))
        except SchemaError as error:
            name = item.get("op") or item.get("func") if isinstance(item, dict) else None
            where = f" ({str(name).partition('(')[0]})" if name else ""
            raise SchemaError(f"{path}: entry {number}{where}: {error}") from error
    _check_unique(entries, path)
    return entries


def merge_documents(preferred: list[Any], fallback: list[Any]) -> list[Any]:
    """All entries of ``preferred``, and those of ``fallback`` for operators that it does not have."""
    names = {operator_name(item) for item in preferred}
    return preferred + [item for item in fallback if operator_name(item) not in names]


def load_merged(paths: Sequence[Path]) -> list[KernelEntry]:
    """The kernels of several files. If several files have an operator, the first file is used."""
    taken: set[str] = set()
    entries: list[KernelEntry] = []
    for path in paths:
        of_file = [entry for entry in load_functions(path) if entry.schema.qualified_name not in taken]
        taken.update(entry.schema.qualified_name for entry in of_file)
        entries += of_file
    return entries


def operator_name(item: Any) -> str:
    """The operator of an entry, with its namespace: ``aten::add.out``."""
    text = (item.get("op") or item.get("func")) if isinstance(item, dict) else None
    if not isinstance(text, str):
        raise SchemaError("expected either 'op: <ATen operator>' or 'func: <schema>'")
    name = text.partition("(")[0].strip()
    return name if "::" in name else f"aten::{name}"


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
    _check_fields(item, (*ENTRY_FIELDS, *IGNORED_FIELDS), "the entry")
    text = item.get("func", item.get("op"))
    if not isinstance(text, str):
        raise SchemaError(f"expected text after '{'func' if 'func' in item else 'op'}:', found {text!r}")
    schema = parse_schema(text) if "func" in item else _aten_schema(text)
    kernels = item.get("kernels")
    if not isinstance(kernels, list) or not kernels:
        raise SchemaError(
            f"{schema.qualified_name} has no 'kernels'; add '- arg_meta: null' with the "
            "'kernel_name' that implements it"
        )
    entries = []
    for kernel in kernels:
        name = kernel.get("kernel_name") if isinstance(kernel, dict) else None
        if not isinstance(name, str) or not all(map(is_identifier, name.split("::"))):
            raise SchemaError(
                f"a kernel of {schema.qualified_name} has no 'kernel_name' that is a C++ name; found {name!r}"
            )
        _check_fields(kernel, KERNEL_FIELDS, f"the kernel {name}")
        keys = _kernel_keys(schema, kernel.get("arg_meta"), item.get("type_alias"), item.get("dim_order_alias"))
        entries.append(KernelEntry(schema, native_function(name), keys))
    return entries


def _check_fields(item: dict[str, Any], known: Sequence[str], what: str) -> None:
    unknown = [str(name) for name in item if name not in known]
    if unknown:
        raise SchemaError(f"{what} has the unknown field '{unknown[0]}'; known are {', '.join(known)}")


def _aten_schema(name: str) -> Schema:
    qualified = name if "::" in name else f"aten::{name}"
    text = aten_schemas().get(qualified)
    if text is None:
        raise SchemaError(
            f"{qualified} is not in codegen/aten_schemas.txt; check the name, run 'python -m codegen.update_schemas' "
            "where torch is installed, or give the whole schema with 'func:'"
        )
    return parse_schema(text)


def _kernel_keys(schema: Schema, arg_meta: Any, types: Any, dim_orders: Any) -> tuple[str, ...]:
    """The registry's keys for every choice of the aliases; no key for a kernel that takes all tensors.

    The results are determined by the arguments, and a list is represented by its first tensor: the key ends with the
    first output, repeated. An optional tensor that ``arg_meta`` does not describe is None in calls of the kernel.
    """
    if arg_meta is None:
        return ()
    tensors = [argument for argument in schema.arguments if argument.base == "Tensor"]
    needed = {argument.name for argument in tensors if not argument.optional}
    if not isinstance(arg_meta, dict) or not needed <= set(arg_meta) <= {argument.name for argument in tensors}:
        found = list(arg_meta) if isinstance(arg_meta, dict) else arg_meta
        raise SchemaError(
            f"'arg_meta' of {schema.qualified_name} must describe the tensors "
            f"{[argument.name for argument in tensors]} "
            f"(optional ones may be left out), found {found}; write 'arg_meta: null' for all tensors"
        )
    choices: dict[tuple[str, str], list[Any]] = {}  # an alias may name a type and a dim order
    for argument, meta in arg_meta.items():
        if not isinstance(meta, list) or len(meta) != 2 or not all(isinstance(alias, str) for alias in meta):
            raise SchemaError(f"'{argument}' in 'arg_meta' must be [type alias, dim order alias], found {meta}")
        choices["type", meta[0]] = _alias(types, meta[0], "type_alias", _read_dtypes)
        choices["dim order", meta[1]] = _alias(dim_orders, meta[1], "dim_order_alias", _read_dim_orders)
    described = [argument.name for argument in tensors if argument.name in arg_meta]
    if schema.returns:
        described.append(next(argument.name for argument in tensors if argument.written))
    keys = []
    for combination in itertools.product(*choices.values()):
        value = dict(zip(choices, combination, strict=True))
        pairs = [arg_meta[name] for name in described]
        metas = [TensorMeta(value["type", dtype], value["dim order", order]) for dtype, order in pairs]
        keys.append(kernel_key(metas))
    return tuple(keys)


def _alias(table: Any, alias: str, field: str, read: Callable[[str, Any], list[Any]]) -> list[Any]:
    if not isinstance(table, dict) or alias not in table:
        defined = list(table) if isinstance(table, dict) else "none"
        raise SchemaError(f"the alias '{alias}' is not defined; '{field}' of this entry has {defined}")
    return read(alias, table[alias])


def _read_dtypes(alias: str, value: Any) -> list[int]:
    names = value if isinstance(value, list) else [value]
    unknown = [name for name in names if not isinstance(name, str) or name not in SCALAR_TYPES]
    if unknown or not names:
        found = f"'{unknown[0]}' is not a dtype" if unknown else "there is no dtype"
        raise SchemaError(f"in the type alias '{alias}', {found}; expected some of {', '.join(SCALAR_TYPES)}")
    return [SCALAR_TYPES[name] for name in names]


def _read_dim_orders(alias: str, value: Any) -> list[tuple[int, ...]]:
    # A single order may be written without the outer brackets.
    orders = value if isinstance(value, list) and all(isinstance(order, list) for order in value) else [value]
    for order in orders:
        if (
            not isinstance(order, list)
            or any(type(dim) is not int for dim in order)
            or (sorted(order) != list(range(len(order))))
        ):
            raise SchemaError(
                f"the dim order alias '{alias}' has {order}, expected each of the dimensions "
                "0, 1, ... once: [0, 1, 2, 3]"
            )
    return [tuple(order) for order in orders]


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
