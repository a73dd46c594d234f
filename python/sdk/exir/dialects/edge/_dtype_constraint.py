# SPDX-License-Identifier: BSD-3-Clause
"""Which dtypes the edge form of an operator accepts: the classes, and the table `edge.yaml` they are read from."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import torch

from sdk.exir.dialects.edge.dtype.supported import regular_tensor_str_to_dtypes

TABLE = Path(__file__).with_name("edge.yaml")
"""Written by `python -m sdk.exir.dialects.edge.spec.gen`."""


class AllowedDtypeSet:
    """The dtypes that a tensor argument may still take while a call is being checked."""

    def __init__(self, types: set[torch.dtype]) -> None:
        self.types = types
        self.reduced_type: torch.dtype | None = None

    def __contains__(self, item: object) -> bool:
        return item in ({self.reduced_type} if self.reduced_type is not None else self.types)

    def reduce_to(self, t: torch.dtype) -> bool:
        """Fixes the dtype to `t`. False if `t` is not allowed or another dtype was fixed before."""
        if t not in self:
            return False
        self.reduced_type = t
        return True

    def clear(self) -> None:
        """Forgets the fixed dtype."""
        self.reduced_type = None


class FunctionDtypeConstraint:
    """Which combinations of dtypes an operator accepts.

    `type_alias` maps a name to dtypes, and each entry of `type_constraint` maps every tensor argument and result
    to an alias. Arguments that name the same alias must have the same dtype. One satisfied entry makes the call
    valid.
    """

    def __init__(
        self,
        essential_tensor_io_names: list[str],
        optional_tensor_io_names: list[str],
        type_alias: dict[str, list[torch.dtype]],
        type_constraint: list[dict[str, str]],
    ) -> None:
        self.essential_tensor_io_names = set(essential_tensor_io_names)
        self.optional_tensor_io_names = set(optional_tensor_io_names)
        self.type_alias = {name: set(dtypes) for name, dtypes in type_alias.items()}
        self.type_constraint = type_constraint
        self._known: dict[frozenset[tuple[str, torch.dtype | None]], bool] = {}

    def __getitem__(self, arg_name: str) -> set[torch.dtype]:
        """Every dtype that some valid combination gives to the argument."""
        return set().union(*(self.type_alias[c[arg_name]] for c in self.type_constraint if arg_name in c))

    def validate(self, types: dict[str, torch.dtype | None]) -> bool:
        """Whether the dtypes of a call, by argument name (None: an optional tensor that is absent), are a valid
        combination."""
        key = frozenset(types.items())  # Programs repeat the same few combinations: each is looked up once.
        if key not in self._known:
            names = self.essential_tensor_io_names | self.optional_tensor_io_names
            complete = self.essential_tensor_io_names <= types.keys() and types.keys() <= names
            self._known[key] = complete and any(self._matches(c, types) for c in self.type_constraint)
        return self._known[key]

    def _matches(self, constraint: dict[str, str], types: dict[str, torch.dtype | None]) -> bool:
        allowed: dict[str, AllowedDtypeSet] = {}
        for name, dtype in types.items():
            if dtype is None:
                if name in self.essential_tensor_io_names:
                    return False
                continue
            if name not in constraint:
                return False
            alias = constraint[name]
            if not allowed.setdefault(alias, AllowedDtypeSet(self.type_alias[alias])).reduce_to(dtype):
                return False
        return True


@cache
def edge_dialect_info() -> dict[str, dict[str, Any]]:
    """The entries of `edge.yaml`, by operator (`aten::add.Tensor`; a default overload has no suffix)."""
    entries: dict[str, dict[str, Any]] = {}
    for block in TABLE.read_text(encoding="utf-8").split("\n- ")[1:]:
        entry = _read_entry(block.splitlines())
        entries[entry["inherits"]] = entry
    return entries


def constraint_of(schema: torch._C.FunctionSchema) -> FunctionDtypeConstraint | None:
    """The table's entry for an operator; None for an operator without an entry, which accepts every dtype."""
    name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    entry = edge_dialect_info().get(name)
    if entry is None:
        return None
    names = set(entry["type_constraint"][0])
    tensors = [a for a in schema.arguments if a.name in names]
    optional = [a.name for a in tensors if "Optional" in str(a.type)]
    essential = [n for n in names if n not in optional]
    alias = {key: [regular_tensor_str_to_dtypes[t] for t in types] for key, types in entry["type_alias"].items()}
    return FunctionDtypeConstraint(essential, optional, alias, entry["type_constraint"])


def _read_entry(lines: list[str]) -> dict[str, Any]:
    """One entry of the table, which uses a small part of YAML: a YAML library is not needed to export a model."""
    entry: dict[str, Any] = {"type_alias": {}, "type_constraint": []}
    section = ""
    for line in lines:
        key, _, value = line.strip().partition(": ")
        if line.endswith(":"):
            section = line.strip().removesuffix(":")
        elif not section:
            entry[key] = value
        elif section == "type_alias":
            entry[section][key] = value.strip("[]").split(", ")
        elif line.strip():
            if key.startswith("- "):
                entry[section].append({})
            entry[section][-1][key.removeprefix("- ")] = value
    return entry
